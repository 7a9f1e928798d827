//! The budget of a night, and the scores that it paid for.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{Case, Evaluate, Evaluation};
use crate::prompt::Prompt;
use crate::propose::FailedCase;

/// Number of failed evaluations in a row after which no more are tried in a night.
pub const MAX_FAILURES_IN_A_ROW: usize = 10;

/// Scores of pairs of a prompt and a case. No pair is evaluated twice, and the number of
/// evaluations is limited.
///
/// A failed evaluation costs its part of the budget, since it may have cost money, and is not
/// repeated in this night; its pair has no score. After [`MAX_FAILURES_IN_A_ROW`] the evaluator
/// counts as unavailable, and all other pairs have no score either.
pub struct Ledger<'a> {
    evaluator: &'a dyn Evaluate,
    cases: &'a [Case],
    concurrency: usize,
    scores: BTreeMap<(u64, usize), Option<Evaluation>>,
    spending: Spending,
    failures_in_a_row: usize,
}

/// Use of the budget, in evaluations of one prompt on one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending {
    /// Allowed evaluations.
    pub budget: usize,
    /// Evaluations so far, with those that failed.
    pub spent: usize,
    /// Evaluations that failed.
    pub failed: usize,
    /// Requested pairs that were known already, so cost nothing.
    pub reused: usize,
}

impl<'a> Ledger<'a> {
    /// Creates a ledger with a budget. Up to `concurrency` evaluations run at once.
    pub fn new(
        evaluator: &'a dyn Evaluate,
        cases: &'a [Case],
        budget: usize,
        concurrency: usize,
    ) -> Self {
        let spending = Spending { budget, ..Spending::default() };
        let (scores, concurrency) = (BTreeMap::new(), concurrency.max(1));
        Self { evaluator, cases, concurrency, scores, spending, failures_in_a_row: 0 }
    }

    /// Returns the use of the budget.
    pub fn spending(&self) -> Spending {
        self.spending
    }

    /// Returns the number of evaluations that are left, or 0 if the evaluator is unavailable.
    pub fn remaining(&self) -> usize {
        if self.is_unavailable() { 0 } else { self.spending.budget - self.spending.spent }
    }

    /// Returns whether too many evaluations in a row failed.
    pub fn is_unavailable(&self) -> bool {
        self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW
    }

    /// Raises or lowers the budget, so that a later stage has its own part.
    pub fn set_budget(&mut self, budget: usize) {
        self.spending.budget = budget.max(self.spending.spent);
    }

    /// Evaluates each prompt on each case, case by case, until the budget is spent.
    pub async fn evaluate(&mut self, prompts: &[&Prompt], cases: &[usize]) {
        let pairs = self.new_pairs(prompts, cases);
        let (evaluator, all_cases) = (self.evaluator, self.cases);
        // Boxed one by one: a lazy iterator of these futures could not move to another thread.
        let running: Vec<BoxFuture<'_, _>> = pairs
            .into_iter()
            .map(|(prompt, key, case)| {
                async move { (key, case, evaluator.evaluate(prompt, &all_cases[case]).await) }
                    .boxed()
            })
            .collect();
        let mut results = stream::iter(running).buffered(self.concurrency);
        while let Some((key, case, result)) = results.next().await {
            let evaluation = result.ok().filter(|found| (0.0..=1.0).contains(&found.score));
            self.record(key, case, evaluation);
            if self.is_unavailable() {
                return;
            }
        }
    }

    fn new_pairs<'p>(
        &mut self,
        prompts: &[&'p Prompt],
        cases: &[usize],
    ) -> Vec<(&'p Prompt, u64, usize)> {
        let remaining = self.remaining();
        let keys: Vec<u64> = prompts.iter().map(|prompt| prompt.key()).collect();
        let mut pairs = BTreeMap::new();
        for &case in cases {
            for (prompt, &key) in prompts.iter().zip(&keys) {
                if self.scores.contains_key(&(key, case)) {
                    self.spending.reused += 1;
                } else if pairs.len() < remaining {
                    let order = pairs.len();
                    pairs.entry((key, case)).or_insert((order, *prompt));
                }
            }
        }
        let mut ordered: Vec<_> = pairs
            .into_iter()
            .map(|((key, case), (order, prompt))| (order, prompt, key, case))
            .collect();
        ordered.sort_by_key(|(order, ..)| *order);
        ordered.into_iter().map(|(_, prompt, key, case)| (prompt, key, case)).collect()
    }

    fn record(&mut self, key: u64, case: usize, evaluation: Option<Evaluation>) {
        self.spending.spent += 1;
        if evaluation.is_some() {
            self.failures_in_a_row = 0;
        } else {
            self.failures_in_a_row += 1;
            self.spending.failed += 1;
        }
        self.scores.insert((key, case), evaluation);
    }

    /// Returns a score that was paid for. It is none if the evaluation failed or never ran.
    pub fn score(&self, prompt_key: u64, case: usize) -> Option<f64> {
        self.scores.get(&(prompt_key, case))?.as_ref().map(|evaluation| evaluation.score)
    }

    /// Returns whether the evaluation of a pair was tried and failed.
    pub fn has_failed(&self, prompt_key: u64, case: usize) -> bool {
        self.scores.get(&(prompt_key, case)).is_some_and(Option::is_none)
    }

    /// Returns the scores of a prompt with the indices of their cases.
    pub fn scores_of(&self, prompt_key: u64) -> impl Iterator<Item = (usize, f64)> {
        let range = self.scores.range((prompt_key, 0)..=(prompt_key, usize::MAX));
        range.filter_map(|((_, case), found)| Some((*case, found.as_ref()?.score)))
    }

    /// Returns the cases of lowest score, each below 0.5, that a model should see.
    pub fn failed_cases(&self, prompt_key: u64, most: usize) -> Vec<FailedCase> {
        let range = self.scores.range((prompt_key, 0)..=(prompt_key, usize::MAX));
        let mut failed: Vec<_> = range
            .filter_map(|((_, case), found)| Some((*case, found.as_ref()?)))
            .filter(|(_, evaluation)| evaluation.score < 0.5)
            .collect();
        failed.sort_by(|a, b| a.1.score.total_cmp(&b.1.score).then(a.0.cmp(&b.0)));
        failed.into_iter().take(most).map(|(case, found)| self.failed_case(case, found)).collect()
    }

    fn failed_case(&self, case: usize, evaluation: &Evaluation) -> FailedCase {
        FailedCase {
            case_id: self.cases[case].id.clone(),
            score: evaluation.score,
            feedback: evaluation.feedback.clone(),
        }
    }
}
