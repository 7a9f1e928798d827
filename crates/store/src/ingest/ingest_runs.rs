//! Index runs (seed 002's `repo_rag_index_job`). Each has a job that executes it; runs of one
//! project are executed one at a time.

mod attempt;
mod request;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_domain::{IngestRunId, IngestStatus, ProjectId, RepositoryId};
use serde::{Deserialize, Serialize};

use crate::error::{from_json, word};
use crate::row::read;
use crate::{Result, Store};

pub use attempt::{Failure, StartOutcome, begin, cancel, fail, hold, progress, release, succeed};
pub use request::{
    enqueue, enqueue_reindex, has_failed, has_indexed, last_requested_ref, rescue_orphans,
};
pub(crate) use request::{fail_for_deleted_job, requeue_failed};

/// Kind of the job that executes a run; its argument is the run's id.
pub const JOB: &str = "index_repository";
/// Attempts of the job. A run counts its attempts itself, and has fewer.
pub const JOB_ATTEMPTS: u16 = 100;

/// A run as stored.
#[derive(Debug, Clone)]
pub struct IngestRun {
    /// Identifier.
    pub id: IngestRunId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Repository that is indexed; `None` if it was deleted because its only runs failed.
    pub repository: Option<RepositoryId>,
    /// Owner and name of the repository that was deleted.
    pub deleted_repository: Option<(String, String)>,
    /// Queued, running, succeeded or failed.
    pub status: IngestStatus,
    /// Attempts so far.
    pub attempt: i32,
    /// Attempts after which the run fails.
    pub max_attempts: i32,
    /// Whether an earlier attempt may have changed stored data; only [`begin`] sets it.
    pub is_resumed: bool,
    /// Ref to index; empty for the checked-out files or the default branch.
    pub requested_ref: String,
    /// Progress so far.
    pub counts: Counts,
    /// Error of the last attempt (`message`, `causes`, `at`, `attempt`).
    pub last_error: Option<serde_json::Value>,
    /// Start of the fetch of the workspace that requested the run; `None` for other runs.
    pub fetch_started_at: Option<DateTime<Utc>>,
    /// Time of the request.
    pub queued_at: DateTime<Utc>,
    /// Start of the last attempt.
    pub started_at: Option<DateTime<Utc>>,
    /// End of the run.
    pub completed_at: Option<DateTime<Utc>>,
}

/// The counts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files to check.
    pub files_total: i32,
    /// Files checked.
    pub files_done: i32,
    /// Files written.
    pub files_changed: i32,
    /// Files deleted from the index.
    pub files_deleted: i32,
    /// Files skipped, by reason.
    pub files_skipped: BTreeMap<String, i32>,
    /// Files that could not be read or stored. They are in `files_skipped`, too.
    pub failed_files: i32,
    /// The first of them.
    pub file_errors: Vec<FileError>,
    /// New chunks.
    pub chunks_written: i32,
    /// Unchanged chunks, which keep their vectors.
    pub chunks_reused: i32,
}

/// A file that could not be read or stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileError {
    /// Path in the repository, masked; `.` for the repository's directory.
    pub path: String,
    /// Error of the operating system, the parser or the database.
    pub cause: String,
}

/// Returns the run with this id.
pub async fn find(store: &Store, id: IngestRunId) -> Result<Option<IngestRun>> {
    fetch(&mut *store.read().await?, id).await
}

async fn fetch(executor: impl sqlx::PgExecutor<'_>, id: IngestRunId) -> Result<Option<IngestRun>> {
    let row = sqlx::query_as!(
        Row,
        "select id, project_id, repository_id, status, attempt, max_attempts, requested_ref,
             files_total, files_done, files_changed, files_deleted, files_skipped, failed_files,
             file_errors, chunks_written, chunks_reused, last_error, queued_at, started_at,
             completed_at, deleted_repository, fetch_started_at
         from ingest_runs where id = $1",
        id.0
    )
    .fetch_optional(executor)
    .await?;
    row.map(Row::into_ingest).transpose()
}

/// Returns the newest runs of a repository, newest first.
pub async fn of_repository(
    store: &Store,
    repository: RepositoryId,
    limit: i64,
) -> Result<Vec<IngestRun>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, project_id, repository_id, status, attempt, max_attempts, requested_ref,
             files_total, files_done, files_changed, files_deleted, files_skipped, failed_files,
             file_errors, chunks_written, chunks_reused, last_error, queued_at, started_at,
             completed_at, deleted_repository, fetch_started_at
         from ingest_runs where repository_id = $1 order by queued_at desc limit $2",
        repository.0,
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_ingest).collect()
}

struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    repository_id: Option<uuid::Uuid>,
    status: String,
    attempt: i32,
    max_attempts: i32,
    requested_ref: String,
    files_total: i32,
    files_done: i32,
    files_changed: i32,
    files_deleted: i32,
    files_skipped: serde_json::Value,
    failed_files: i32,
    file_errors: serde_json::Value,
    chunks_written: i32,
    chunks_reused: i32,
    last_error: Option<serde_json::Value>,
    queued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    deleted_repository: Option<Vec<String>>,
    fetch_started_at: Option<DateTime<Utc>>,
}

impl Row {
    fn into_ingest(self) -> Result<IngestRun> {
        let counts = read!(self => Counts {
            files_total, files_done, files_changed, files_deleted,
            files_skipped: from_json("ingest_runs.files_skipped", self.files_skipped)?,
            failed_files, file_errors: from_json("ingest_runs.file_errors", self.file_errors)?,
            chunks_written, chunks_reused
        });
        read!(self => IngestRun {
            id: self.id.into(), project: self.project_id.into(),
            repository: self.repository_id.map(Into::into),
            deleted_repository: deleted_repository(self.deleted_repository),
            status: word(&self.status)?, attempt, max_attempts, is_resumed: false, requested_ref,
            counts: counts?, last_error, fetch_started_at, queued_at,
            started_at, completed_at
        })
    }
}

/// Reads owner and name, which the database stores as two elements.
fn deleted_repository(names: Option<Vec<String>>) -> Option<(String, String)> {
    <[String; 2]>::try_from(names?).ok().map(|[owner, name]| (owner, name))
}
