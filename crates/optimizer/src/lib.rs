#![doc = include_str!("../README.md")]

pub mod arms;
pub mod canary;
pub mod edit;
mod error;
pub mod evaluate;
pub mod material;
pub mod night;
pub mod prompt;
pub mod propose;
pub mod random;
pub mod report;
pub mod search;
pub mod stats;

pub use arms::{Arm, Arms};
pub use canary::{CanaryDecision, CanaryReport, CanarySettings};
pub use edit::{Change, Edit};
pub use error::Error;
pub use evaluate::{Case, Evaluate, Evaluation};
pub use material::Material;
pub use night::optimize;
pub use prompt::{Item, Limits, Prompt, PromptFile, Section};
pub use propose::Propose;
pub use report::{Decision, NightReport};
pub use search::Settings;
