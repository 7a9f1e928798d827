//! Counts of outcomes per developer.

use std::collections::BTreeMap;

use mc_domain::DialogOutcome;

use super::{ArmMetrics, DialogReport, Ignored};
use crate::arms::{Arm, Arms};

/// Dialogs of one developer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Developer {
    /// Assigned arm.
    pub(super) arm: Arm,
    /// Dialogs that ended.
    pub(super) dialogs: u32,
    /// Dialogs that succeeded.
    pub(super) succeeded: u32,
}

/// Outcomes by developer, up to a night.
#[derive(Debug)]
pub(super) struct Counts {
    /// Outcomes that are not added yet, by night: developer, arm and outcome.
    nights: BTreeMap<u32, Vec<(String, Arm, DialogOutcome)>>,
    developers: BTreeMap<String, Developer>,
    outcomes: BTreeMap<(Arm, DialogOutcome), u32>,
}

impl Counts {
    /// Takes the outcomes up to a night, without those that do not count.
    pub(super) fn new(arms: &Arms, all: &[DialogReport], night: u32) -> (Self, Ignored) {
        let mut ignored = Ignored::default();
        let mut nights: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for found in distinct(all.iter().filter(|found| found.night <= night), &mut ignored) {
            if arms.arm(&found.developer) == found.arm {
                let counted = (found.developer.clone(), found.arm, found.outcome);
                nights.entry(found.night.max(1)).or_default().push(counted);
            } else {
                ignored.other_arm += 1;
            }
        }
        (Self { nights, developers: BTreeMap::new(), outcomes: BTreeMap::new() }, ignored)
    }

    /// Adds the outcomes of a night.
    pub(super) fn add_night(&mut self, night: u32) {
        for (name, arm, outcome) in self.nights.remove(&night).unwrap_or_default() {
            let new = Developer { arm, dialogs: 0, succeeded: 0 };
            let developer = self.developers.entry(name).or_insert(new);
            developer.dialogs += 1;
            developer.succeeded += u32::from(outcome == DialogOutcome::Succeeded);
            *self.outcomes.entry((arm, outcome)).or_default() += 1;
        }
    }

    /// Returns the developers with dialogs so far.
    pub(super) fn developers(&self) -> Vec<Developer> {
        self.developers.values().copied().collect()
    }

    /// Returns the number of dialogs of an arm so far.
    pub(super) fn dialogs(&self, arm: Arm) -> u32 {
        let own = self.outcomes.iter().filter(|((found, _), _)| *found == arm);
        own.map(|(_, count)| count).sum()
    }

    /// Returns the figures of an arm so far.
    pub(super) fn metrics(&self, arm: Arm) -> ArmMetrics {
        let count = |outcome| self.outcomes.get(&(arm, outcome)).copied().unwrap_or(0);
        let dialogs = self.dialogs(arm);
        let own = self.developers.values().filter(|developer| developer.arm == arm);
        ArmMetrics {
            developers: own.count(),
            dialogs,
            succeeded: count(DialogOutcome::Succeeded),
            failed: count(DialogOutcome::Failed),
            abandoned: count(DialogOutcome::Abandoned),
            success_rate: (dialogs > 0)
                .then(|| f64::from(count(DialogOutcome::Succeeded)) / f64::from(dialogs)),
        }
    }
}

/// Returns one report of each dialog, the earliest, and none of contradictory ones.
fn distinct<'a>(
    all: impl Iterator<Item = &'a DialogReport>,
    ignored: &mut Ignored,
) -> Vec<&'a DialogReport> {
    let mut by_dialog: BTreeMap<&str, Vec<&DialogReport>> = BTreeMap::new();
    for found in all {
        by_dialog.entry(&found.dialog).or_default().push(found);
    }
    let mut kept = Vec::new();
    for reports in by_dialog.into_values() {
        let is_equal = reports.iter().all(|found| is_same_report(found, reports[0]));
        match reports.iter().min_by_key(|found| found.night) {
            Some(first) if is_equal => kept.push(*first),
            _ => ignored.contradictory += 1,
        }
    }
    kept
}

fn is_same_report(a: &DialogReport, b: &DialogReport) -> bool {
    a.developer == b.developer && a.arm == b.arm && a.outcome == b.outcome
}
