#![doc = include_str!("../README.md")]

mod check;
mod write;

pub use check::{CheckError, CheckedPatch, Limits, Problem, SECRET, check};
pub use write::{WriteError, write};
