//! Factor of files that match the scope prefix of the query.

use super::RankContext;
use crate::query::stems;
use crate::rank::Candidate;

/// Factor of a matching file; docs/retrieval.md has the evaluation.
const FACTOR: f32 = 1.4;

pub(super) fn factor(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let scope = &context.names.scope_prefix;
    if scope.is_empty() || candidate.passage.code.is_none() {
        return None;
    }
    let location = stems(&candidate.passage.indexed.location);
    scope.iter().all(|word| location.contains(word)).then_some(FACTOR)
}
