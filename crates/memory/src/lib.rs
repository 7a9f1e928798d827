#![doc = include_str!("../README.md")]

pub mod bundle;
pub mod chat;
pub mod citations;
pub mod client_judge;
pub mod confidence;
pub mod consistency;
pub mod content_filter;
mod context;
mod deletion;
mod dialogs;
pub mod distill;
pub mod documents;
pub mod duplicates;
mod error;
pub mod export;
mod feedback;
pub mod figures;
mod handles;
pub mod judge;
mod judge_again;
pub mod normalize;
mod paths;
mod project_context;
pub mod prompts;
pub mod quality;
pub mod quarantine;
mod recall;
pub mod review;
mod save;
mod search;
pub mod sgr;
pub mod simhash;
pub mod task_comment;
mod task_ids;
mod task_links;
pub mod text;
mod tokens;
pub mod usage_log;
pub mod uses;
mod write_queue;

pub use bundle::Bundle;
pub use citations::{NewCitation, RecheckReport, preview_recheck, recheck_files, recheck_records};
pub use content_filter::{MaskedCount, ReviewStatus};
pub use context::MemoryContext;
pub use deletion::delete_record;
pub use dialogs::{
    DialogAnswer, LinkIssue, Linked, ProposedNote, SaveDialog, SaveDialogOutcome, link_issue,
    save_dialog,
};
pub use error::Error;
pub use feedback::{FeedbackReport, feedback};
pub use handles::{NamedBundle, named_bundle};
pub use judge_again::{Rejudged, judge_again};
pub use paths::resolve_path;
pub use project_context::ProjectContext;
pub use recall::{MAX_CHANGES, PastChanges, RecallRequest, past_changes, recall};
pub use save::{CONTENT_MAX_CHARS, Decision, SaveOutcome, SaveRequest, save, save_reviewed};
pub use search::{Found, SearchRequest, search};
pub use tokens::TokenBudget;
