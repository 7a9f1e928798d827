//! One night of optimization: split the cases, search, and test the finalists.

#[cfg(test)]
mod tests;

use crate::Error;
use crate::evaluate::{Case, Evaluate, Ledger};
use crate::material::Material;
use crate::prompt::Prompt;
use crate::propose::Propose;
use crate::report::{CaseCounts, Comparison, Decision, Finalist, KeepReason, NightReport};
use crate::search::{Candidate, Settings, search};
use crate::stats::{bootstrap_interval, holm, mean, sign_flip_p};

/// Share of the held-out evaluations of the parent that may fail.
const MAX_FAILED_SHARE: f64 = 0.2;

/// Searches a better prompt than `parent` and tests the best candidates on held-out cases.
///
/// Fails only if a setting is out of its range. All that cases, evaluations or the model lack is a
/// reason in the report for keeping the parent.
pub async fn optimize(
    parent: &Prompt,
    cases: &[Case],
    material: &Material,
    evaluator: &dyn Evaluate,
    proposer: Option<&dyn Propose>,
    settings: &Settings,
) -> Result<NightReport, Error> {
    settings.check()?;
    let split = Split::new(cases, settings);
    let mut report = NightReport::new(parent, split.counts(), settings);
    if let Err(reason) = split.check(settings) {
        report.decision = Decision::Keep { reason };
        return Ok(report);
    }
    let mut ledger =
        Ledger::new(evaluator, cases, split.search_budget(settings), settings.concurrency);
    let found = search(&mut ledger, parent, material, proposer, &split.training, settings).await;
    report.levels = found.levels;
    report.effects = found.effects;
    report.failed_proposals = found.failed_proposals;
    report.candidates = found.ranked.len();
    ledger.set_budget(settings.budget);
    let (finalists, decision) =
        test_finalists(&mut ledger, parent, &found.ranked, &split, settings).await;
    report.finalists = finalists;
    report.decision = decision;
    report.spending = ledger.spending();
    Ok(report)
}

/// Training cases and held-out cases, as indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Cases that the search uses.
    pub training: Vec<usize>,
    /// Cases that only the test of the finalists uses.
    pub held_out: Vec<usize>,
}

impl Split {
    /// Splits the cases by the hash of their ids. Of cases with the same id, the first counts.
    pub fn new(cases: &[Case], settings: &Settings) -> Self {
        let mut ids = std::collections::BTreeSet::new();
        let distinct = (0..cases.len()).filter(|index| ids.insert(&cases[*index].id));
        let (held_out, training) =
            distinct.partition(|index| cases[*index].is_held_out(settings.held_out_percent));
        Self { training, held_out }
    }

    /// Returns the part of the budget that is left for the search.
    pub fn search_budget(&self, settings: &Settings) -> usize {
        settings.budget.saturating_sub((settings.finalists + 1) * self.held_out.len())
    }

    fn counts(&self) -> CaseCounts {
        CaseCounts { training: self.training.len(), held_out: self.held_out.len() }
    }

    /// Checks that there is enough for a search and a test.
    fn check(&self, settings: &Settings) -> Result<(), KeepReason> {
        if self.training.is_empty() && self.held_out.is_empty() {
            return Err(KeepReason::NoCases);
        }
        if self.held_out.len() < settings.min_held_out {
            let held_out = self.held_out.len();
            return Err(KeepReason::TooFewHeldOut { held_out, needed: settings.min_held_out });
        }
        if self.training.is_empty() {
            return Err(KeepReason::NoTrainingCases);
        }
        // One round of elimination of the first level.
        let round = (settings.children + 1) * settings.minibatch;
        let needed = (settings.finalists + 1) * self.held_out.len() + round;
        let budget = settings.budget;
        if budget < needed { Err(KeepReason::BudgetTooSmall { budget, needed }) } else { Ok(()) }
    }
}

/// Compares the best candidates with the parent on the held-out cases. Returns them with the
/// decision: the one with the largest gain of those that are significantly better, if any.
pub async fn test_finalists(
    ledger: &mut Ledger<'_>,
    parent: &Prompt,
    ranked: &[Candidate],
    split: &Split,
    settings: &Settings,
) -> (Vec<Finalist>, Decision) {
    let keep = |reason| (vec![], Decision::Keep { reason });
    if ledger.is_unavailable() {
        return keep(KeepReason::EvaluatorUnavailable { failed: ledger.spending().failed });
    }
    let is_finalist = |candidate: &&Candidate| {
        candidate.gain > 0.0 && settings.limits.check(&candidate.prompt).is_ok()
    };
    let chosen: Vec<&Candidate> =
        ranked.iter().filter(is_finalist).take(settings.finalists).collect();
    if chosen.is_empty() {
        return keep(KeepReason::NoBetterCandidate);
    }
    let mut prompts = vec![parent];
    prompts.extend(chosen.iter().map(|candidate| &candidate.prompt));
    ledger.evaluate(&prompts, &split.held_out).await;
    let missing = split.held_out.iter().filter(|case| ledger.score(parent.key(), **case).is_none());
    if missing.count() as f64 > MAX_FAILED_SHARE * split.held_out.len() as f64 {
        return keep(KeepReason::EvaluatorUnavailable { failed: ledger.spending().failed });
    }
    decide(ledger, parent, &chosen, split, settings)
}

fn decide(
    ledger: &Ledger<'_>,
    parent: &Prompt,
    chosen: &[&Candidate],
    split: &Split,
    settings: &Settings,
) -> (Vec<Finalist>, Decision) {
    let differences: Vec<Vec<f64>> = chosen
        .iter()
        .map(|candidate| differences(ledger, parent.key(), candidate.prompt.key(), &split.held_out))
        .collect();
    let p_values: Vec<f64> =
        differences.iter().map(|found| sign_flip_p(found, settings.seed)).collect();
    let finalists: Vec<Finalist> = chosen
        .iter()
        .zip(differences.iter().zip(p_values.iter().zip(holm(&p_values))))
        .map(|(candidate, (differences, (p, adjusted_p)))| {
            let comparison = Comparison {
                cases: differences.len(),
                gain: mean(differences).unwrap_or(0.0),
                interval: bootstrap_interval(differences, settings.seed),
                p: *p,
                adjusted_p,
            };
            Finalist::new(parent, candidate, comparison)
        })
        .collect();
    let decision = decision(&finalists, settings.significance);
    (finalists, decision)
}

/// Returns the differences of the scores of a candidate and the parent.
///
/// A case that the parent has no score for is left out. One that only the candidate has no score
/// for counts as failed by the candidate, so failures can hide a gain but not feign one.
fn differences(ledger: &Ledger<'_>, parent: u64, candidate: u64, cases: &[usize]) -> Vec<f64> {
    let difference = |case: &usize| {
        let score = ledger.score(candidate, *case).unwrap_or(0.0);
        Some(score - ledger.score(parent, *case)?)
    };
    cases.iter().filter_map(difference).collect()
}

fn decision(finalists: &[Finalist], significance: f64) -> Decision {
    let best = (0..finalists.len())
        .filter(|index| finalists[*index].held_out.adjusted_p <= significance)
        .max_by(|a, b| {
            let gain = |index: &usize| finalists[*index].held_out.gain;
            gain(a).total_cmp(&gain(b)).then(b.cmp(a))
        });
    if let Some(finalist) = best {
        return Decision::Propose { finalist };
    }
    let adjusted_p = finalists.iter().map(|found| found.held_out.adjusted_p);
    let reason = KeepReason::NotSignificant { adjusted_p: adjusted_p.fold(1.0, f64::min) };
    Decision::Keep { reason }
}
