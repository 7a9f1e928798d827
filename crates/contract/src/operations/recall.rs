//! `POST /recall`: the knowledge of the team about code or a task.

use chrono::{DateTime, Utc};
use mc_domain::{BundleId, CiVerdict, DialogId, RecordId, RecordKind, RecordState, Trust};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use uuid::Uuid;

use super::record::Citation;
use crate::list::{ErrorSignals, Symbols};
use crate::number::{TimeBudget, TokenLimit};
use crate::text::{IssueId, PersonName, QueryText, RepositoryPath};
use crate::{ProjectKey, Request, ValidationError};

/// The work at hand. At least one of `query`, `task_external_id`, `repo_path`,
/// `symbols` and `signals` is required.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "repo_path": "app/services/cart_sessions",
    "symbols": ["CartSessions::Setting#trigger_delay_time_in_minutes"],
    "signals": ["nil-delay", "unit-mismatch"],
    "limit_tokens": 2000
}))]
pub struct RecallRequest {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The task or question, in words.
    pub query: Option<QueryText>,
    /// The tracker's id of the issue at hand.
    pub task_external_id: Option<IssueId>,
    /// File or directory, relative to the repository's root.
    pub repo_path: Option<RepositoryPath>,
    /// Qualified names.
    #[serde(default)]
    pub symbols: Symbols,
    /// Error messages, lines of logs or stack traces. Of a long one, the message counts, without
    /// times, ids and directories.
    #[serde(default)]
    pub signals: ErrorSignals,
    /// Size of the bundle in tokens: 96 to 32,000; 2,000 when absent.
    pub limit_tokens: Option<TokenLimit>,
    /// Milliseconds after which a late retriever is left out: 1 to 20,000; 300 when absent.
    pub time_budget_ms: Option<TimeBudget>,
    /// The person behind the request, for the log of bundles.
    pub developer: Option<PersonName>,
    /// Whether the recall is no use of the memory: it is of a control group, whose caller shows the
    /// bundle to no model, or of an evaluation. It is stored with this mark, and does not count as
    /// a recall of its items.
    #[serde(default)]
    pub is_control: bool,
    /// Additional sections of the response; none when empty.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub include: Vec<Section>,
}

/// An additional section of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Similar past changes: the commits of indexed repositories that are nearest to the task.
    Changes,
}

impl Request for RecallRequest {
    fn check(&self) -> Result<(), ValidationError> {
        let is_about_something = self.query.is_some()
            || self.task_external_id.is_some()
            || self.repo_path.is_some()
            || !self.symbols.is_empty()
            || !self.signals.is_empty();
        if is_about_something {
            return Ok(());
        }
        let rule = "say what it is about: query, task_external_id, repo_path, symbols or signals";
        Err(ValidationError::new("query", rule))
    }
}

/// The knowledge of the team about the work at hand, within the token limit.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "facts": [{
        "handle": "m1", "id": "019a0000-0000-7000-8000-000000000002",
        "text": "The delay is nil when delay_unit and trigger_delay_unit differ.",
        "kind": "fact", "scope": ["cart_sessions"], "tags": ["bugfix"], "trust": "team",
        "score": 0.81, "state": "active"
    }],
    "few_shots": [], "links": [], "gotchas": [], "dialogs": [], "code": [],
    "confidence": 0.81,
    "bundle_id": "019a0000-0000-7000-8000-000000000001",
    "tokens": 48,
    "degraded": []
}))]
pub struct RecallResponse {
    /// Short statements, best first. Each is whole if the token limit allows it.
    pub facts: Vec<Statement>,
    /// Worked examples, at most 3.
    pub few_shots: Vec<FewShot>,
    /// Decisions and documents to read.
    pub links: Vec<Link>,
    /// Rules and warnings that match the place.
    pub gotchas: Vec<Statement>,
    /// Excerpts of dialogs, at most 2.
    pub dialogs: Vec<DialogExcerpt>,
    /// Places in the code.
    pub code: Vec<CodeItem>,
    /// Similar past changes, nearest first, at most 3; present if `include` names `changes`. They
    /// count neither in `tokens` nor in `confidence`.
    pub changes: Option<Vec<PastChange>>,
    /// How likely it is that this helps, from 0 to 1.
    pub confidence: f64,
    /// The bundle's id, for `POST /feedback`.
    pub bundle_id: BundleId,
    /// Size of the bundle in tokens, as counted by tiktoken.
    pub tokens: usize,
    /// Number of further items that are good enough and did not fit into the token limit; absent if
    /// all of them fitted.
    pub omitted: Option<usize>,
    /// Retrievers that were late or failed and were left out.
    pub degraded: Vec<String>,
    /// Why the bundle is empty, if it is.
    pub reason: Option<String>,
    /// The issue that the request named.
    pub task: Option<TaskSummary>,
    /// Version of the team's system prompt that the caller has, to state in `POST /dialogs`; absent
    /// if the project has only the built-in prompt.
    pub prompt_version: Option<String>,
}

/// A fact, gotcha or rule.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Statement {
    /// Its name within this bundle, such as `m1`. Tools accept it in place of an id.
    pub handle: String,
    /// Id of the record.
    pub id: RecordId,
    /// Its text, or the most relevant sentences of it.
    pub text: String,
    /// Number of characters of the whole text, if `text` holds only a part of it;
    /// `GET /records/{id}` returns all of it.
    pub full_chars: Option<usize>,
    /// Kind of knowledge, such as `fact` or `rule`.
    pub kind: RecordKind,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// How far it is trusted.
    pub trust: Trust,
    /// The source that it was taken from, in at most 120 characters; absent without one.
    pub source: Option<String>,
    /// The result of CI for the patch that it is about; absent without a result.
    pub ci_status: Option<CiVerdict>,
    /// Rank score from 0 to 1, comparable within one response.
    pub score: f64,
    /// Where it is in its life.
    pub state: RecordState,
    /// The code that it cites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// A caution: the code that it cites has changed.
    pub warning: Option<String>,
}

/// A worked example.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FewShot {
    /// Its name within this bundle, such as `m1`. Tools accept it in place of an id.
    pub handle: String,
    /// Id of the record.
    pub id: RecordId,
    /// One line that names it.
    pub title: String,
    /// Steps that were taken, in order.
    pub steps: Vec<String>,
    /// Reference of the patch, such as a commit.
    pub patch_ref: Option<String>,
    /// Text, with secrets and personal data masked.
    pub text: Option<String>,
    /// As in a fact.
    pub full_chars: Option<usize>,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// How far it is trusted.
    pub trust: Trust,
    /// The source that it was taken from, in at most 120 characters; absent without one.
    pub source: Option<String>,
    /// The result of CI for the patch that it is about; absent without a result.
    pub ci_status: Option<CiVerdict>,
    /// Rank score from 0 to 1, comparable within one response.
    pub score: f64,
    /// A caution, such as changed code.
    pub warning: Option<String>,
}

/// A decision or document to read.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Link {
    /// Its name within this bundle, such as `d1`. Tools accept it in place of an id.
    pub handle: String,
    /// One line that names it.
    pub title: String,
    /// Address, or the path of a repository's file that has none.
    pub url: String,
    /// The record or document.
    pub id: Uuid,
    /// How far it is trusted.
    pub trust: Trust,
    /// The decision; absent for a document.
    pub text: Option<String>,
    /// As in a fact.
    pub full_chars: Option<usize>,
    /// The heading of the document's section that is nearest to the query.
    pub section: Option<String>,
    /// The section's first line, from 1.
    pub line_start: Option<i32>,
    /// The section's last line, inclusive.
    pub line_end: Option<i32>,
}

/// An excerpt of a dialog of which no record was made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DialogExcerpt {
    /// Its name within this bundle, such as `t1`. Tools accept it in place of an id.
    pub handle: String,
    /// Id of the dialog.
    pub id: DialogId,
    /// At most 300 characters.
    pub text: String,
    /// How far it is trusted.
    pub trust: Trust,
    /// Rank score from 0 to 1, comparable within one response.
    pub score: f64,
}

/// A place in the code.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CodeItem {
    /// Its name within this bundle, such as `c1`. Tools accept it in place of an id.
    pub handle: String,
    /// Path within the repository.
    pub location: String,
    /// Its first line, from 1.
    pub line_start: i32,
    /// Its last line, inclusive.
    pub line_end: i32,
    /// The definition.
    pub symbol: Option<String>,
    /// Its first lines.
    pub summary: String,
    /// How far it is trusted.
    pub trust: Trust,
}

/// A past change that resembles the task.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PastChange {
    /// First digits of the commit's hash.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// When it was committed.
    pub date: DateTime<Utc>,
    /// The indexed code files that it touched, by their current paths.
    pub files: Vec<String>,
    /// How far it is trusted.
    pub trust: Trust,
}

/// The issue of a recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    /// The tracker's own id.
    pub external_id: String,
    /// One line that names it; empty until the tracker is synced.
    pub title: String,
    /// The tracker's word for its state.
    pub status: String,
}
