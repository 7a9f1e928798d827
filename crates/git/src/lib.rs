#![doc = include_str!("../README.md")]

mod cache;
mod checkout;
mod clone;
mod commit_file;
mod confinement;
mod copy;
mod error;
mod fetch;
mod history;
mod local;
mod location;
mod network_policy;
mod plumbing;
mod program;
mod refs;
mod remote_ref;
mod size;
mod work_tree;

pub use checkout::{Cache, Checkout, CheckoutRequest, checkout, checkout_from_clone};
pub use clone::{CloneRequest, Cloned, clone};
pub use commit_file::{CommittedFile, commit_file};
pub use error::Error;
pub use fetch::Depth;
pub use history::{Commits, HistoryLimits, HistoryOrigin};
pub use location::{Location, Origin, parse};
pub use network_policy::{AllowedPrivateHost, InvalidHost, NetworkAccess, check_public};
pub use plumbing::Identity;
pub use program::Credential;
pub use refs::check_ref;
pub use remote_ref::{State, is_empty_directory, state};
pub use size::Limits;
pub use work_tree::{Blame, Diff, Log, MAX_FILES, Push, Text, Trial, WorkTree, check_revision};

#[cfg(test)]
mod tests;
