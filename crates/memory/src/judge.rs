//! The judge: decides by simhash, cosine and words whether a note becomes a new record, merges into
//! a known one, or replaces some. A chat model may give its opinion before ([`model`]). The flow of
//! [`judge()`]:
//!
//! 1. Before it, [`reject`] drops notes that say too little.
//! 2. A `Pair` compares the note with each known record ([`compare()`]): equal hash, or words,
//!    numbers, denials and their order.
//! 3. A record with the same hash, or without a difference and with a cosine of at least
//!    [`MERGE_COSINE_MIN`], makes the note a duplicate: `Action::Merge`.
//! 4. `replaced` finds the records that the note names, or contradicts in its sender's words.
//! 5. `contradicted` finds a record that cannot hold together with the note and is not replaced.
//! 6. `Verdict::revise` applies the opinion of a model, within the limits of these rules.

pub mod compare;
pub mod model;
pub mod note;
mod note_cache;
mod usefulness;

use std::sync::Arc;

use mc_domain::{RecordId, RecordKind, Trust};

pub use compare::{Comparison, Difference, compare};
pub use model::{Doubt, Verdict};
pub use note::ParsedNote;
pub(crate) use note_cache::NoteCache;
pub use usefulness::{Evidence, Reject, reject, usefulness};

use crate::normalize::content_hash;

/// Least cosine at which near duplicates by words merge. Measured with the int8 all-MiniLM-L6-v2: a
/// note and its copy with typos or another order stay above it. It is only a second opinion, as
/// notes that differ in one number have more than 0.95, too.
pub(crate) const MERGE_COSINE_MIN: f32 = 0.60;

/// Least similarity ([`Pair::similarity`]) at which a contradiction replaces the nearest record,
/// and at which the word of a chat model is enough to report one. Below it, the nearest is about
/// something else.
const CONTRADICTION_SIMILARITY_MIN: f32 = 0.35;

/// Least share of words for that: a cosine alone only shows that both are about the same part.
const CONTRADICTION_WORDS_MIN: f32 = 0.1;

/// Share of words from which two notes are about the same subject.
const NEAR_WORDS_MIN: f32 = 0.5;

/// Most bits of simhash between a note and a record worth comparing. Two unrelated texts differ in
/// 32 on average; four standard deviations are 16.
pub const CANDIDATE_DISTANCE_MAX: u32 = 20;

/// A note to judge.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// Its distilled content, parsed.
    pub note: Arc<ParsedNote>,
    /// [`crate::normalize::content_hash`] of the content.
    pub content_hash: Vec<u8>,
    /// Whether its sender says that it contradicts a known record.
    pub contradicts: bool,
    /// The record that its sender says it replaces.
    pub supersedes: Option<RecordId>,
    /// Score by [`usefulness`], 0 to 1.
    pub usefulness: f32,
    /// The opinion of a chat model, if one was asked.
    pub verdict: Option<Verdict>,
}

impl Candidate {
    /// Returns a text of which only its content and the opinion of a chat model are known.
    pub fn of_text(kind: RecordKind, content: &str, verdict: Option<Verdict>) -> Self {
        Self {
            kind,
            note: Arc::new(ParsedNote::read(content)),
            content_hash: content_hash(content),
            contradicts: false,
            supersedes: None,
            usefulness: 1.0,
            verdict,
        }
    }
}

/// A live record that the note may duplicate.
#[derive(Debug, Clone)]
pub struct Known {
    /// Identifier.
    pub id: RecordId,
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// Whether its text may be trusted.
    pub trust: Trust,
    /// Its content, parsed.
    pub note: Arc<ParsedNote>,
    /// Hash of its normalized content.
    pub content_hash: Vec<u8>,
    /// Cosine similarity of its vector to the note's, if both have one.
    pub cosine: Option<f32>,
}

/// How a note is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Create a record.
    Create,
    /// Update an existing record.
    Merge {
        /// Id of the record that takes over the note.
        into: RecordId,
        /// Why both are the same.
        basis: MergeBasis,
    },
}

/// Why a note and a record are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeBasis {
    /// Their content hashes are equal.
    Hash,
    /// Their words and vectors agree.
    Words,
    /// A chat model finds so, and no rule objects.
    Model,
}

/// The judge's decision with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// How the note is stored.
    pub action: Action,
    /// Records that the note replaces.
    pub supersede: Vec<RecordId>,
    /// The nearest record that it may contradict without replacing it.
    pub contradicts: Option<Contradiction>,
    /// The reason, in a sentence for people.
    pub reason: String,
    /// The scores behind the decision.
    pub scores: Scores,
    /// Why a chat model would not keep the note, if it would not.
    pub doubt: Option<Doubt>,
}

impl Judgment {
    /// Whether a person decides, since only a chat model objects to a new record.
    pub fn needs_review(&self) -> bool {
        let is_same_by_model =
            matches!(self.action, Action::Merge { basis: MergeBasis::Model, .. });
        self.doubt.is_some() || is_same_by_model
    }

    /// Returns the known records that the judgment changes.
    pub fn touches(&self) -> Vec<RecordId> {
        let merged = match self.action {
            Action::Merge { into, .. } => Some(into),
            Action::Create => None,
        };
        merged.into_iter().chain(self.supersede.iter().copied()).collect()
    }
}

/// A known record that a note seems to contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Id of the record.
    pub id: RecordId,
    /// Text of the record.
    pub content: String,
    /// How the two differ.
    pub difference: Difference,
}

/// Scores of a note, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// How new the note is.
    pub novelty: f32,
    /// Certainty that a record says the same already.
    pub dup: f32,
    /// How much the note may help.
    pub usefulness: f32,
}

/// A known record compared with the note.
struct Pair<'a> {
    known: &'a Known,
    comparison: Comparison,
    exact: bool,
}

impl Pair<'_> {
    /// Returns the similarity, 0 to 1: the mean of shared words and cosine, if there is one.
    fn similarity(&self) -> f32 {
        let jaccard = self.comparison.jaccard;
        let cosine = self.known.cosine.map(|cosine| cosine.clamp(0.0, 1.0));
        cosine.map_or(jaccard, |cosine| f32::midpoint(jaccard, cosine))
    }

    fn is_same_statement(&self) -> bool {
        let agrees = self.known.cosine.is_none_or(|cosine| cosine >= MERGE_COSINE_MIN);
        self.exact || (self.comparison.difference.is_none() && agrees)
    }
}

/// Judges a note against the known records that it may duplicate.
pub fn judge(incoming: &Candidate, known: &[Known]) -> Judgment {
    let pairs = known.iter().map(|known| Pair {
        known,
        comparison: compare(&incoming.note, &known.note),
        exact: known.content_hash == incoming.content_hash,
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by(|a, b| {
        b.exact
            .cmp(&a.exact)
            .then(b.similarity().total_cmp(&a.similarity()))
            .then(a.known.id.cmp(&b.known.id))
    });
    let duplicate = pairs
        .iter()
        .find(|pair| {
            pair.exact || (pair.is_same_statement() && mergeable(incoming.kind, pair.known.kind))
        })
        // A record that the note replaces or contradicts does not say the same.
        .filter(|pair| pair.exact || incoming.supersedes != Some(pair.known.id))
        .filter(|pair| pair.exact || !incoming.contradicts);
    let replaced = replaced(incoming, &pairs, duplicate.map(|pair| pair.known.id));
    let contradicts = contradicted(incoming, &pairs, duplicate, &replaced);
    let scores = scores(&pairs, duplicate, incoming.usefulness);
    let reason = reason(incoming, &pairs, duplicate, &replaced);
    let action = match duplicate {
        Some(pair) => {
            let basis = if pair.exact { MergeBasis::Hash } else { MergeBasis::Words };
            Action::Merge { into: pair.known.id, basis }
        }
        None => Action::Create,
    };
    let judgment =
        Judgment { action, supersede: replaced, contradicts, reason, scores, doubt: None };
    match &incoming.verdict {
        Some(verdict) => verdict.revise(judgment, incoming, &pairs),
        None => judgment,
    }
}

/// Whether notes of two kinds can be one record: statements, or both examples or links.
pub(crate) fn mergeable(a: RecordKind, b: RecordKind) -> bool {
    let is_statement = |kind| !matches!(kind, RecordKind::Fewshot | RecordKind::AdrLink);
    a == b || (is_statement(a) && is_statement(b))
}

/// Returns the records that the note replaces: the named one, and with `contradicts` the nearest
/// related one of a mergeable kind. A duplicate replaces none by itself, as it may be a retry of a
/// save whose contradiction is settled.
fn replaced(
    incoming: &Candidate,
    pairs: &[Pair<'_>],
    duplicate: Option<RecordId>,
) -> Vec<RecordId> {
    let named = incoming.supersedes;
    let replaces_nearest = incoming.contradicts && named.is_none() && duplicate.is_none();
    let is_near = |pair: &&Pair<'_>| {
        !pair.exact
            && mergeable(incoming.kind, pair.known.kind)
            && pair.comparison.jaccard >= CONTRADICTION_WORDS_MIN
            && pair.similarity() >= CONTRADICTION_SIMILARITY_MIN
    };
    let nearest = pairs.iter().find(|pair| replaces_nearest && is_near(pair));
    let nearest = nearest.map(|pair| pair.known.id);
    named.into_iter().chain(nearest).filter(|id| Some(*id) != duplicate).collect()
}

/// Returns the nearest mergeable record that contradicts the note and is neither merged into nor
/// replaced: one with another number, identifier, denial, operator or order of roles.
fn contradicted(
    incoming: &Candidate,
    pairs: &[Pair<'_>],
    duplicate: Option<&Pair<'_>>,
    replaced: &[RecordId],
) -> Option<Contradiction> {
    let mut others = pairs.iter().filter(|pair| {
        let id = pair.known.id;
        mergeable(incoming.kind, pair.known.kind)
            && duplicate.is_none_or(|duplicate| duplicate.known.id != id)
            && !replaced.contains(&id)
    });
    others.find_map(|pair| {
        let difference = contradiction(&incoming.note, &pair.known.note, &pair.comparison)?.clone();
        let (id, content) = (pair.known.id, pair.known.note.text().to_owned());
        Some(Contradiction { id, content, difference })
    })
}

/// Returns how two notes about the same subject contradict each other, if they do.
pub fn disagreement(a: &ParsedNote, b: &ParsedNote) -> Option<Difference> {
    contradiction(a, b, &compare(a, b)).cloned()
}

fn contradiction<'a>(
    a: &ParsedNote,
    b: &ParsedNote,
    comparison: &'a Comparison,
) -> Option<&'a Difference> {
    let difference = comparison.difference.as_ref()?;
    let speak_of_the_same = comparison.jaccard >= NEAR_WORDS_MIN;
    (speak_of_the_same && is_contradiction(difference, a, b)).then_some(difference)
}

/// Whether two similar notes contradict each other. A number that only one has is a detail; a
/// number in place of another is not.
fn is_contradiction(difference: &Difference, note: &ParsedNote, known: &ParsedNote) -> bool {
    match difference {
        Difference::Frame(_) | Difference::Symbol(_) | Difference::Swapped(..) => true,
        Difference::Mark(_) => {
            let lacks = |one: &ParsedNote, other: &ParsedNote| {
                one.marks.iter().any(|mark| !other.spelled.contains(mark))
            };
            lacks(note, known) && lacks(known, note)
        }
        Difference::Quote(_)
        | Difference::Words(..)
        | Difference::Extent
        | Difference::Statement => false,
    }
}

fn scores(pairs: &[Pair<'_>], duplicate: Option<&Pair<'_>>, usefulness: f32) -> Scores {
    /// Factor on the similarity of notes that are known to differ.
    const DIFFERENT_FACTOR: f32 = 0.4;
    let dup = match duplicate {
        Some(pair) if pair.exact => 1.0,
        Some(pair) => pair.similarity().max(0.9),
        None => DIFFERENT_FACTOR * pairs.first().map_or(0.0, Pair::similarity),
    };
    let max_similarity = pairs.iter().map(Pair::similarity).fold(0.0, f32::max);
    let novelty = if duplicate.is_some() { 1.0 - dup } else { 1.0 - 0.7 * max_similarity };
    Scores { novelty: novelty.clamp(0.0, 1.0), dup: dup.clamp(0.0, 1.0), usefulness }
}

fn reason(
    incoming: &Candidate,
    pairs: &[Pair<'_>],
    duplicate: Option<&Pair<'_>>,
    replaced: &[RecordId],
) -> String {
    if let Some(pair) = duplicate {
        let id = pair.known.id;
        if !pair.exact {
            let similarity = pair.similarity();
            return format!(
                "record {id} says the same in other words (similarity {similarity:.2})"
            );
        }
        let hint = if incoming.contradicts && replaced.is_empty() {
            "; to replace another record, name it in supersedes"
        } else {
            ""
        };
        return format!("record {id} says exactly this{hint}");
    }
    if let Some(id) = replaced.first() {
        return match incoming.supersedes {
            Some(_) => format!("it replaces record {id}, as requested"),
            None => format!("it contradicts record {id}, the nearest one"),
        };
    }
    let nearest = match pairs.first() {
        None => "nothing like it is known".to_owned(),
        Some(Pair { known, comparison, .. }) => match &comparison.difference {
            Some(difference) if comparison.jaccard >= NEAR_WORDS_MIN => {
                format!("record {} is near, but {difference}", known.id)
            }
            _ => "nothing that says the same is known".to_owned(),
        },
    };
    if incoming.contradicts {
        format!("{nearest}; no record is near enough to be the one that it contradicts")
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests;
