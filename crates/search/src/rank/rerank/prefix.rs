//! Files of the part of the system that the query names in front of its colon.

use super::RankContext;
use crate::query::stems;
use crate::rank::Candidate;

/// What such a file's score is multiplied by; docs/retrieval.md has the measurement.
const FACTOR: f32 = 1.4;

pub(super) fn factor(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let wanted = &situation.names.scope_prefix;
    if wanted.is_empty() || candidate.passage.code.is_none() {
        return None;
    }
    let place = stems(&candidate.passage.indexed.location);
    wanted.iter().all(|word| place.contains(word)).then_some(FACTOR)
}
