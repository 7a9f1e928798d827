//! Selecting the records of a bundle. A bundle is not filled for its own sake: a record that does
//! not help costs the reader more than its tokens.

use std::collections::HashSet;

use mc_domain::{PassageId, RecordKind};

use super::relevance::RankedRecord;
use crate::confidence::{QueryFeatures, is_latin};

/// Least relevance of a record: no record is better than a guess.
const RELEVANCE_MIN: f32 = 0.335;
/// Least relevance if the query seeks places, as a record is then second choice.
const RELEVANCE_MIN_BESIDE_PLACES: f32 = 0.55;
/// For a vague query (`make it faster`), the best record has to have max of its words or be near
/// in meaning: something of both is chance.
const VAGUE_WORDS: usize = 2;
const VAGUE_COVERAGE: f32 = 0.5;
const VAGUE_SIMILARITY: f32 = 0.4;
/// A short query (`fix the failing test`) gets one record, unless that one is surely about it.
const SHORT_WORDS: usize = 3;
const SURE_RELEVANCE: f32 = 0.6;
/// Share of the best record's relevance that the others need.
const LEAD_SHARE: f32 = 0.92;
/// The share if the best is an example or a decision, which a statement often completes.
const EXAMPLE_LEAD_SHARE: f32 = 0.9;
/// The share for a companion of the best record that cites the same code.
const CITING_SHARE: f32 = 0.5;
/// The share for a companion with a tag in common.
const TAGGED_SHARE: f32 = 0.8;
const COMPANION_RELEVANCE_MIN: f32 = 0.25;
/// Cosine similarity from which a record belongs to the best one. Two or three in a thousand pairs
/// of a project's records are as near.
pub const NEAR_COSINE: f32 = 0.58;
/// The share for such a record, its least relevance, and the share of long words in common. Few
/// records have these, so vectors are seldom compared.
const NEAR_SHARE: f32 = 0.4;
const NEAR_RELEVANCE_MIN: f32 = 0.2;
const NEAR_WORD_SHARE: f32 = 0.25;
/// Letters of a word that usually says what a text is about.
const LONG_WORD_LETTERS: usize = 5;
/// A file, tag or wording that more records share makes no companions.
const COMPANIONS_MAX: usize = 4;
/// Most records of one bundle.
const NOTES_MAX: usize = 8;

/// Ranked records, and which of them are selected.
#[derive(Debug)]
pub struct Selection {
    records: Vec<RankedRecord>,
    is_selected: Vec<bool>,
    /// Whether records near in meaning are selected, too: not if the query names a place.
    includes_near: bool,
    max: usize,
}

impl Selection {
    /// Selects records that are good by themselves, and those that share names with the best one.
    pub fn of(features: &QueryFeatures, records: Vec<RankedRecord>) -> Self {
        let bare_words = features.bare_words().unwrap_or(usize::MAX);
        let least = if features.seeks_places { RELEVANCE_MIN_BESIDE_PLACES } else { RELEVANCE_MIN };
        let is_about_it = |record: &RankedRecord| {
            let (coverage, similarity) = (record.hit.coverage, record.hit.similarity);
            bare_words > VAGUE_WORDS
                || coverage.is_some_and(|share| share >= VAGUE_COVERAGE)
                || similarity.is_some_and(|cosine| cosine >= VAGUE_SIMILARITY)
        };
        let is_enough = |best: &&RankedRecord| {
            best.is_of_task || (best.relevance >= least && is_about_it(best))
        };
        let Some(best) = records.first().filter(is_enough) else {
            return Self {
                records: Vec::new(),
                is_selected: Vec::new(),
                includes_near: false,
                max: 0,
            };
        };
        let is_example = matches!(best.facet.kind, RecordKind::Fewshot | RecordKind::AdrLink);
        let share = if is_example { EXAMPLE_LEAD_SHARE } else { LEAD_SHARE };
        let (citing, tagged) =
            (Shared::of(best, &records, files), Shared::of(best, &records, tags));
        let is_selected = |record: &RankedRecord| {
            let has = |least: f32, share: f32| has(record, best, least, share);
            // A shared tag is too little next to an example, which the record would precede.
            let is_companion = (has(COMPANION_RELEVANCE_MIN, CITING_SHARE) && citing.has(record))
                || (!is_example
                    && has(COMPANION_RELEVANCE_MIN, TAGGED_SHARE)
                    && tagged.has(record));
            record.is_of_task || has(least, share) || is_companion
        };
        let is_selected = records.iter().map(is_selected).collect();
        let is_short = bare_words <= SHORT_WORDS && best.relevance < SURE_RELEVANCE;
        let max = if is_short { 1 } else { NOTES_MAX };
        let includes_near = max > 1 && features.path.is_none() && features.symbols.is_empty();
        Self { records, is_selected, includes_near, max }
    }

    /// Returns the best record's passage and the passages whose selection depends on their
    /// similarity to it ([`NEAR_COSINE`]), or `None` if there are none.
    pub fn undecided(&self) -> Option<(PassageId, Vec<PassageId>)> {
        // In scripts other than Latin, the default model places any two texts near each other.
        let is_read = |record: &RankedRecord| is_latin(&record.hit.passage.indexed.text);
        let best = self.records.first().filter(|best| self.includes_near && is_read(best))?;
        let words = long_words(best);
        let is_undecided = |(record, is_selected): &(&RankedRecord, &bool)| {
            !**is_selected
                && has(record, best, NEAR_RELEVANCE_MIN, NEAR_SHARE)
                && is_read(record)
                && shared(&words, &long_words(record)) >= NEAR_WORD_SHARE
        };
        let records = self.records.iter().zip(&self.is_selected).filter(is_undecided);
        let passage = |record: &RankedRecord| record.hit.passage.indexed.id;
        let passages: Vec<_> = records.map(|(record, _)| passage(record)).collect();
        (1..=COMPANIONS_MAX).contains(&passages.len()).then(|| (passage(best), passages))
    }

    /// Returns the selected records, and those of these passages.
    pub fn with(self, near: &[PassageId]) -> Vec<RankedRecord> {
        let records = self.records.into_iter().zip(self.is_selected);
        let selected = records.filter(|(record, is_selected)| {
            *is_selected || near.contains(&record.hit.passage.indexed.id)
        });
        selected.map(|(record, _)| record).take(self.max).collect()
    }
}

/// Returns the long words of a record's text, in lower case.
fn long_words(record: &RankedRecord) -> HashSet<String> {
    let words = record.hit.passage.indexed.text.split(|c: char| !c.is_alphabetic());
    let long = words.filter(|word| word.chars().nth(LONG_WORD_LETTERS - 1).is_some());
    long.map(str::to_lowercase).collect()
}

/// Returns the share of words in common, of the text with fewer words.
#[expect(clippy::cast_precision_loss, reason = "words of a record")]
fn shared(one: &HashSet<String>, other: &HashSet<String>) -> f32 {
    let fewer = one.len().min(other.len()).max(1);
    one.intersection(other).count() as f32 / fewer as f32
}

/// Whether a record has this relevance and this share of the best one's.
fn has(record: &RankedRecord, best: &RankedRecord, least: f32, share: f32) -> bool {
    record.relevance >= least.max(share * best.relevance)
}

/// Names of one kind that the best record shares with few others.
struct Shared {
    rare: Vec<String>,
    names: fn(&RankedRecord) -> HashSet<&str>,
}

impl Shared {
    fn of(
        best: &RankedRecord,
        records: &[RankedRecord],
        names: fn(&RankedRecord) -> HashSet<&str>,
    ) -> Self {
        let count =
            |name: &str| records.iter().filter(|record| names(record).contains(name)).count();
        let rare = names(best).into_iter().filter(|name| count(name) <= COMPANIONS_MAX);
        Self { rare: rare.map(str::to_owned).collect(), names }
    }

    fn has(&self, record: &RankedRecord) -> bool {
        let names = (self.names)(record);
        self.rare.iter().any(|rare| names.contains(rare.as_str()))
    }
}

/// Returns the files that a record cites.
fn files(record: &RankedRecord) -> HashSet<&str> {
    record.citations.iter().map(|citation| citation.file.as_str()).collect()
}

fn tags(record: &RankedRecord) -> HashSet<&str> {
    record.hit.passage.indexed.tags.iter().map(String::as_str).collect()
}
