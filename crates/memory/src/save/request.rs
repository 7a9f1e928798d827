//! The request of a save.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, ProjectId, RecordId, RecordKind, Trust, UserId, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::citations::NewCitation;

/// A note to save.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaveRequest {
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Name of the saver, for the record's history.
    pub principal: String,
    /// User of the saver.
    pub saved_by: Option<UserId>,
    /// Who may see the record.
    pub visibility: Visibility,
    /// Trust level of a new record.
    pub trust: Trust,
    /// Source of the note; empty if a person or assistant states it.
    pub source: String,
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// The text, as it was sent.
    pub content: String,
    /// Title; by default derived from the first sentence.
    pub title: Option<String>,
    /// Issue that the note belongs to, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Parts of the system that the note is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Person responsible for the record.
    pub owner: Option<String>,
    /// The caller's own rating of the note's usefulness, 0 to 1.
    pub usefulness: Option<f32>,
    /// End of the record; by default set by the project's policy for its kind.
    pub ttl: Option<DateTime<Utc>>,
    /// Other fields (`patch_sha`, `source_dialog_id`).
    pub meta: Map<String, Value>,
    /// Places in the code that the note is about.
    pub citations: Vec<NewCitation>,
    /// Steps of a worked example.
    pub steps: Vec<String>,
    /// The patch of a worked example.
    pub patch_ref: Option<String>,
    /// URL of a decision record.
    pub url: Option<String>,
    /// Dialog that the note comes from.
    pub dialog: Option<DialogId>,
    /// Whether the note contradicts a known record: the nearest related one is replaced.
    pub contradicts: bool,
    /// Record that the note replaces.
    pub supersedes: Option<RecordId>,
}

impl SaveRequest {
    /// Creates a request with a kind, a content and defaults.
    pub fn new(
        project: ProjectId,
        principal: impl Into<String>,
        kind: RecordKind,
        content: impl Into<String>,
    ) -> Self {
        Self {
            project,
            principal: principal.into(),
            saved_by: None,
            visibility: Visibility::Team,
            trust: Trust::Team,
            source: String::new(),
            kind,
            content: content.into(),
            title: None,
            task_external_id: None,
            scope: Vec::new(),
            tags: Vec::new(),
            owner: None,
            usefulness: None,
            ttl: None,
            meta: Map::new(),
            citations: Vec::new(),
            steps: Vec::new(),
            patch_ref: None,
            url: None,
            dialog: None,
            contradicts: false,
            supersedes: None,
        }
    }

    /// Returns the length of the texts that may be long, in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        let lists = [&self.steps, &self.scope, &self.tags].into_iter().flatten();
        let meta = self.meta.iter().map(|(key, value)| key.len() + value_bytes(value));
        let citations = self.citations.iter().map(|citation| citation.file.len());
        self.content.len()
            + lists.map(String::len).sum::<usize>()
            + meta.sum::<usize>()
            + citations.sum::<usize>()
    }
}

/// Returns the length of the texts of a value, in bytes.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(value_bytes).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + value_bytes(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
