//! `POST /save`: stores a note.

use chrono::{DateTime, Utc};
use mc_domain::{DialogId, DocId, RecordId, RecordKind, Trust, Visibility};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::record::{Citation, Record};
use crate::list::{ShortTexts, Steps, limited};
use crate::number::{LineNumber, UnitInterval};
use crate::text::{
    CommitHash, ContentText, IssueId, Name, RepositoryPath, Sha256, SourceReference, Symbol, Title,
    WebUrl,
};
use crate::{ExpiryDate, Meta, ProjectKey, Request, ValidationError};

/// A note to remember.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "kind": "fact",
    "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
    "scope": ["cart_sessions", "settings"],
    "tags": ["bugfix", "unit"],
    "quality": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
    "ttl": "2027-06-01",
    "meta": {"patch_sha": "abc123", "source_dialog_id": "dlg-7"},
    "citations": [{
        "file": "app/services/cart_sessions/setting.rb",
        "symbol": "CartSessions::Setting#trigger_delay_time_in_minutes"
    }]
}))]
pub struct SaveRequest {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The kind of knowledge.
    pub kind: RecordKind,
    /// Stored without greetings and markup. The record holds up to 4,000 characters, steps
    /// included. A longer text is stored as a document, and the record holds a statement of it; a
    /// private one has to fit.
    pub content: ContentText,
    /// A title in one line; made from the content when absent.
    pub title: Option<Title>,
    /// The tracker's id of the issue that it belongs to, or the issue's URL.
    pub task_external_id: Option<IssueId>,
    /// Parts of the system that it is about.
    #[serde(default)]
    pub scope: ShortTexts,
    /// Free labels.
    #[serde(default)]
    pub tags: ShortTexts,
    /// Who is responsible for it.
    pub owner: Option<Name>,
    /// The caller's assessment of the note.
    pub quality: Option<QualityInput>,
    /// When it expires. When absent, the project's policy decides: facts and worked examples 180
    /// days after the last recall, other kinds never.
    pub ttl: Option<ExpiryDate>,
    /// `patch_sha`, `source_dialog_id` and whatever else belongs to it; at most 16 KiB of JSON.
    #[serde(default)]
    pub meta: Meta,
    /// The places in the code that it is true of.
    #[serde(default, deserialize_with = "limited::<32, _, _>")]
    #[schema(max_items = 32)]
    pub citations: Vec<CitationInput>,
    /// The steps of a worked example.
    #[serde(default)]
    pub steps: Steps,
    /// The patch of a worked example.
    pub patch_ref: Option<SourceReference>,
    /// Where to read more.
    pub url: Option<WebUrl>,
    /// The dialog that it was learned in.
    pub dialog_id: Option<DialogId>,
    /// It contradicts existing records: near duplicates are superseded instead of merged.
    #[serde(default)]
    pub contradicts: bool,
    /// The record that it replaces.
    pub supersedes: Option<RecordId>,
    /// Who may read it: `team` when absent. It becomes a proposal if the caller may not save for
    /// the team.
    pub visibility: Option<Visibility>,
    /// How far it is trusted; never more than the caller's role allows: `team`, or `untrusted` for
    /// an agent.
    pub trust: Option<Trust>,
    /// The source that it was taken from, such as the address of a page. `POST /forget`
    /// deletes by it.
    pub source: Option<SourceReference>,
}

/// The caller's assessment of a note.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityInput {
    /// Accepted and ignored: the service measures it, and returns it in `scores`.
    pub novelty: Option<UnitInterval>,
    /// Accepted and ignored, like `novelty`.
    pub dup: Option<UnitInterval>,
    /// How useful it will be.
    pub usefulness: Option<UnitInterval>,
}

/// A place in the code.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CitationInput {
    /// Relative to the repository's root.
    pub file: RepositoryPath,
    /// Qualified name of a definition.
    pub symbol: Option<Symbol>,
    /// First line, from 1.
    pub line_start: Option<LineNumber>,
    /// Last line, inclusive; the first one when absent.
    pub line_end: Option<LineNumber>,
    /// The commit at which it was true.
    pub commit: Option<CommitHash>,
    /// SHA-256 of the cited lines, in hexadecimal.
    pub content_hash: Option<Sha256>,
}

impl CitationInput {
    /// The cited lines: first and last.
    pub fn lines(&self) -> Option<(i32, i32)> {
        let start = self.line_start?.get();
        Some((start, self.line_end.map_or(start, LineNumber::get)))
    }

    pub(super) fn check(&self, field: &str) -> Result<(), ValidationError> {
        match (self.line_start, self.line_end) {
            (None, Some(_)) => {
                let field = format!("{field}.line_start");
                Err(ValidationError::new(field, "is required with line_end"))
            }
            (Some(start), Some(end)) if end < start => {
                let field = format!("{field}.line_end");
                Err(ValidationError::new(field, "must not be before line_start"))
            }
            _ => Ok(()),
        }
    }
}

impl SaveRequest {
    /// The field by which it replaces a record, if it does.
    pub fn replacing_field(&self) -> Option<&'static str> {
        match (self.contradicts, self.supersedes) {
            (true, _) => Some("contradicts"),
            (false, Some(_)) => Some("supersedes"),
            (false, None) => None,
        }
    }

    /// Who may read it.
    pub fn visibility(&self) -> Visibility {
        self.visibility.unwrap_or(Visibility::Team)
    }
}

impl Request for SaveRequest {
    fn check(&self) -> Result<(), ValidationError> {
        self.meta.check("meta")?;
        let mut citations = self.citations.iter().enumerate();
        citations.try_for_each(|(index, citation)| citation.check(&format!("citations[{index}]")))
    }
}

/// The result of a save.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "outcome": "created",
    "id": "019a0000-0000-7000-8000-000000000002",
    "message": "created 019a0000-0000-7000-8000-000000000002",
    "reason": "nothing similar is known",
    "scores": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
    "redactions": [],
    "citations": [],
    "kept": "whole"
}))]
pub struct SaveResponse {
    /// Outcome of the save.
    pub outcome: SaveOutcome,
    /// The record that holds it; absent if it was rejected or put into quarantine.
    pub id: Option<RecordId>,
    /// The outcome in words: `merged into <id>`.
    pub message: String,
    /// Why.
    pub reason: String,
    /// The judge's scores.
    pub scores: JudgeScores,
    /// Records that it replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<RecordId>,
    /// Values that were masked before storage, by category.
    pub redactions: Vec<Redaction>,
    /// Signals of prompt injection in the text, even if it may be harmless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injection_flags: Vec<String>,
    /// The places that the record cites, with verdicts.
    pub citations: Vec<Citation>,
    /// Citations that were left out, since no indexed repository has the place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations_left_out: Vec<UnknownCitation>,
    /// How much of the text is in memory.
    pub kept: Kept,
    /// The document that holds the whole text.
    pub document_id: Option<DocId>,
    /// Parts of the text that are stored nowhere: greetings, thanks, invisible comments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Other parts of the request that were changed, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The known record that it seems to contradict, if it replaces none.
    pub contradicts: Option<ContradictedRecord>,
    /// The record as it is now.
    pub record: Option<Record>,
    /// Why vector search cannot find it yet. Keyword search can.
    pub vector_pending_reason: Option<String>,
    /// Time for which the caller may wait for a judgment by its own model, in milliseconds, if one
    /// is wanted: `POST /records/{id}/judgment-questions` returns the question.
    pub judgment_wait_ms: Option<u64>,
}

/// Outcome of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaveOutcome {
    /// A record was created.
    Created,
    /// An existing record was updated.
    Merged,
    /// A record replaced others.
    Superseded,
    /// A proposal waits for a member of the team.
    Proposed,
    /// The team has the same record already.
    Duplicate,
    /// A maintainer decides.
    Quarantined,
    /// It was not stored.
    Rejected,
}

/// How much of a note is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The record holds all of it.
    Whole,
    /// A document behind the record holds all of it, the record a statement of it.
    Document,
    /// The record with the same meaning keeps its own text.
    Existing,
    /// Nothing of it is in memory.
    Nothing,
}

/// The judge's scores, each from 0 to 1.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JudgeScores {
    /// How new it is.
    pub novelty: f64,
    /// How near it is to the nearest record.
    pub dup: f64,
    /// How useful it will be.
    pub usefulness: f64,
}

/// A citation that was left out.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownCitation {
    /// The file that was cited.
    pub file: String,
    /// The definition that was cited.
    pub symbol: Option<String>,
    /// The first line that was cited.
    pub line_start: Option<i32>,
    /// The last line that was cited.
    pub line_end: Option<i32>,
    /// Which part of it does not exist.
    pub reason: String,
    /// Similar places: paths, or `path#name`; the nearest first.
    pub near: Vec<String>,
}

/// A record that a note seems to contradict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContradictedRecord {
    /// Id of the record.
    pub id: RecordId,
    /// Its text, or the beginning of it.
    pub text: String,
    /// The difference between the two.
    pub difference: String,
    /// How to say which of them is right.
    pub hint: String,
}

/// A category of secrets that was masked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Redaction {
    /// Category of the masked value, such as `github-token`.
    pub category: String,
    /// How many were masked.
    pub count: usize,
}

impl SaveRequest {
    /// When the record expires, for a request that arrives at `now`.
    pub fn expires_at(&self, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, ValidationError> {
        self.ttl.as_ref().map(|ttl| ttl.after(now)).transpose().map_err(|rule| rule.at("ttl"))
    }
}
