//! Support of the passages of one file or document for each other: a file of which two passages
//! answer the question is rather meant than one that speaks of it once.

use std::collections::HashMap;

use crate::rank::Candidate;

/// What the second-best passage of a file adds of its score to each passage of the file.
const SUPPORT: f32 = 0.15;

/// The factor for each candidate, in their order.
pub(super) fn factors(candidates: &[Candidate]) -> Vec<Option<f32>> {
    let second = second_best(candidates);
    candidates
        .iter()
        .map(|candidate| {
            let support = SUPPORT * second.get(&group(candidate)?)?.1;
            let counts = support > 0.0 && candidate.fused_score > 0.0;
            counts.then_some(1.0 + support / candidate.fused_score)
        })
        .collect()
}

/// The two best scores of each file and document.
fn second_best(candidates: &[Candidate]) -> HashMap<uuid::Uuid, (f32, f32)> {
    let mut best: HashMap<_, (f32, f32)> = HashMap::new();
    for candidate in candidates {
        let Some(group) = group(candidate) else { continue };
        let (first, second) = best.entry(group).or_default();
        // What history gives to one of them supports none.
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
