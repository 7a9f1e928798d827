//! Evaluation of the judge on labeled notes and pairs: the rules alone, the model alone, and both.

use std::collections::BTreeMap;
use std::sync::Arc;

use mc_domain::{RecordId, RecordKind};
use serde::{Deserialize, Serialize};

use super::model::{Question, Relation, Verdict};
use super::{Action, Candidate, Known, ParsedNote, judge, reject};
use crate::distill::{Raw, distill};
use crate::normalize::content_hash;

/// A labeled row of a golden set.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// Identifier.
    pub id: String,
    /// The part of the set, such as `tune` or `report`.
    pub split: String,
    /// Language of the texts.
    pub lang: String,
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// What is labeled.
    #[serde(flatten)]
    pub labeled: Labeled,
}

/// A note, or a note with a known one.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Labeled {
    /// Whether a note is worth keeping.
    Note {
        /// Its text.
        content: String,
        /// The label.
        label: NoteLabel,
    },
    /// How a note relates to a known one.
    Pair {
        /// Text of the known note.
        known: String,
        /// Text of the note.
        note: String,
        /// The label.
        label: Relation,
    },
}

/// Whether a note is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteLabel {
    /// It helps a colleague.
    Keep,
    /// It does not.
    Reject,
}

impl Row {
    /// Returns the text of the note.
    pub fn content(&self) -> &str {
        match &self.labeled {
            Labeled::Note { content, .. } => content,
            Labeled::Pair { note, .. } => note,
        }
    }

    /// Returns the text of the known note, if there is one.
    pub fn known(&self) -> Option<&str> {
        match &self.labeled {
            Labeled::Note { .. } => None,
            Labeled::Pair { known, .. } => Some(known),
        }
    }

    /// Returns the name of the label.
    pub fn label(&self) -> &'static str {
        match &self.labeled {
            Labeled::Note { label, .. } => note_name(*label == NoteLabel::Keep),
            Labeled::Pair { label, .. } => relation_name(*label),
        }
    }

    /// Returns the known record of the row. `cosine` is that of both texts.
    pub fn known_record(&self, cosine: Option<f32>) -> Option<Known> {
        let text = self.known()?;
        Some(Known {
            id: RecordId::generate(),
            kind: self.kind,
            note: Arc::new(ParsedNote::read(text)),
            content_hash: content_hash(text),
            cosine,
        })
    }

    /// Returns the question for a model.
    pub fn question(&self) -> Question<'_> {
        Question { kind: self.kind, title: "", content: self.content() }
    }

    /// Returns the label that the judge gives, with a verdict of the model or by the rules alone.
    pub fn judged(&self, known: Option<&Known>, verdict: Option<&Verdict>) -> &'static str {
        let content = self.distilled();
        let Some(known) = known else {
            let is_doubted = verdict.is_some_and(|verdict| verdict.doubt.is_some());
            return note_name(reject(&content).is_none() && !is_doubted);
        };
        let incoming = Candidate {
            kind: self.kind,
            note: Arc::new(ParsedNote::read(&content)),
            content_hash: content_hash(&content),
            contradicts: false,
            supersedes: None,
            usefulness: 1.0,
            verdict: verdict.cloned(),
        };
        let judgment = judge(&incoming, std::slice::from_ref(known));
        relation_name(match (judgment.action, judgment.contradicts) {
            (Action::Merge { .. }, _) => Relation::Same,
            (Action::Create, Some(_)) => Relation::Replaces,
            (Action::Create, None) => Relation::Different,
        })
    }

    /// Returns the label that the model gives alone.
    pub fn by_model(&self, verdict: &Verdict) -> &'static str {
        match &self.labeled {
            Labeled::Note { .. } => note_name(verdict.doubt.is_none()),
            Labeled::Pair { .. } => {
                let relation = verdict.relations.first().map(|(_, relation)| *relation);
                relation_name(relation.unwrap_or(Relation::Different))
            }
        }
    }

    fn distilled(&self) -> String {
        let raw = Raw {
            kind: self.kind,
            content: self.content(),
            title: None,
            scope: &[],
            tags: &[],
            files: &[],
            symbols: &[],
        };
        distill(&raw).content
    }
}

fn note_name(is_kept: bool) -> &'static str {
    if is_kept { "keep" } else { "reject" }
}

fn relation_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Same => "same",
        Relation::Replaces => "replaces",
        Relation::Different => "different",
    }
}

/// Counts of rows by their label and the judge's.
#[derive(Debug, Clone, Default)]
pub struct Confusion(BTreeMap<(&'static str, &'static str), u32>);

/// Figures of one label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LabelFigures {
    /// Number of rows with the label.
    pub count: u32,
    /// Share of rows that the judge gave the label, that have it; null without such rows.
    pub precision: Option<f64>,
    /// Share of rows with the label, that the judge gave it; null without such rows.
    pub recall: Option<f64>,
}

impl Confusion {
    /// Counts a row.
    pub fn add(&mut self, label: &'static str, judged: &'static str) {
        *self.0.entry((label, judged)).or_default() += 1;
    }

    /// Returns the number of rows.
    pub fn count(&self) -> u32 {
        self.0.values().sum()
    }

    /// Returns the share of rows with the same label, 0 to 1; 0 without rows.
    pub fn agreement(&self) -> f64 {
        share(self.sum(|label, judged| label == judged), self.count()).unwrap_or_default()
    }

    /// Returns the figures of a label.
    pub fn of(&self, name: &str) -> LabelFigures {
        let both = self.sum(|label, judged| label == name && judged == name);
        let count = self.sum(|label, _| label == name);
        let judged = self.sum(|_, judged| judged == name);
        LabelFigures { count, precision: share(both, judged), recall: share(both, count) }
    }

    /// Returns the counts by label and the judge's label.
    pub fn cells(&self) -> impl Iterator<Item = (&'static str, &'static str, u32)> {
        self.0.iter().map(|((label, judged), count)| (*label, *judged, *count))
    }

    fn sum(&self, is_counted: impl Fn(&str, &str) -> bool) -> u32 {
        let counted = self.0.iter().filter(|((label, judged), _)| is_counted(label, judged));
        counted.map(|(_, count)| count).sum()
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_label_are_precision_and_recall() {
        let mut confusion = Confusion::default();
        for (label, judged) in [("keep", "keep"), ("keep", "reject"), ("reject", "reject")] {
            confusion.add(label, judged);
        }
        assert!((confusion.agreement() - 2.0 / 3.0).abs() < 1e-12);
        let figures = confusion.of("reject");
        assert_eq!((figures.count, figures.precision, figures.recall), (1, Some(0.5), Some(1.0)));
        assert_eq!(confusion.of("same").recall, None);
    }
}
