#![doc = include_str!("../README.md")]

mod answer;
mod check;
mod commands;
mod context;
mod error;
mod lint;
mod masking;
mod metrics;
mod paths;
mod preview;
mod prompt;
mod propose;
pub mod registry;
mod review;
mod risk;
mod run;
mod service;
mod settings;
mod shown;
mod write;

pub use check::{CheckError, CheckedPatch, Limits, Problem, check};
pub use commands::CommandProblem;
pub use error::Error;
pub use paths::{PathProblem, PathRules};
pub use risk::{Risk, RiskKind, risks};
pub use service::{Coding, CodingContext};
pub use settings::{CodingSettings, InvalidSettings};
pub use shown::{FileProblem, ShownPatch, check_shown};
pub use write::{WriteError, write};
