#![doc = include_str!("../README.md")]

mod check;
mod paths;
mod risk;
mod shown;
mod write;

pub use check::{CheckError, CheckedPatch, Limits, Problem, check};
pub use paths::{PathProblem, PathRules};
pub use risk::{Risk, RiskKind, risks};
pub use shown::{FileProblem, ShownPatch, check_shown};
pub use write::{WriteError, write};
