//! Which records a bundle gets. A bundle is not filled for its own sake: each record that does not help
//! costs the reader more than its tokens.

use std::collections::HashMap;

use mc_domain::RecordKind;

use super::relevance::Note;

/// Relevance below which a record is left out: nothing is better than a guess.
pub const LEAST: f32 = 0.35;
/// What the others need of the best one's relevance.
const LEAD_SHARE: f32 = 0.88;
/// The same, where an example or a decision is the best: statements are shown before it.
const LATE_LEAD_SHARE: f32 = 0.95;
/// What a companion of the best one needs: it cites the same code, so the two belong together.
const COMPANION_SHARE: f32 = 0.5;
const COMPANION_LEAST: f32 = 0.25;
/// A file that more records cite makes no companions.
const COMPANIONS_MAX: usize = 4;
/// Most records of one bundle.
const NOTES_MAX: usize = 8;

/// The notes that are good enough, of judged ones, best first.
pub fn select(notes: Vec<Note>) -> Vec<Note> {
    let Some(best) = notes.first() else { return Vec::new() };
    if best.relevance < LEAST {
        return Vec::new();
    }
    let is_late = matches!(best.record.kind, RecordKind::Fewshot | RecordKind::AdrLink);
    let share = if is_late { LATE_LEAD_SHARE } else { LEAD_SHARE };
    let (relevance, companions) = (best.relevance, Companions::of(best, &notes));
    let is_kept = |note: &Note| {
        let is_near = note.relevance >= LEAST.max(share * relevance);
        let is_companion = note.relevance >= COMPANION_LEAST.max(COMPANION_SHARE * relevance)
            && companions.has(note);
        note.is_of_task || is_near || is_companion
    };
    notes.into_iter().filter(is_kept).take(NOTES_MAX).collect()
}

/// What few records but the best one cite.
struct Companions(Vec<String>);

impl Companions {
    fn of(best: &Note, notes: &[Note]) -> Self {
        let mut citing: HashMap<&str, usize> = HashMap::new();
        for note in notes {
            for file in files(note) {
                *citing.entry(file).or_default() += 1;
            }
        }
        let rare = files(best).filter(|file| citing[file] <= COMPANIONS_MAX);
        Self(rare.map(str::to_owned).collect())
    }

    fn has(&self, note: &Note) -> bool {
        files(note).any(|file| self.0.iter().any(|own| own == file))
    }
}

/// Each file that a note cites, once.
fn files(note: &Note) -> impl Iterator<Item = &str> {
    let is_first =
        |at: usize| !note.citations[..at].iter().any(|c| c.file == note.citations[at].file);
    note.citations
        .iter()
        .enumerate()
        .filter(move |(at, _)| is_first(*at))
        .map(|(_, c)| c.file.as_str())
}
