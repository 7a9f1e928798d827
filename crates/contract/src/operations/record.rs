//! A memory record, its citations and its history.

use chrono::{DateTime, Utc};
use mc_domain::{
    CiVerdict, CitationVerdict, DialogId, DocId, RecordId, RecordKind, RecordMeta, RecordState,
    Trust, Visibility,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::rust::double_option;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::save::CitationInput;
use crate::list::{ShortTexts, optional_limited};
use crate::number::{PageLimit, VersionNumber};
use crate::text::{Login, Name, SourceReference, StatementText, Title};
use crate::{ExpiryDate, ProjectKey, Request, ValidationError};

path! {
    /// A record, in a path.
    RecordPath {
        /// The record's id.
        id: RecordId,
    }
}

/// Which records to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecordQuery {
    /// The project's key.
    #[param(inline)]
    pub project_key: ProjectKey,
    /// Only records of this kind.
    pub kind: Option<RecordKind>,
    /// Only records of this visibility; the team's and the caller's own by default.
    pub visibility: Option<Visibility>,
    /// Only records to which this user contributed.
    #[param(inline)]
    pub saved_by: Option<Login>,
    /// Only records to which this source contributed.
    #[param(inline)]
    pub source: Option<SourceReference>,
    /// The `next_cursor` of the previous page.
    #[param(inline)]
    pub cursor: Option<RecordId>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for RecordQuery {}

/// The reviewed version of a record.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2}))]
pub struct ConfirmRecord {
    /// The reviewed `version` of the record.
    pub version: VersionNumber,
}

impl Request for ConfirmRecord {}

/// Changes of a record. Fields that are absent keep their value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2, "title": "Units must match", "tags": ["unit"]}))]
pub struct UpdateRecord {
    /// The `version` of the record that was read.
    pub version: VersionNumber,
    /// A new title.
    pub title: Option<Title>,
    /// A new text of at most 4,000 characters, stored as it is but for masked values.
    pub content: Option<StatementText>,
    /// Another kind.
    pub kind: Option<RecordKind>,
    /// The parts of the system that it is about, in place of the present ones.
    pub scope: Option<ShortTexts>,
    /// The labels, in place of the present ones.
    pub tags: Option<ShortTexts>,
    /// Who is responsible for it; `null` for nobody.
    #[serde(default, with = "double_option")]
    #[schema(value_type = Option<Name>)]
    pub owner: Option<Option<Name>>,
    /// When it expires; `null` leaves it to the project's policy.
    #[serde(default, with = "double_option")]
    #[schema(value_type = Option<ExpiryDate>)]
    pub ttl: Option<Option<ExpiryDate>>,
    /// The places in the code that it is true of, in place of the present ones.
    #[serde(default, deserialize_with = "optional_limited::<32, _, _>")]
    #[schema(max_items = 32)]
    pub citations: Option<Vec<CitationInput>>,
}

impl Request for UpdateRecord {
    fn check(&self) -> Result<(), ValidationError> {
        let mut citations = self.citations.iter().flatten().enumerate();
        citations.try_for_each(|(index, citation)| citation.check(&format!("citations[{index}]")))
    }
}

/// The version to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 1}))]
pub struct RollbackRecord {
    /// A version of the record. By default the previous one, or the last one of a deleted record.
    pub version: Option<VersionNumber>,
}

impl Request for RollbackRecord {}

/// The visibility of a shared record.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000002", "visibility": "team"
}))]
pub struct ShareResponse {
    /// The record's id.
    pub id: RecordId,
    /// `team`, or `proposed` if another person has to accept it.
    pub visibility: Visibility,
}

/// A memory record.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = example)]
pub struct Record {
    /// The record's id.
    pub id: RecordId,
    /// The kind of knowledge that it holds.
    pub kind: RecordKind,
    /// One line that names it.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Where it is in its life.
    pub state: RecordState,
    /// Who may read it.
    pub visibility: Visibility,
    /// How far it is trusted.
    pub trust: Trust,
    /// Who is responsible for it.
    pub owner: Option<String>,
    /// When it expires; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<DateTime<Utc>>,
    /// Whether the save named that time; otherwise every recall moves it.
    pub is_ttl_explicit: bool,
    /// The judge's scores.
    #[schema(value_type = Object)]
    pub quality: Value,
    /// Other JSON of the record, such as `patch_sha`.
    #[schema(value_type = Object)]
    pub meta: RecordMeta,
    /// The tracker's id of the issue that it belongs to.
    pub task_external_id: Option<String>,
    /// The dialog that it was saved in.
    pub dialog_id: Option<DialogId>,
    /// The record that replaced it.
    pub superseded_by: Option<RecordId>,
    /// From 1, one more with every change.
    pub version: i32,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said that it was used.
    pub use_count: i32,
    /// The result of CI for the patch that it is about (`meta.patch_sha`); absent without a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_status: Option<CiVerdict>,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A place in the code that a record cites.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// The file, relative to the repository's root.
    pub file: String,
    /// The qualified name of a definition in it.
    pub symbol: Option<String>,
    /// The first line, from 1.
    pub line_start: Option<i32>,
    /// The last line, inclusive.
    pub line_end: Option<i32>,
    /// The commit at which it was true.
    pub commit: Option<String>,
    /// SHA-256 of the cited lines, in hexadecimal; not in a bundle.
    pub content_hash: Option<String>,
    /// Whether the code is still as it was cited.
    pub verdict: CitationVerdict,
}

/// An earlier version of a record.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RecordVersion {
    /// Its number.
    pub version: i32,
    /// Kind of knowledge, such as `fact` or `rule`.
    pub kind: RecordKind,
    /// One line that names it.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Parts of the system that it was about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// How far it was trusted.
    pub trust: Trust,
    /// Who was responsible for it.
    pub owner: Option<String>,
    /// When it was to expire; absent for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<DateTime<Utc>>,
    /// Whether the save named that time.
    pub is_ttl_explicit: bool,
    /// Other JSON of the record in this version.
    #[schema(value_type = Object)]
    pub meta: RecordMeta,
    /// Its citations, with the verdicts of that time.
    pub citations: Vec<Citation>,
    /// Why it was changed.
    pub reason: String,
    /// Who changed it.
    pub changed_by: Option<String>,
    /// When it was changed.
    pub changed_at: DateTime<Utc>,
}

/// A record and its citations.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = cited_example)]
pub struct CitedRecord {
    /// The record.
    #[serde(flatten)]
    pub record: Record,
    /// The document with the whole text, if the record's content is a statement of it:
    /// `GET /documents/lookup`.
    pub document_id: Option<DocId>,
    /// Cited places in the code, with their verdicts.
    pub citations: Vec<Citation>,
}

/// A record with its history.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = history_example)]
pub struct RecordWithHistory {
    /// The record and its citations.
    #[serde(flatten)]
    pub record: CitedRecord,
    /// Earlier versions, newest first.
    pub versions: Vec<RecordVersion>,
    /// The saves that went into it, oldest first.
    pub contributions: Vec<Contribution>,
}

/// A save that went into a record.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Contribution {
    /// The version of the record that it created.
    pub version: i32,
    /// Login of the user who saved it; absent if unknown.
    pub saved_by: Option<String>,
    /// The source that it was taken from; empty for a note without one.
    pub source: String,
    /// When it was saved.
    pub saved_at: DateTime<Utc>,
}

/// Returns the example of a record.
pub(super) fn example() -> Value {
    json!({
        "id": "019a0000-0000-7000-8000-000000000002", "kind": "fact",
        "title": "Units must match",
        "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
        "scope": ["cart_sessions"], "tags": ["unit"], "state": "active",
        "visibility": "team", "trust": "team", "owner": "vera", "ttl": "2027-06-01T00:00:00Z",
        "is_ttl_explicit": true, "quality": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
        "meta": {"patch_sha": "abc123"}, "task_external_id": "CS-214", "dialog_id": null,
        "superseded_by": null, "version": 2, "recall_count": 5, "use_count": 3,
        "ci_status": "passed", "created_at": "2026-11-19T10:00:00Z",
        "updated_at": "2026-11-20T10:00:00Z"
    })
}

/// Returns the example of a record with its citations.
pub(super) fn cited_example() -> Value {
    let citations = json!([{
        "file": "app/services/cart_sessions/setting.rb",
        "symbol": "CartSessions::Setting#trigger_delay_time_in_minutes", "line_start": 12,
        "line_end": 20, "verdict": "fresh"
    }]);
    with(example(), json!({"citations": citations}))
}

fn history_example() -> Value {
    let version = json!({
        "version": 1, "kind": "fact", "title": "Units must match",
        "content": "The delay may be nil.", "scope": ["cart_sessions"], "tags": [],
        "trust": "team", "owner": "vera", "is_ttl_explicit": false, "meta": {},
        "citations": [], "reason": "merged with a similar note", "changed_by": "vera",
        "changed_at": "2026-11-20T10:00:00Z"
    });
    let history = json!({"versions": [version], "contributions": [contribution_example()]});
    with(cited_example(), history)
}

/// Returns the example of a save that went into a record.
pub(super) fn contribution_example() -> Value {
    json!({"version": 1, "saved_by": "vera", "source": "", "saved_at": "2026-11-19T10:00:00Z"})
}

/// Returns an object with the members of another one, which replace its own.
pub(super) fn with(mut object: Value, members: Value) -> Value {
    if let (Value::Object(object), Value::Object(members)) = (&mut object, members) {
        object.extend(members);
    }
    object
}
