//! Rows of a golden set, and their labels by the rules alone, the model alone, and both.

use std::sync::Arc;

use mc_domain::{RecordId, RecordKind, Trust};
use mc_memory::distill::{Raw, distill};
use mc_memory::judge::model::{Question, Relation, Verdict};
use mc_memory::judge::{Action, Candidate, Known, ParsedNote, judge, reject};
use mc_memory::normalize::content_hash;
use serde::Deserialize;

/// A labeled row of a golden set.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// Identifier.
    #[expect(dead_code, reason = "each row has to have it")]
    id: String,
    /// The part of the set, such as `tune` or `report`.
    pub split: String,
    /// Language of the texts.
    #[expect(dead_code, reason = "each row has to have it")]
    lang: String,
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
            trust: Trust::Team,
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
        let incoming = Candidate::of_text(self.kind, &content, verdict.cloned());
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
        distill(&Raw::of_text(self.kind, self.content())).content
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
