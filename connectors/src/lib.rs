#![doc = include_str!("../README.md")]

mod ci;
pub mod client;
mod closing_keywords;
mod comment;
mod confluence;
mod delivery;
mod event;
mod github;
mod gitlab;
mod jira;
mod plain_git;
mod pull_request;
mod redmine;
mod registry;
mod repository_match;
mod signature;
pub mod traits;
mod youtrack;

pub use ci::CiRun;
pub use comment::{Comment, Release, Thread};
pub use delivery::{Delivery, ParseError, read};
pub use event::{Event, Issue, Link, Push, WikiPush};
pub use plain_git::PlainGit;
pub use pull_request::{PullRequestEvent, Review};
pub use registry::ConnectorRegistry;
pub use signature::{SignatureError, verify};
