//! `/ingest`: repositories and documents to index, and how far that is.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_domain::{IngestRunId, IngestStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::list::{PathPatterns, ShortTexts, limited_nonempty, optional_nonempty};
use crate::text::{
    DocumentSource, DocumentText, ExternalId, GitRef, MessageText, Name, RepositoryLocation,
    RepositoryPart, Title, WebUrl,
};
use crate::{ProjectKey, Request, ValidationError};

/// A repository to index.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop", "location": "https://git.example.org/shop/core.git"
}))]
pub struct IngestGit {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// A directory on the service's machine, or the URL of a git repository. A directory, a `file:`
    /// or ssh URL and a host of the private network require a service administrator and the scope
    /// `ingest:local`.
    pub location: RepositoryLocation,
    /// Branch, tag or commit; the default branch, or the checked-out commit, when absent.
    pub r#ref: Option<GitRef>,
    /// The owner under which it is known; taken from the location when absent.
    pub owner: Option<RepositoryPart>,
    /// The name under which it is known; taken from the location when absent.
    pub name: Option<RepositoryPart>,
    /// The repository moved: this location replaces the one that was indexed under its name, and
    /// files that are not here are deleted from the index.
    #[serde(default)]
    pub relocate: bool,
    /// Patterns of the only files to index, in the syntax of `.gitignore`; an empty list is all.
    /// The present ones stay when absent. Ignore files and the built-in rules apply as well.
    pub include: Option<PathPatterns>,
    /// Patterns of files that are not indexed, like `include`.
    pub exclude: Option<PathPatterns>,
}

impl Request for IngestGit {}

path! {
    /// An index run, in a path.
    RunPath {
        /// The run's id.
        id: IngestRunId,
    }

    /// A repository, in a path.
    RepositoryNamePath {
        /// Such as `pallets`; `local` for a directory.
        owner: RepositoryPart,
        /// Such as `flask`.
        name: RepositoryPart,
    }
}

/// Changes of a repository. Fields that are absent keep their value.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"project_key": "shop", "exclude": ["docs/archive/"]}))]
pub struct UpdateRepository {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The new owner. Documents and integrations of the repository follow.
    pub owner: Option<RepositoryPart>,
    /// The new name, like `owner`.
    pub name: Option<RepositoryPart>,
    /// Patterns of the only files to index, in the syntax of `.gitignore`; an empty list is all.
    pub include: Option<PathPatterns>,
    /// Patterns of files that are not indexed; an empty list is none.
    pub exclude: Option<PathPatterns>,
}

impl Request for UpdateRepository {}

/// An indexed repository.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "owner": "acme", "name": "shop", "namespace": "repo:acme/shop",
    "location": "https://git.example.org/acme/shop.git", "include": [], "exclude": ["docs/"],
    "files": 812, "source_ref": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334",
    "indexed_at": "2026-11-20T10:00:00Z", "newest_run_id": "019a0000-0000-7000-8000-000000000009",
    "newest_run_status": "SUCCEEDED"
}))]
pub struct Repository {
    /// The repository's owner; `local` for a directory.
    pub owner: String,
    /// The repository's name.
    pub name: String,
    /// `repo:owner/name`.
    pub namespace: String,
    /// A directory on the service's machine or a URL; absent for those who may not index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Patterns of the only files that are indexed; empty for all.
    pub include: Vec<String>,
    /// Patterns of files that are not indexed.
    pub exclude: Vec<String>,
    /// Number of indexed files.
    pub files: i64,
    /// The commit that was indexed last; empty outside git.
    pub source_ref: String,
    /// End of the last successful run.
    pub indexed_at: Option<DateTime<Utc>>,
    /// The newest index run.
    pub newest_run_id: Option<IngestRunId>,
    /// Its status.
    pub newest_run_status: Option<IngestStatus>,
}

/// An index run and its progress.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "ingest_id": "019a0000-0000-7000-8000-000000000009", "repo_owner": "acme",
    "repo_name": "shop", "namespace": "repo:acme/shop", "status": "RUNNING", "is_ready": false,
    "attempt": 1, "max_attempts": 3, "files_total": 812, "files_done": 406, "files_changed": 406,
    "files_deleted": 0, "files_skipped": {"binary": 12},
    "failed_files": 0, "file_errors": [], "chunks_written": 3120, "chunks_reused": 0,
    "pending_vectors": 2048, "failed_vectors": 0, "eta_seconds": 14,
    "queued_at": "2026-11-20T10:00:00Z", "started_at": "2026-11-20T10:00:01Z",
    "completed_at": null, "source_ref": ""
}))]
pub struct IngestRun {
    /// The run's id.
    pub ingest_id: IngestRunId,
    /// The repository's owner.
    pub repo_owner: String,
    /// The repository's name.
    pub repo_name: String,
    /// `repo:owner/name`.
    pub namespace: String,
    /// Where the run is in its life.
    pub status: IngestStatus,
    /// Whether the index of the repository is complete: its newest run has succeeded and stored
    /// every file.
    pub is_ready: bool,
    /// Number of the attempt.
    pub attempt: i32,
    /// Number of attempts after which the run fails.
    pub max_attempts: i32,
    /// Files of the repository.
    pub files_total: i32,
    /// Files that are done.
    pub files_done: i32,
    /// Files that were new or changed.
    pub files_changed: i32,
    /// Files that were deleted.
    pub files_deleted: i32,
    /// Files that were skipped, by reason.
    pub files_skipped: BTreeMap<String, i32>,
    /// Files and directories that could not be read or stored, and are not searchable as they are
    /// now. A run that succeeds may have some; one that could read or store nothing fails.
    pub failed_files: i32,
    /// The first ten of them.
    pub file_errors: Vec<FileError>,
    /// Chunks that were written.
    pub chunks_written: i32,
    /// Chunks that were kept with their vectors.
    pub chunks_reused: i32,
    /// Passages of the project that have no vector yet. Keyword search finds them.
    pub pending_vectors: i64,
    /// Passages of the project that the embedding provider rejected repeatedly. Keyword search
    /// finds them; the service's log has the reason.
    pub failed_vectors: i64,
    /// Seconds that are left at the current pace; absent unless the run is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<u64>,
    /// Why the last attempt failed: `message`, and its `causes`, the nearest one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub last_error: Option<Value>,
    /// When the fetch of the workspace started that requested the run.
    #[serde(rename = "fetchStartedAt", skip_serializing_if = "Option::is_none")]
    pub fetch_started_at: Option<DateTime<Utc>>,
    /// The runs of the repository before this one, newest first: at most five. Only the newest run
    /// of a repository has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_runs: Vec<EarlierRun>,
    /// When it was requested.
    pub queued_at: DateTime<Utc>,
    /// When it was started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// The commit that was indexed last; empty outside git.
    pub source_ref: String,
}

/// A run of a repository before its newest one.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EarlierRun {
    /// The run's id.
    pub ingest_id: IngestRunId,
    /// How it ended.
    pub status: IngestStatus,
    /// Number of attempts.
    pub attempt: i32,
    /// Files that were new or changed.
    pub files_changed: i32,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub last_error: Option<Value>,
    /// When it was requested.
    pub queued_at: DateTime<Utc>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
}

/// A file or directory that could not be read or stored.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FileError {
    /// Its path in the repository; `.` is the repository's directory.
    #[schema(example = "src/cart.rs")]
    pub path: String,
    /// Why.
    #[schema(example = "Permission denied (os error 13)")]
    pub cause: String,
}

/// Documents to store, all or none of them.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "source": "confluence",
    "documents": [{
        "doc_id": "12345",
        "title": "ADR Timing Rules",
        "content": "# Decision\n\nDelays are stored with their unit.",
        "url": "https://wiki.example.org/x/12345",
        "tags": ["adr"]
    }]
}))]
pub struct IngestDocs {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The source, such as `confluence`.
    pub source: DocumentSource,
    /// 1 to 200 documents.
    #[serde(deserialize_with = "limited_nonempty::<200, _, _>")]
    #[schema(min_items = 1, max_items = 200)]
    pub documents: Vec<DocumentInput>,
}

impl Request for IngestDocs {
    fn check(&self) -> Result<(), ValidationError> {
        let mut documents = self.documents.iter().enumerate();
        documents.try_for_each(|(index, document)| document.check(&format!("documents[{index}]")))
    }
}

/// A document. It replaces a document with the same source and id.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentInput {
    /// Its id at its source.
    pub doc_id: ExternalId,
    /// One line that names it.
    pub title: Title,
    /// Markdown or plain text. Tags and scope of a YAML front matter are added to those given.
    pub content: Option<DocumentText>,
    /// A conversation in place of `content`, oldest message first: an issue with its comments, a
    /// thread. Search finds each message, with the two before it. 1 to 500.
    #[serde(default, deserialize_with = "optional_nonempty::<500, _, _>")]
    #[schema(min_items = 1, max_items = 500)]
    pub messages: Option<Vec<ThreadMessage>>,
    /// Its address.
    pub url: Option<WebUrl>,
    /// Parts of the system that it is about.
    #[serde(default)]
    pub scope: ShortTexts,
    /// Free labels.
    #[serde(default)]
    pub tags: ShortTexts,
}

impl DocumentInput {
    fn check(&self, field: &str) -> Result<(), ValidationError> {
        let at = |name: &str, rule: &str| {
            Err(ValidationError::new(format!("{field}.{name}"), rule.to_owned()))
        };
        match (&self.content, &self.messages) {
            (None, None) => at("content", "is missing; give it, or `messages`"),
            (Some(_), Some(_)) => at("messages", "can't be given with `content`; give one of them"),
            _ => Ok(()),
        }
    }
}

/// A message of a conversation.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadMessage {
    /// Display name of its author.
    pub author: Option<Name>,
    /// When it was sent.
    pub sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    pub text: MessageText,
}

/// The result of storing documents.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "created": 1, "updated": 0, "unchanged": 0, "quarantined": 0,
    "documents": [{
        "doc_id": "12345", "id": "019a0000-0000-7000-8000-000000000007", "outcome": "created"
    }]
}))]
pub struct IngestDocsResponse {
    /// Documents that are new.
    pub created: usize,
    /// Documents that changed.
    pub updated: usize,
    /// Documents that are as they were.
    pub unchanged: usize,
    /// Documents that the project's policy holds back until a maintainer decides.
    pub quarantined: usize,
    /// In the order of the request, those in quarantine last.
    pub documents: Vec<StoredDocument>,
}

/// The result of storing one document.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct StoredDocument {
    /// Its id at its source.
    pub doc_id: String,
    /// Its id here; in quarantine, that of the quarantine item.
    pub id: Uuid,
    /// Outcome for the document.
    pub outcome: DocumentOutcome,
}

/// Outcome for a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentOutcome {
    /// It was created.
    Created,
    /// It was updated.
    Updated,
    /// It is as it was.
    Unchanged,
    /// A maintainer decides.
    Quarantined,
}
