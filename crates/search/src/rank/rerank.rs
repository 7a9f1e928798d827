//! What the retrievers can't know: names, age, use, scope, state. Each step is a factor with a
//! name.

mod exactness;
mod prefix;
mod siblings;
mod signals;

use chrono::{DateTime, Utc};
use mc_store::passages::Passage;

use super::step::{DisabledSteps, Step};
use super::{Adjustment, Candidate};
use crate::query::ParsedQuery;

pub use exactness::NAMED_FACTOR;

/// What the steps look at besides the candidate.
#[derive(Debug, Clone)]
pub struct RankContext {
    /// Names in the query.
    pub names: ParsedQuery,
    /// The query's text, lower-cased.
    pub text: String,
    /// Now.
    pub now: DateTime<Utc>,
    /// Steps to leave out.
    pub disabled_steps: DisabledSteps,
}

/// The factor for one candidate, where the step has something to say of it.
type Factor = fn(&Candidate, &RankContext) -> Option<f32>;

const STEPS: &[(Step, Factor)] = &[
    (Step::ExactSymbol, exactness::symbol),
    (Step::ExactPath, exactness::path),
    (Step::ScopePrefix, prefix::factor),
    (Step::SameIdentifier, exactness::identifier),
    (Step::Recency, signals::recency),
    (Step::Usefulness, signals::usefulness),
    (Step::Scope, signals::scope),
    (Step::Author, signals::author),
    (Step::Stale, signals::stale),
];

/// The steps that hang on nothing that is asked for.
const OF_ITSELF: [Step; 3] = [Step::Recency, Step::Usefulness, Step::Stale];

/// Applies the steps and sorts, best first.
pub fn rerank(candidates: &mut [Candidate], situation: &RankContext) {
    let siblings = siblings::factors(candidates);
    for (candidate, siblings) in candidates.iter_mut().zip(siblings) {
        let own = STEPS.iter().map(|(step, factor)| (*step, factor(candidate, situation)));
        candidate.adjustments = std::iter::once((Step::Siblings, siblings))
            .chain(own)
            .filter(|(step, _)| situation.disabled_steps.takes(*step))
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

/// What the ranking makes of a passage whatever is asked for: the factors of its age, its use and
/// its state, each with its step. Empty for what is new and not known to be of use.
pub fn standing(passage: &Passage, now: DateTime<Utc>) -> Vec<(Step, f32)> {
    let (names, without) = (ParsedQuery::default(), DisabledSteps::default());
    let situation = RankContext { names, text: String::new(), now, disabled_steps: without };
    let passage = passage.clone();
    let candidate = Candidate {
        passage,
        retrievers: Vec::new(),
        fused_score: 1.0,
        adjustments: Vec::new(),
        score: 1.0,
    };
    let own = STEPS.iter().filter(|(step, _)| OF_ITSELF.contains(step));
    own.filter_map(|(step, factor)| Some((*step, factor(&candidate, &situation)?))).collect()
}

#[cfg(test)]
mod tests;
