//! Real text on any machine: the sources of the dependencies, as cargo fetched them for this build.

pub mod decisions;
mod notes;
mod packages;
mod prose;
pub mod stored;

pub use notes::{Note, Notes, Source};
pub use packages::{Package, files, packages};
