//! What to do with a note: keep it, merge it into what is known, let it replace that, or turn it
//! away; by simhash, cosine and the words themselves, without a model.

pub mod compare;
pub mod note;
mod note_cache;
mod usefulness;

use std::sync::Arc;

use mc_domain::{RecordId, RecordKind};

pub use compare::{Comparison, Difference, compare};
pub use note::ParsedNote;
pub(crate) use note_cache::NoteCache;
pub use usefulness::{Evidence, Reject, reject, usefulness};

/// Near duplicates by their words whose vectors lie further apart than this stay two records.
/// Measured with the int8 all-MiniLM-L6-v2: a note and its copy with typos or a changed order
/// stay above it, and it is only a second opinion, since notes that differ in one number lie
/// above 0.95 as well.
pub(crate) const MERGE_COSINE_MIN: f32 = 0.60;

/// A contradiction replaces the nearest record only when that is at least this similar
/// ([`similarity`]): below it, "the nearest" is about something else.
const CONTRADICTION_SIMILARITY_MIN: f32 = 0.35;

/// And only when it shares at least this much of the words: a cosine alone says that two notes are
/// about the same part of the system.
const CONTRADICTION_WORDS_MIN: f32 = 0.1;

/// Notes that share this much of their words are about the same.
const NEAR_WORDS_MIN: f32 = 0.5;

/// How many bits of simhash may lie between a note and a candidate worth comparing (two
/// unrelated texts differ in 32 on average; four standard deviations are 16).
pub const CANDIDATE_DISTANCE_MAX: u32 = 20;

/// A note to be judged.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What sort of knowledge it is.
    pub kind: RecordKind,
    /// Its distilled content, taken apart.
    pub note: Arc<ParsedNote>,
    /// [`crate::normalize::content_hash`] of the content.
    pub content_hash: [u8; 32],
    /// Whether it contradicts what is known, in its sender's words.
    pub contradicts: bool,
    /// The record that it replaces, in its sender's words.
    pub supersedes: Option<RecordId>,
    /// 0 to 1, by [`usefulness`].
    pub usefulness: f32,
}

/// A live record that may say the same.
#[derive(Debug, Clone)]
pub struct Known {
    /// Identifier.
    pub id: RecordId,
    /// What sort of knowledge it is.
    pub kind: RecordKind,
    /// Its content, taken apart.
    pub note: Arc<ParsedNote>,
    /// Hash of its normalized content.
    pub content_hash: Vec<u8>,
    /// Cosine similarity of its vector and the note's, where both have one.
    pub cosine: Option<f32>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Add a record.
    Create,
    /// Bring an existing record up to date.
    Merge {
        /// The record.
        into: RecordId,
        /// Whether it says exactly the same.
        exact: bool,
    },
}

/// The judge's decision with its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// What to do.
    pub action: Action,
    /// Records that the note replaces.
    pub supersede: Vec<RecordId>,
    /// The nearest record that it may contradict without replacing it.
    pub contradicts: Option<Contradiction>,
    /// Why, in a sentence for people.
    pub reason: String,
    /// The scores that led there.
    pub scores: Scores,
}

impl Judgment {
    /// The known records that are to change.
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
    /// The record.
    pub id: RecordId,
    /// What it says.
    pub content: String,
    /// What sets the two apart.
    pub difference: Difference,
}

/// Scores of a note, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// How little of it was known before.
    pub novelty: f32,
    /// How sure it is that a record says the same already.
    pub dup: f32,
    /// How much it may help.
    pub usefulness: f32,
}

/// A known record beside the note.
struct Pair<'a> {
    known: &'a Known,
    comparison: Comparison,
    exact: bool,
}

impl Pair<'_> {
    fn similarity(&self) -> f32 {
        similarity(self.comparison.jaccard, self.known.cosine)
    }

    fn says_the_same(&self) -> bool {
        let agrees = self.known.cosine.is_none_or(|cosine| cosine >= MERGE_COSINE_MIN);
        self.exact || (self.comparison.difference.is_none() && agrees)
    }
}

/// Judges a note against the records that may say the same.
pub fn judge(incoming: &Candidate, known: &[Known]) -> Judgment {
    let mut pairs: Vec<_> = known.iter().map(|known| pair(incoming, known)).collect();
    pairs.sort_by(|a, b| {
        b.exact
            .cmp(&a.exact)
            .then(b.similarity().total_cmp(&a.similarity()))
            .then(a.known.id.cmp(&b.known.id))
    });
    let duplicate = pairs
        .iter()
        .find(|pair| {
            pair.exact || (pair.says_the_same() && mergeable(incoming.kind, pair.known.kind))
        })
        // Replacing a record by name means that it does not say the same, whatever it looks like.
        .filter(|pair| pair.exact || incoming.supersedes != Some(pair.known.id))
        .filter(|pair| pair.exact || !incoming.contradicts);
    let replaced = replaced(incoming, &pairs, duplicate.map(|pair| pair.known.id));
    let contradicts = contradicted(incoming, &pairs, duplicate, &replaced);
    let scores = scores(&pairs, duplicate, incoming.usefulness);
    let reason = reason(incoming, &pairs, duplicate, &replaced);
    let action = match duplicate {
        Some(pair) => Action::Merge { into: pair.known.id, exact: pair.exact },
        None => Action::Create,
    };
    Judgment { action, supersede: replaced, contradicts, reason, scores }
}

/// How near two notes are, 0 to 1: the mean of shared words and cosine, where there is one.
pub fn similarity(jaccard: f32, cosine: Option<f32>) -> f32 {
    match cosine {
        Some(cosine) => f32::midpoint(jaccard, cosine.clamp(0.0, 1.0)),
        None => jaccard,
    }
}

/// Whether notes of two kinds can be one record: statements can, worked examples and links only
/// with their own kind.
pub(crate) fn mergeable(a: RecordKind, b: RecordKind) -> bool {
    let is_statement = |kind| !matches!(kind, RecordKind::Fewshot | RecordKind::AdrLink);
    a == b || (is_statement(a) && is_statement(b))
}

fn pair<'a>(incoming: &Candidate, known: &'a Known) -> Pair<'a> {
    Pair {
        known,
        comparison: compare(&incoming.note, &known.note),
        exact: known.content_hash == incoming.content_hash,
    }
}

/// The records that the note replaces: the one that it names, and the nearest related one of its
/// sort when it says that it contradicts. A note that is known already replaces none by itself: it
/// may be the same save once more, whose contradiction is settled.
fn replaced(
    incoming: &Candidate,
    pairs: &[Pair<'_>],
    duplicate: Option<RecordId>,
) -> Vec<RecordId> {
    let named = incoming.supersedes;
    let nearest = pairs
        .iter()
        .filter(|pair| {
            incoming.contradicts && named.is_none() && duplicate.is_none() && !pair.exact
        })
        .filter(|pair| mergeable(incoming.kind, pair.known.kind))
        .filter(|pair| pair.comparison.jaccard >= CONTRADICTION_WORDS_MIN)
        .filter(|pair| pair.similarity() >= CONTRADICTION_SIMILARITY_MIN)
        .map(|pair| pair.known.id)
        .next();
    named.into_iter().chain(nearest).filter(|id| Some(*id) != duplicate).collect()
}

/// The nearest record of the note's sort that says the same of the same but for a number, an
/// identifier, a denial, an operator or who does what to whom, and that is neither merged into nor
/// replaced.
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
        let difference =
            irreconcilable(&incoming.note, &pair.known.note, &pair.comparison)?.clone();
        let (id, content) = (pair.known.id, pair.known.note.text().to_owned());
        Some(Contradiction { id, content, difference })
    })
}

/// What sets two notes apart that speak of the same and can't both hold; `None` for others.
pub fn disagreement(a: &ParsedNote, b: &ParsedNote) -> Option<Difference> {
    irreconcilable(a, b, &compare(a, b)).cloned()
}

fn irreconcilable<'a>(
    a: &ParsedNote,
    b: &ParsedNote,
    comparison: &'a Comparison,
) -> Option<&'a Difference> {
    let difference = comparison.difference.as_ref()?;
    let speak_of_the_same = comparison.jaccard >= NEAR_WORDS_MIN;
    (speak_of_the_same && is_contradiction(difference, a, b)).then_some(difference)
}

/// Whether two notes that are near each other can't both hold. A number that only one of them has
/// is a detail; one in the place of another is not.
fn is_contradiction(difference: &Difference, note: &ParsedNote, known: &ParsedNote) -> bool {
    match difference {
        Difference::Frame(_) | Difference::Symbol(_) | Difference::Swapped(..) => true,
        Difference::Mark(_) => {
            let lacks = |one: &ParsedNote, other: &ParsedNote| {
                one.marks.iter().any(|mark| !other.spelled.contains(mark))
            };
            lacks(note, known) && lacks(known, note)
        }
        Difference::Quote(_) | Difference::Words(..) | Difference::Extent => false,
    }
}

fn scores(pairs: &[Pair<'_>], duplicate: Option<&Pair<'_>>, usefulness: f32) -> Scores {
    /// What is left of a similarity between notes that are known to differ.
    const APART: f32 = 0.4;
    let dup = match duplicate {
        Some(pair) if pair.exact => 1.0,
        Some(pair) => pair.similarity().max(0.9),
        None => APART * pairs.first().map_or(0.0, Pair::similarity),
    };
    let familiar = pairs.iter().map(Pair::similarity).fold(0.0, f32::max);
    let novelty = if duplicate.is_some() { 1.0 - dup } else { 1.0 - 0.7 * familiar };
    Scores { novelty: novelty.clamp(0.0, 1.0), dup: dup.clamp(0.0, 1.0), usefulness }
}

fn reason(
    incoming: &Candidate,
    pairs: &[Pair<'_>],
    duplicate: Option<&Pair<'_>>,
    replaced: &[RecordId],
) -> String {
    if let Some(pair) = duplicate {
        return if pair.exact {
            let hint = if incoming.contradicts && replaced.is_empty() {
                "; to replace another record, name it in supersedes"
            } else {
                ""
            };
            format!("record {} says exactly this{hint}", pair.known.id)
        } else {
            format!(
                "record {} says the same in other words (similarity {:.2})",
                pair.known.id,
                pair.similarity()
            )
        };
    }
    if let Some(id) = replaced.first() {
        return match incoming.supersedes {
            Some(_) => format!("it replaces record {id}, as asked"),
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
