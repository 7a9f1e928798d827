#![doc = include_str!("../README.md")]

pub mod bundle;
pub mod citations;
pub mod confidence;
mod context;
mod dialogs;
pub mod distil;
mod error;
mod feedback;
pub mod judge;
pub mod normalise;
mod recall;
mod save;
pub mod simhash;
pub mod text;
pub mod tokens;
mod turns;

pub use bundle::Bundle;
pub use citations::{NewCitation, Rechecked, recheck_files, recheck_records};
pub use context::MemoryContext;
pub use dialogs::{LinkIssue, Linked, SaveDialog, link_issue, save_dialog};
pub use error::Error;
pub use feedback::{Recorded, feedback};
pub use recall::{DEFAULT_TIME_BUDGET, RecallRequest, recall};
pub use save::{
    CONTENT_MAX_CHARS, DEFAULT_TTL, Decision, MaskedCount, SaveOutcome, SaveRequest, save,
};
pub use tokens::TokenBudget;
