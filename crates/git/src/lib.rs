#![doc = include_str!("../README.md")]

mod cache;
mod checkout;
mod commit_file;
mod copy;
mod error;
mod history;
mod local;
mod location;
mod network_policy;
mod program;
mod refs;
mod remote_ref;
mod size;

pub use checkout::{Cache, Checkout, checkout};
pub use commit_file::{CommittedFile, commit_file};
pub use error::Error;
pub use history::{Commits, HistoryLimits, HistoryOrigin};
pub use location::{Location, Origin, parse};
pub use network_policy::{AllowedPrivateHost, InvalidHost, NetworkAccess, check_public};
pub use refs::check_ref;
pub use remote_ref::{State, is_empty_directory, state};
pub use size::Limits;

#[cfg(test)]
mod tests;
