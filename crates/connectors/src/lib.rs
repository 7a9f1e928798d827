#![doc = include_str!("../README.md")]

mod change;
mod ci;
pub mod client;
mod closing;
mod confluence;
mod delivery;
mod event;
mod github;
mod gitlab;
mod jira;
mod matching;
mod plain_git;
mod redmine;
mod said;
mod signature;
pub mod system;
mod systems;
mod youtrack;

pub use change::{Change, Review};
pub use ci::CiRun;
pub use delivery::{Delivery, Unreadable, read};
pub use event::{Event, Issue, Link, Push, Wiki};
pub use plain_git::PlainGit;
pub use said::{Comment, Release, Thread};
pub use signature::{Refusal, verify};
pub use systems::Systems;
