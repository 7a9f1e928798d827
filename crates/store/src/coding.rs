//! Changes of code that were proposed.

pub mod patches;
