//! Evaluation of prompts on cases, by the caller or by a heuristic.

mod heuristic;
mod ledger;
#[cfg(test)]
mod tests;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::prompt::Prompt;
use crate::random::stable_hash;

pub use heuristic::{Heuristic, HeuristicParts};
pub use ledger::{Ledger, MAX_FAILURES_IN_A_ROW, Spending};

/// A case of the project: a task with a known good result. Its content is the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Unique and stable, since it decides whether the case is held out.
    pub id: String,
    /// Ids of the errors that occurred in the dialog of the case, for [`Heuristic`].
    #[serde(default)]
    pub errors: Vec<String>,
}

impl Case {
    /// Returns whether the case is held out: never used by the search, only to test finalists. This
    /// depends on the id alone, so a case never moves.
    pub fn is_held_out(&self, held_out_percent: u8) -> bool {
        stable_hash(&["held-out case", &self.id]) % 100 < u64::from(held_out_percent)
    }
}

/// How well a prompt did on a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// From 0 (failed) to 1 (succeeded).
    pub score: f64,
    /// Why the score is low, for a model that proposes edits.
    pub feedback: Option<String>,
}

/// Reason why a case could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the case could not be evaluated: {0}")]
pub struct EvaluationError(pub String);

/// Evaluates a prompt on a case. Retries are the implementation's.
pub trait Evaluate: Send + Sync {
    /// Returns the score, in `0..=1`. Another score counts as an error.
    fn evaluate<'a>(
        &'a self,
        prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>>;
}
