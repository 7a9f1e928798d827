//! Records of one bundle that can't both hold: the newer one first, and each with its age.

use super::relevance::Note;
use crate::judge::{self, NoteCache, disagreement};

/// Puts the newer of two records that disagree before the older one, and says on both of them how they differ and of
/// when they are.
pub fn settle(notes: &mut [Note], known: &NoteCache) {
    let read = |note: &Note| known.read(note.record.id, &note.hit.passage.indexed.text);
    let texts: Vec<_> = notes.iter().map(|note| (note.record.id, read(note))).collect();
    for (at, (one, text)) in texts.iter().enumerate() {
        for (other, other_text) in &texts[at + 1..] {
            let Some(difference) = disagreement(text, other_text) else { continue };
            let place = |id| notes.iter().position(|note| note.record.id == id);
            if let (Some(first), Some(second)) = (place(*one), place(*other)) {
                settle_pair(notes, first.min(second), first.max(second), &difference);
            }
        }
    }
}

/// Of two notes, `before` stands first.
fn settle_pair(notes: &mut [Note], before: usize, after: usize, difference: &judge::Difference) {
    let is_in_order = notes[before].record.updated_at >= notes[after].record.updated_at;
    if !is_in_order {
        // It takes the other's place, with what that is ordered by.
        notes[after].rank = notes[before].rank;
        notes[before..=after].rotate_right(1);
    }
    let older = if is_in_order { after } else { before + 1 };
    let day = |note: &Note| note.record.updated_at.format("%Y-%m-%d").to_string();
    let (new, old) = (day(&notes[before]), day(&notes[older]));
    notes[before].disagrees =
        Some(format!("of {new}; disagrees with an older record of {old}: {difference}"));
    notes[older].disagrees =
        Some(format!("of {old}; a newer record of {new} says otherwise: {difference}"));
}
