#![doc = include_str!("../README.md")]

mod changed_files;
pub mod client;
mod closing_keywords;
mod confluence;
mod delivery;
mod error;
mod event;
mod github;
mod gitlab;
#[cfg(test)]
#[path = "../../tests/growth.rs"]
mod growth;
mod http;
mod incremental;
mod jira;
mod listing;
mod plain_git;
mod provider;
mod redmine;
mod registry;
mod resource_name;
mod signature;
#[cfg(feature = "testing")]
pub mod testing;
mod time_zone;
pub mod traits;
mod youtrack;

use mc_parser_pool::ParserEntry;

/// The parsers of this crate, for the child process.
pub const PARSERS: [ParserEntry; 2] =
    [ParserEntry::of::<confluence::StorageParser>(), ParserEntry::of::<jira::AdfParser>()];

pub use confluence::PageBody;
pub use delivery::{Delivery, ParseError, parse};
pub use event::{
    CiRun, Comment, Event, Issue, Link, PullRequestEvent, Push, Release, Review, StoredEventError,
    Thread, WikiPush, contains_repository,
};
pub use plain_git::{PLAIN_GIT, parse_plain_git};
pub use registry::ConnectorRegistry;
pub use signature::{SignatureError, verify};
