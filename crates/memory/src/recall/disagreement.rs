//! Contradicting records of one bundle: the newer one comes first, and both state their dates.

use super::relevance::RankedRecord;
use crate::judge::{self, NoteCache, disagreement};

/// Puts the newer of two contradicting records before the older one, and records on both how they
/// differ and when they were saved.
pub fn put_newer_first(records: &mut [RankedRecord], cache: &NoteCache) {
    let read =
        |record: &RankedRecord| cache.read(record.facet.id, &record.hit.passage.indexed.text);
    let texts: Vec<_> = records.iter().map(|record| (record.facet.id, read(record))).collect();
    for (at, (one, text)) in texts.iter().enumerate() {
        for (other, other_text) in &texts[at + 1..] {
            let Some(difference) = disagreement(text, other_text) else { continue };
            let place = |id| records.iter().position(|record| record.facet.id == id);
            if let (Some(first), Some(second)) = (place(*one), place(*other)) {
                put_newer_of_two_first(records, first.min(second), first.max(second), &difference);
            }
        }
    }
}

/// Orders the two records at `before` and `after`, where `before` is the smaller index.
fn put_newer_of_two_first(
    records: &mut [RankedRecord],
    before: usize,
    after: usize,
    difference: &judge::Difference,
) {
    let is_in_order = records[before].facet.updated_at >= records[after].facet.updated_at;
    if !is_in_order {
        // The newer one takes the position and rank of the older one.
        records[after].rank = records[before].rank;
        records[before..=after].rotate_right(1);
    }
    let older = if is_in_order { after } else { before + 1 };
    let day = |record: &RankedRecord| record.facet.updated_at.format("%Y-%m-%d").to_string();
    let (new, old) = (day(&records[before]), day(&records[older]));
    records[before].disagrees =
        Some(format!("of {new}; disagrees with an older record of {old}: {difference}"));
    records[older].disagrees =
        Some(format!("of {old}; a newer record of {new} says otherwise: {difference}"));
}
