#![doc = include_str!("../README.md")]

mod change;
mod error;
mod protected;
mod root;

pub use change::Temporary;
pub use error::{Error, FileError};
pub use protected::{ProtectedDirectories, Snapshot, resolve};
pub use root::{Entry, FileKind, Identity, Listing, Metadata, Root};
