//! Reranking by names, age, use, scope and state. Each step is a named factor.

mod exactness;
mod siblings;
mod signals;

use chrono::{DateTime, Utc};
use mc_store::passages::Passage;

use super::{Adjustment, Candidate, DisabledSteps, Step, translation};
use crate::query::ParsedQuery;

pub use exactness::NAMED_FACTOR;

/// Context of a search for the steps.
#[derive(Debug, Clone)]
pub struct RankContext {
    /// Names that the query has in its text or fields.
    pub names: ParsedQuery,
    /// Text of the query, in lower case.
    pub text: String,
    /// Current time.
    pub now: DateTime<Utc>,
    /// Steps to skip.
    pub disabled_steps: DisabledSteps,
}

/// Function that returns the factor of a step for a candidate, if the step applies.
type Factor = fn(&Candidate, &RankContext) -> Option<f32>;

const STEPS: &[(Step, Factor)] = &[
    (Step::ExactSymbol, exactness::symbol),
    (Step::ExactPath, exactness::path),
    (Step::ScopePrefix, exactness::scope_prefix),
    (Step::Translation, translation::factor),
    (Step::SameIdentifier, exactness::identifier),
    (Step::Recency, signals::recency),
    (Step::Usefulness, signals::usefulness),
    (Step::Scope, signals::scope),
    (Step::Author, signals::author),
    (Step::Stale, signals::stale),
];

/// Steps that do not depend on the query.
const QUERY_INDEPENDENT: [Step; 3] = [Step::Recency, Step::Usefulness, Step::Stale];

/// Applies the steps and sorts, best first.
pub fn rerank(candidates: &mut [Candidate], context: &RankContext) {
    let siblings = siblings::factors(candidates);
    for (candidate, siblings) in candidates.iter_mut().zip(siblings) {
        let factors = STEPS.iter().map(|(step, factor)| (*step, factor(candidate, context)));
        candidate.adjustments = std::iter::once((Step::Siblings, siblings))
            .chain(factors)
            .filter(|(step, _)| context.disabled_steps.allows(*step))
            .filter_map(|(step, factor)| factor.map(|factor| Adjustment { step, factor }))
            .collect();
        let factors = candidate.adjustments.iter().map(|adjustment| adjustment.factor);
        candidate.score = candidate.fused_score * factors.product::<f32>();
    }
    candidates.sort_by(|a, b| {
        let newest_first = || b.passage.indexed.id.cmp(&a.passage.indexed.id);
        b.score.total_cmp(&a.score).then_with(newest_first)
    });
}

/// Returns the factors of a passage that do not depend on the query: its age, use and state. Empty
/// for a new passage without known use.
pub fn rank_factors(passage: &Passage, now: DateTime<Utc>) -> Vec<(Step, f32)> {
    let (names, disabled_steps) = (ParsedQuery::default(), DisabledSteps::default());
    let context = RankContext { names, text: String::new(), now, disabled_steps };
    let candidate = Candidate::new(passage.clone(), Vec::new(), 1.0);
    let steps = STEPS.iter().filter(|(step, _)| QUERY_INDEPENDENT.contains(step));
    steps.filter_map(|(step, factor)| Some((*step, factor(&candidate, &context)?))).collect()
}

#[cfg(test)]
mod tests;
