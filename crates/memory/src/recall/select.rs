//! Which records a bundle gets. A bundle is not filled for its own sake: each record that does not help
//! costs the reader more than its tokens.

use std::collections::HashSet;

use mc_domain::RecordKind;

use super::relevance::Note;
use crate::confidence::Question;

/// Relevance below which a record is left out: nothing is better than a guess.
const LEAST: f32 = 0.335;
/// The same for a question that seeks places: a record is not what was asked for, and has to be surely about it.
const LEAST_BESIDE_PLACES: f32 = 0.55;
/// To a question of next to no words (`make it faster`) the best one has to say most of them, or to be near in meaning:
/// something of both is chance.
const VAGUE_WORDS: usize = 2;
const VAGUE_COVERAGE: f32 = 0.5;
const VAGUE_SIMILARITY: f32 = 0.4;
/// A question of so few words (`fix the failing test`) gets one record, unless that is surely about it.
const SHORT_WORDS: usize = 3;
const SURE: f32 = 0.6;
/// What the others need of the best one's relevance.
const LEAD_SHARE: f32 = 0.92;
/// The same, where an example or a decision is the best, which seldom says all: a statement belongs beside it.
const LATE_LEAD_SHARE: f32 = 0.9;
/// What a companion of the best one needs, which cites the same code: the two belong together.
const CITING_SHARE: f32 = 0.5;
/// The same, where the two have a tag in common.
const TAGGED_SHARE: f32 = 0.8;
const COMPANION_LEAST: f32 = 0.25;
/// A file that more records cite, or a tag that more have, makes no companions.
const COMPANIONS_MAX: usize = 4;
/// Most records of one bundle.
const NOTES_MAX: usize = 8;

/// The notes that are good enough, of judged ones, best first.
pub fn select(question: &Question, notes: Vec<Note>) -> Vec<Note> {
    let bare_words = question.bare_words().unwrap_or(usize::MAX);
    let least = if question.seeks_places { LEAST_BESIDE_PLACES } else { LEAST };
    let is_about_it = |note: &Note| {
        let (coverage, similarity) = (note.hit.coverage, note.hit.similarity);
        bare_words > VAGUE_WORDS
            || coverage.is_some_and(|share| share >= VAGUE_COVERAGE)
            || similarity.is_some_and(|cosine| cosine >= VAGUE_SIMILARITY)
    };
    let is_enough =
        |best: &&Note| best.is_of_task || (best.relevance >= least && is_about_it(best));
    let Some(best) = notes.first().filter(is_enough) else { return Vec::new() };
    let is_late = matches!(best.record.kind, RecordKind::Fewshot | RecordKind::AdrLink);
    let share = if is_late { LATE_LEAD_SHARE } else { LEAD_SHARE };
    let relevance = best.relevance;
    let (citing, tagged) = (Shared::of(best, &notes, files), Shared::of(best, &notes, tags));
    let is_kept = |note: &Note| {
        let has = |least: f32, share: f32| note.relevance >= least.max(share * relevance);
        // What has no more in common with an example or a decision than a tag would be shown before it.
        let is_companion = (has(COMPANION_LEAST, CITING_SHARE) && citing.has(note))
            || (!is_late && has(COMPANION_LEAST, TAGGED_SHARE) && tagged.has(note));
        note.is_of_task || has(least, share) || is_companion
    };
    let most = if bare_words <= SHORT_WORDS && relevance < SURE { 1 } else { NOTES_MAX };
    notes.into_iter().filter(is_kept).take(most).collect()
}

/// What the best note has and few others: names of one sort.
struct Shared {
    rare: Vec<String>,
    names: fn(&Note) -> HashSet<&str>,
}

impl Shared {
    fn of(best: &Note, notes: &[Note], names: fn(&Note) -> HashSet<&str>) -> Self {
        let count = |name: &str| notes.iter().filter(|note| names(note).contains(name)).count();
        let rare = names(best).into_iter().filter(|name| count(name) <= COMPANIONS_MAX);
        Self { rare: rare.map(str::to_owned).collect(), names }
    }

    fn has(&self, note: &Note) -> bool {
        let names = (self.names)(note);
        self.rare.iter().any(|rare| names.contains(rare.as_str()))
    }
}

/// The files that a note cites.
fn files(note: &Note) -> HashSet<&str> {
    note.citations.iter().map(|citation| citation.file.as_str()).collect()
}

fn tags(note: &Note) -> HashSet<&str> {
    note.hit.passage.indexed.tags.iter().map(String::as_str).collect()
}
