//! Promotion and rollback of a canary, by the outcomes of dialogs.
//!
//! **What counts.** A dialog counts once, for the arm of its developer. It is ignored if it states
//! a version of the other arm, so a developer who changed arms counts for the assigned one only, or
//! if it was reported with contradictory outcomes, developers or versions. An abandoned dialog
//! counts as not successful: otherwise a prompt that makes developers give up would look good.
//!
//! **The estimate.** Outcomes of one developer are correlated, so developers are compared, not
//! dialogs: success rates of developers, weighted by their dialogs and the correlation, by a
//! t-test with the number of developers minus two degrees of freedom (cluster-level analysis). It
//! allows a canary of one developer: the spread is estimated from both arms.
//!
//! **Repeated looks.** Promotion is tested every seven nights, harm every night. Each look has its
//! own part of the error probability (alpha spending, Lan and `DeMets` 1983), and the parts add up
//! to the configured level. So the level holds for any dependence between looks (Bonferroni's
//! inequality), and the intervals are repeated confidence intervals (Jennison and Turnbull 1989). A
//! decision uses all nights up to tonight as if it had been made every night, so a night without a
//! call changes nothing.

mod compare;
mod count;
mod report;
mod settings;
#[cfg(test)]
mod tests;

use mc_domain::DialogOutcome;
use serde::{Deserialize, Serialize};

use crate::arms::{Arm, Arms};

use compare::{Estimate, compare};
use count::Counts;

pub use report::{
    ArmMetrics, CanaryDecision, CanaryReport, ContinueReason, Ignored, Needed, RollBackReason,
};
pub use settings::CanarySettings;

/// The outcome of a dialog, as it was reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogReport {
    /// Id of the dialog.
    pub dialog: String,
    /// The developer.
    pub developer: String,
    /// Arm of the version that the dialog states.
    pub arm: Arm,
    /// The outcome.
    pub outcome: DialogOutcome,
    /// The night at which the outcome was first known: 1 is the first night of the canary.
    pub night: u32,
}

/// Decides on a canary after `night` nights. Outcomes of later nights are ignored.
pub fn decide(
    arms: &Arms,
    outcomes: &[DialogReport],
    night: u32,
    settings: &CanarySettings,
) -> CanaryReport {
    let (counts, ignored) = Counts::new(arms, outcomes, night);
    let mut state = State { counts, settings, spent: 0.0 };
    let decision = (1..=night).find_map(|tonight| state.decide_night(tonight));
    let metrics = |arm| state.counts.metrics(arm);
    let estimate = compare(&state.counts.developers());
    CanaryReport {
        canary: metrics(Arm::Canary),
        parent: metrics(Arm::Parent),
        ignored,
        gain: estimate.map(|found| found.gain),
        standard_error: estimate.map(|found| found.error),
        decision: decision.unwrap_or_else(|| state.continuation(night)),
    }
}

struct State<'a> {
    counts: Counts,
    settings: &'a CanarySettings,
    /// Part of the error probability of promotion that earlier looks used.
    spent: f64,
}

impl State<'_> {
    /// Adds the outcomes of a night and returns the decision, if there is one.
    fn decide_night(&mut self, night: u32) -> Option<CanaryDecision> {
        self.counts.add_night(night);
        let is_last = self.is_last(night);
        let is_look = is_last || night.is_multiple_of(self.settings.look_interval_nights);
        let alpha = if is_look { self.spend(night, is_last) } else { 0.0 };
        let estimate = compare(&self.counts.developers());
        let is_enough = self.counts.dialogs(Arm::Canary) >= self.settings.min_dialogs
            && self.counts.dialogs(Arm::Parent) >= self.settings.min_dialogs;
        if let Some(estimate) = estimate.filter(|_| is_enough) {
            let decision = self.harm(night, estimate).or_else(|| promotion(night, estimate, alpha));
            if decision.is_some() {
                return decision;
            }
        }
        is_last.then(|| {
            let gain = estimate.map(|found| found.gain);
            let interval = estimate.map(|found| found.interval(alpha));
            let reason = if is_enough {
                RollBackReason::NoSignificantGain { gain, interval }
            } else {
                RollBackReason::TooFewDialogs { needed: self.settings.min_dialogs }
            };
            CanaryDecision::RollBack { night, reason }
        })
    }

    /// Returns whether a limit of the canary is reached.
    fn is_last(&self, night: u32) -> bool {
        night >= self.settings.max_nights
            || self.counts.dialogs(Arm::Canary) >= self.settings.max_canary_dialogs
    }

    /// Returns the part of the error probability of this look. The sum grows with the square of the
    /// time, and the last look has all that is left.
    fn spend(&mut self, night: u32, is_last: bool) -> f64 {
        let share = f64::from(night) / f64::from(self.settings.max_nights);
        let allowed = if is_last { 1.0 } else { (share * share).min(1.0) };
        let alpha = (self.settings.alpha_promotion * allowed - self.spent).max(0.0);
        self.spent += alpha;
        alpha
    }

    /// Returns a rollback if the canary is significantly worse. Each night has the same part of the
    /// error probability, so that harm is found early.
    fn harm(&self, night: u32, estimate: Estimate) -> Option<CanaryDecision> {
        let alpha = self.settings.alpha_rollback / f64::from(self.settings.max_nights);
        let interval = estimate.interval(alpha);
        (interval.1 < 0.0).then_some(CanaryDecision::RollBack {
            night,
            reason: RollBackReason::Worse { gain: estimate.gain, interval },
        })
    }

    fn continuation(&self, night: u32) -> CanaryDecision {
        let dialogs = |arm| self.counts.dialogs(arm);
        let least = dialogs(Arm::Canary).min(dialogs(Arm::Parent));
        let reason = if least == 0 {
            ContinueReason::NoDialogs
        } else if least < self.settings.min_dialogs {
            ContinueReason::TooFewDialogs
        } else {
            ContinueReason::NotSignificantYet
        };
        let interval = self.settings.look_interval_nights;
        let needed = Needed {
            next_look_night: ((night / interval + 1) * interval).min(self.settings.max_nights),
            last_night: self.settings.max_nights,
            canary_dialogs: self.settings.min_dialogs.saturating_sub(dialogs(Arm::Canary)),
            parent_dialogs: self.settings.min_dialogs.saturating_sub(dialogs(Arm::Parent)),
        };
        CanaryDecision::Continue { reason, needed }
    }
}

fn promotion(night: u32, estimate: Estimate, alpha: f64) -> Option<CanaryDecision> {
    if alpha <= 0.0 {
        return None;
    }
    let interval = estimate.interval(alpha);
    let gain = estimate.gain;
    (interval.0 > 0.0).then_some(CanaryDecision::Promote { night, gain, interval })
}
