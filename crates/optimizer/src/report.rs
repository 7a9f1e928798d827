//! The result of a night.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::edit::Edit;
use crate::evaluate::Spending;
use crate::prompt::{Prompt, PromptSize};
use crate::search::{Candidate, Effect, Level, Settings};

/// What a night tried, what it cost and what it decided. It is stored as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightReport {
    /// The settings, with the seed.
    pub settings: Settings,
    /// Hash of the parent ([`Prompt::key`]), in hexadecimal.
    pub parent_key: String,
    /// Size of the parent. It may exceed the limits; candidates may not.
    pub parent_size: PromptSize,
    /// Number of cases.
    pub cases: CaseCounts,
    /// Use of the budget.
    pub spending: Spending,
    /// Different prompts that were evaluated.
    pub candidates: usize,
    /// Levels of the search.
    pub levels: Vec<Level>,
    /// Estimated effects of single changes, the largest first.
    pub effects: Vec<Effect>,
    /// Calls of the proposing model that failed.
    pub failed_proposals: usize,
    /// Candidates that were compared with the parent on held-out cases.
    pub finalists: Vec<Finalist>,
    /// The decision.
    pub decision: Decision,
}

/// Number of cases with different ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCounts {
    /// Cases that the search used.
    pub training: usize,
    /// Cases that only the test of the finalists used.
    pub held_out: usize,
}

/// A candidate that was tested on held-out cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finalist {
    /// The prompt.
    pub prompt: Prompt,
    /// Its size.
    pub size: PromptSize,
    /// The edits that lead to it from the parent.
    pub edits: Vec<Edit>,
    /// The changes as a unified diff.
    pub diff: String,
    /// Estimated gain on training cases. It is too high on average, as the best was chosen by it.
    pub training_gain: f64,
    /// Comparison with the parent.
    pub held_out: Comparison,
}

/// Paired comparison with the parent on held-out cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Compared cases.
    pub cases: usize,
    /// Mean difference of the scores: 0.1 is ten more successes in a hundred.
    pub gain: f64,
    /// 95 % bootstrap interval of the gain, not adjusted for the number of finalists.
    pub interval: Option<(f64, f64)>,
    /// One-sided p-value of the sign-flip test.
    pub p: f64,
    /// The p-value after Holm's correction for the number of finalists.
    pub adjusted_p: f64,
}

/// Decision of a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Decision {
    /// A finalist is significantly better: start a canary with it.
    Propose {
        /// Its index in the finalists.
        finalist: usize,
    },
    /// The parent stays.
    Keep {
        /// Why.
        reason: KeepReason,
    },
}

/// Reason why a night keeps the parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeepReason {
    /// The project has no cases.
    NoCases,
    /// All cases are held out.
    NoTrainingCases,
    /// A test would mean nothing.
    TooFewHeldOut {
        /// Held-out cases of the project.
        held_out: usize,
        /// Required ones.
        needed: usize,
    },
    /// The budget pays for less than a round of the search and the test.
    BudgetTooSmall {
        /// The budget.
        budget: usize,
        /// The least sufficient one.
        needed: usize,
    },
    /// Too many evaluations failed.
    EvaluatorUnavailable {
        /// Failed evaluations.
        failed: usize,
    },
    /// No candidate within the limits was better on training cases.
    NoBetterCandidate,
    /// No finalist was significantly better on held-out cases.
    NotSignificant {
        /// The lowest adjusted p-value.
        adjusted_p: f64,
    },
}

impl NightReport {
    /// Creates the report of a night in which nothing was tried yet.
    pub(crate) fn new(parent: &Prompt, cases: CaseCounts, settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            parent_key: format!("{:016x}", parent.key()),
            parent_size: parent.size(),
            cases,
            spending: Spending { budget: settings.budget, ..Spending::default() },
            candidates: 0,
            levels: vec![],
            effects: vec![],
            failed_proposals: 0,
            finalists: vec![],
            decision: Decision::Keep { reason: KeepReason::NoCases },
        }
    }

    /// Returns the finalist that is proposed, if any.
    pub fn proposed(&self) -> Option<&Finalist> {
        match self.decision {
            Decision::Propose { finalist } => self.finalists.get(finalist),
            Decision::Keep { .. } => None,
        }
    }
}

impl Finalist {
    pub(crate) fn new(parent: &Prompt, candidate: &Candidate, held_out: Comparison) -> Self {
        Self {
            prompt: candidate.prompt.clone(),
            size: candidate.prompt.size(),
            edits: candidate.edits.clone(),
            diff: parent.diff(&candidate.prompt),
            training_gain: candidate.gain,
            held_out,
        }
    }
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCases => write!(f, "the project has no cases; add dialogs with outcomes"),
            Self::NoTrainingCases => write!(f, "all cases are held out; add cases"),
            Self::TooFewHeldOut { held_out, needed } => {
                write!(f, "only {held_out} held-out cases, and a test needs {needed}; add cases")
            }
            Self::BudgetTooSmall { budget, needed } => write!(
                f,
                "a budget of {budget} evaluations, and {needed} are needed; raise the budget"
            ),
            Self::EvaluatorUnavailable { failed } => {
                write!(f, "{failed} evaluations failed; check the chat model")
            }
            Self::NoBetterCandidate => write!(f, "no candidate was better on training cases"),
            Self::NotSignificant { adjusted_p } => write!(
                f,
                "no finalist was significantly better on held-out cases (p = {adjusted_p:.3})"
            ),
        }
    }
}
