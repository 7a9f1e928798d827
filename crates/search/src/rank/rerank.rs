//! What the legs can't know: names, age, use, scope, state. Each step is a factor with a name.

mod exactness;
mod signals;

use chrono::{DateTime, Utc};

use super::{Adjustment, Candidate};
use crate::query::Understood;

pub use exactness::{EXACT_SYMBOL, NAMED_FACTOR};

/// What the steps look at besides the candidate.
#[derive(Debug, Clone)]
pub struct Situation {
    /// Names in the query.
    pub names: Understood,
    /// The query's text, lower-cased.
    pub text: String,
    /// Now.
    pub now: DateTime<Utc>,
}

type Step = fn(&Candidate, &Situation) -> Option<Adjustment>;

const STEPS: &[Step] = &[
    exactness::symbol,
    exactness::path,
    exactness::identifier,
    signals::recency,
    signals::usefulness,
    signals::scope,
    signals::state,
];

/// Applies the steps and sorts, best first.
pub fn rerank(candidates: &mut [Candidate], situation: &Situation) {
    for candidate in candidates.iter_mut() {
        candidate.score = candidate.fused;
        for step in STEPS {
            if let Some(adjustment) = step(candidate, situation) {
                candidate.score *= adjustment.factor;
                candidate.adjustments.push(adjustment);
            }
        }
    }
    candidates.sort_by(|a, b| {
        let newest_first = || b.passage.indexed.id.cmp(&a.passage.indexed.id);
        b.score.total_cmp(&a.score).then_with(newest_first)
    });
}

#[cfg(test)]
mod tests;
