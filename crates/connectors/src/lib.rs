#![doc = include_str!("../README.md")]

mod change;
mod ci;
mod closing;
mod confluence;
mod delivery;
mod event;
mod github;
mod gitlab;
mod jira;
mod matching;
mod redmine;
mod said;
mod signature;
mod youtrack;

pub use change::{Change, Review};
pub use ci::CiRun;
pub use delivery::{Delivery, Unreadable, read};
pub use event::{Event, Issue, Link, Push, Wiki};
pub use said::{Comment, Release, Thread};
pub use signature::{Refusal, verify};
