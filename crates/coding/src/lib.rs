#![doc = include_str!("../README.md")]

mod check;
mod risk;
mod write;

pub use check::{CheckError, CheckedPatch, Limits, Problem, check};
pub use risk::{Risk, RiskKind, risks};
pub use write::{WriteError, write};
