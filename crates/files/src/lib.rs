#![doc = include_str!("../README.md")]

mod change;
mod copy;
mod delete;
mod error;
mod name;
mod protected;
mod root;
mod usage;

pub use copy::{Copied, CopyError, CopyLimits, place_apart};
pub use delete::delete_tree;
pub use error::{Error, FileError};
pub use name::is_name_of_git;
pub use protected::{ProtectedDirectories, Snapshot, resolve};
pub use root::{Entry, FileKind, Identity, Listing, Metadata, Root};
pub use usage::{Usage, disk_usage};
