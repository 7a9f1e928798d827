//! Decisions on canaries, and their figures.

use serde::{Deserialize, Serialize};

/// Figures of a canary and the decision. It is stored as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CanaryReport {
    /// Figures of the new version.
    pub canary: ArmMetrics,
    /// Figures of the version in use.
    pub parent: ArmMetrics,
    /// Dialogs that did not count.
    pub ignored: Ignored,
    /// Difference of the success rates of developers, if both arms have some.
    pub gain: Option<f64>,
    /// Standard error of the gain.
    pub standard_error: Option<f64>,
    /// The decision. Figures and estimate are those of the night of the decision.
    pub decision: CanaryDecision,
}

/// Figures of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArmMetrics {
    /// Developers with dialogs.
    pub developers: usize,
    /// Dialogs that ended.
    pub dialogs: u32,
    /// Dialogs that succeeded.
    pub succeeded: u32,
    /// Dialogs that failed.
    pub failed: u32,
    /// Dialogs that the developer abandoned.
    pub abandoned: u32,
    /// Share of the dialogs that succeeded.
    pub success_rate: Option<f64>,
}

/// Dialogs that did not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ignored {
    /// Dialogs with a version of the arm that their developer is not assigned to.
    pub other_arm: usize,
    /// Dialogs that were reported with different outcomes, developers or versions.
    pub contradictory: usize,
}

/// Decision on a canary. The first that is not `Continue` is final.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CanaryDecision {
    /// The canary goes on.
    Continue {
        /// Why there is no decision yet.
        reason: ContinueReason,
        /// What is missing.
        needed: Needed,
    },
    /// The new version is significantly better: all developers get it.
    Promote {
        /// The night of the decision.
        night: u32,
        /// Difference of the success rates.
        gain: f64,
        /// Repeated confidence interval of the gain.
        interval: (f64, f64),
    },
    /// All developers get the former version.
    RollBack {
        /// The night of the decision.
        night: u32,
        /// Why.
        reason: RollBackReason,
    },
}

/// Reason why a canary goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinueReason {
    /// An arm has no dialogs.
    NoDialogs,
    /// An arm has too few dialogs for a test.
    TooFewDialogs,
    /// The arms do not differ significantly.
    NotSignificantYet,
}

/// What a decision still needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needed {
    /// Night of the next test for promotion.
    pub next_look_night: u32,
    /// Night of the last test.
    pub last_night: u32,
    /// Dialogs of the canary that are missing for a test.
    pub canary_dialogs: u32,
    /// Dialogs of the parent that are missing for a test.
    pub parent_dialogs: u32,
}

/// Reason of a rollback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RollBackReason {
    /// The new version is significantly worse.
    Worse {
        /// Difference of the success rates.
        gain: f64,
        /// Repeated confidence interval of the gain.
        interval: (f64, f64),
    },
    /// A limit was reached without a significant gain.
    NoSignificantGain {
        /// Difference of the success rates, if both arms have developers.
        gain: Option<f64>,
        /// Repeated confidence interval of the gain.
        interval: Option<(f64, f64)>,
    },
    /// The time limit was reached with too few dialogs for a test.
    TooFewDialogs {
        /// Dialogs of each arm that a test needs.
        needed: u32,
    },
}
