#![doc = include_str!("../README.md")]

pub mod client;
mod confluence;
mod delivery;
mod event;
mod github;
mod gitlab;
mod jira;
mod matching;
mod redmine;
mod signature;
pub mod system;
mod systems;
mod youtrack;

pub use delivery::{Delivery, Unreadable, read};
pub use event::{Event, Issue, Link, Push};
pub use signature::{Refusal, verify};
pub use systems::Systems;
