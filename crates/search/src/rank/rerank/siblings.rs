//! Factor of passages with siblings: a second matching passage makes a file more relevant.

use std::collections::HashMap;

use crate::rank::Candidate;

/// Share of the score of the second-best passage of a file that is added to each of its passages.
const SUPPORT: f32 = 0.15;

/// Returns the factor of each candidate, in their order.
pub(super) fn factors(candidates: &[Candidate]) -> Vec<Option<f32>> {
    let second = second_best(candidates);
    candidates
        .iter()
        .map(|candidate| {
            let support = SUPPORT * second.get(&group(candidate)?)?.1;
            let applies = support > 0.0 && candidate.fused_score > 0.0;
            applies.then_some(1.0 + support / candidate.fused_score)
        })
        .collect()
}

/// Returns the two best scores of each file and document.
fn second_best(candidates: &[Candidate]) -> HashMap<uuid::Uuid, (f32, f32)> {
    let mut best: HashMap<_, (f32, f32)> = HashMap::new();
    for candidate in candidates {
        let Some(group) = group(candidate) else { continue };
        let (first, second) = best.entry(group).or_default();
        // Without the history, which scores only one passage of a file.
        let score = candidate.text_score();
        if score > *first {
            (*first, *second) = (score, *first);
        } else {
            *second = second.max(score);
        }
    }
    best
}

fn group(candidate: &Candidate) -> Option<uuid::Uuid> {
    let passage = &candidate.passage;
    let file = passage.code.as_ref().map(|code| code.file_id.0);
    file.or(passage.doc.as_ref().map(|doc| doc.id.0))
}
