//! Proposals of edits, by rules and by a model.

mod rules;
#[cfg(test)]
mod tests;

use futures::future::BoxFuture;

use crate::edit::Edit;
use crate::prompt::{Limits, Prompt};

pub use rules::propose_by_rules;

/// Maximum number of edits that are accepted from one call of a model.
pub const MAX_MODEL_EDITS: usize = 16;

/// A model that proposes edits. It sees the cases that the prompt fails with the feedback on them,
/// as in the reflection of GEPA and the textual gradients of `TextGrad`.
pub trait Propose: Send + Sync {
    /// Returns edits of `prompt`. Edits that are invalid are ignored; an error costs the proposals
    /// only.
    fn propose<'a>(
        &'a self,
        prompt: &'a Prompt,
        failures: &'a [FailedCase],
    ) -> BoxFuture<'a, Result<Vec<Edit>, ProposalError>>;
}

/// A training case that a prompt fails. Held-out cases are never shown to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedCase {
    /// Id of the case.
    pub case_id: String,
    /// The score.
    pub score: f64,
    /// Why the score is low, if the evaluation says so.
    pub feedback: Option<String>,
}

/// Reason why a model proposed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model proposed no edits: {0}")]
pub struct ProposalError(pub String);

/// Returns the edited prompt if an edit of any origin is acceptable: it fits, and the result is
/// within the limits or at least shorter than before.
pub fn apply_within(edit: &Edit, prompt: &Prompt, limits: &Limits) -> Option<Prompt> {
    let edited = edit.apply(prompt)?;
    let is_shorter = || {
        let (before, after) = (prompt.size(), edited.size());
        after.tokens <= before.tokens && after.bytes < before.bytes
    };
    (limits.check(&edited).is_ok() || is_shorter()).then_some(edited)
}
