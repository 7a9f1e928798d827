//! Which records a bundle gets. A bundle is not filled for its own sake: each record that does not help
//! costs the reader more than its tokens.

use std::collections::HashSet;

use mc_domain::{PassageId, RecordKind};

use super::relevance::Note;
use crate::confidence::{QueryFeatures, is_latin};

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
/// From which cosine similarity on a record is near the best one in meaning, and belongs to it; of the pairs of a
/// project's records two or three in a thousand are as near.
pub const NEAR: f32 = 0.58;
/// What such a one needs of the best one's relevance, and the share of long words that the two have in common: few
/// records have that, so that vectors are seldom asked for.
const NEAR_SHARE: f32 = 0.4;
const NEAR_LEAST: f32 = 0.2;
const NEAR_WORDS: f32 = 0.25;
/// Letters of a word that says what a text is about, more often than not.
const LONG_WORD: usize = 5;
/// A file that more records cite, or a tag or a wording that more have, makes no companions.
const COMPANIONS_MAX: usize = 4;
/// Most records of one bundle.
const NOTES_MAX: usize = 8;

/// What is chosen of judged notes, best first.
#[derive(Debug)]
pub struct Choice {
    notes: Vec<Note>,
    /// Whether a note is good enough, note by note.
    is_kept: Vec<bool>,
    /// Whether what means nearly the same goes along: not where a place is asked about, and it may be of another one.
    takes_near: bool,
    most: usize,
}

impl Choice {
    /// Those that are good enough by themselves, or belong to the best one by what both name.
    pub fn of(question: &QueryFeatures, notes: Vec<Note>) -> Self {
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
        let Some(best) = notes.first().filter(is_enough) else {
            return Self { notes: Vec::new(), is_kept: Vec::new(), takes_near: false, most: 0 };
        };
        let is_late = matches!(best.record.kind, RecordKind::Fewshot | RecordKind::AdrLink);
        let share = if is_late { LATE_LEAD_SHARE } else { LEAD_SHARE };
        let (citing, tagged) = (Shared::of(best, &notes, files), Shared::of(best, &notes, tags));
        let is_kept = |note: &Note| {
            let has = |least: f32, share: f32| has(note, best, least, share);
            // What has no more in common with an example or a decision than a tag would be shown before it.
            let is_companion = (has(COMPANION_LEAST, CITING_SHARE) && citing.has(note))
                || (!is_late && has(COMPANION_LEAST, TAGGED_SHARE) && tagged.has(note));
            note.is_of_task || has(least, share) || is_companion
        };
        let is_kept = notes.iter().map(is_kept).collect();
        let is_short = bare_words <= SHORT_WORDS && best.relevance < SURE;
        let most = if is_short { 1 } else { NOTES_MAX };
        let takes_near = most > 1 && question.path.is_none() && question.symbols.is_empty();
        Self { notes, is_kept, takes_near, most }
    }

    /// The best one's passage and those of the notes that belong to it if they mean nearly the same ([`NEAR`]); `None`
    /// where nothing hangs on that.
    pub fn in_doubt(&self) -> Option<(PassageId, Vec<PassageId>)> {
        // In other scripts any two texts lie near each other, to the model that is there by default.
        let is_read = |note: &Note| is_latin(&note.hit.passage.indexed.text);
        let best = self.notes.first().filter(|best| self.takes_near && is_read(best))?;
        let words = long_words(best);
        let is_in_doubt = |(note, is_kept): &(&Note, &bool)| {
            !**is_kept
                && has(note, best, NEAR_LEAST, NEAR_SHARE)
                && is_read(note)
                && shared(&words, &long_words(note)) >= NEAR_WORDS
        };
        let notes = self.notes.iter().zip(&self.is_kept).filter(is_in_doubt);
        let passage = |note: &Note| note.hit.passage.indexed.id;
        let passages: Vec<_> = notes.map(|(note, _)| passage(note)).collect();
        (1..=COMPANIONS_MAX).contains(&passages.len()).then(|| (passage(best), passages))
    }

    /// The notes that are chosen, with those of these passages.
    pub fn with(self, near: &[PassageId]) -> Vec<Note> {
        let notes = self.notes.into_iter().zip(self.is_kept);
        let chosen =
            notes.filter(|(note, is_kept)| *is_kept || near.contains(&note.hit.passage.indexed.id));
        chosen.map(|(note, _)| note).take(self.most).collect()
    }
}

/// The words of a note that are long enough to say what it is about, in lower case.
fn long_words(note: &Note) -> HashSet<String> {
    let words = note.hit.passage.indexed.text.split(|c: char| !c.is_alphabetic());
    let long = words.filter(|word| word.chars().nth(LONG_WORD - 1).is_some());
    long.map(str::to_lowercase).collect()
}

/// The share that both have of the words of the one that has fewer.
#[expect(clippy::cast_precision_loss, reason = "words of a note")]
fn shared(one: &HashSet<String>, other: &HashSet<String>) -> f32 {
    let fewer = one.len().min(other.len()).max(1);
    one.intersection(other).count() as f32 / fewer as f32
}

/// Whether a note has this relevance, and this share of the best one's.
fn has(note: &Note, best: &Note, least: f32, share: f32) -> bool {
    note.relevance >= least.max(share * best.relevance)
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
