//! The files of pull requests: names and line counts, and the diffs while they are open. A job
//! reads them from the provider through an integration of the project.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_contract::operations::pull_request::{ChangedFile, ChangedFiles};
use mc_domain::{FileChange, IntegrationId, Policy, ProjectId, ProjectKey, PullRequestId};
use mc_sanitizer::Sanitized;
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::projects::parse_key;
use crate::row::read;
use crate::{Result, Store, Tx, policies};

/// Kind of the job that reads the files.
pub const JOB: &str = "fetch_pull_request_files";
/// Attempts after which the job is discarded. The next event of the pull request enqueues another.
pub const JOB_ATTEMPTS: u16 = 6;
/// Timeout of an attempt.
pub const FETCH_TIMEOUT: Duration = Duration::from_mins(2);
/// Days that the diffs of an open pull request are kept after its last change.
const DIFF_DAYS: i32 = 90;
/// Maximum length of a stored diff, in bytes.
pub const DIFF_BYTES: usize = 131_072;
/// Why a list is missing if no integration of the project can read it.
const NO_INTEGRATION: &str = "the project has no active integration with this repository; \
    resume it, or create one with the capability refs or issues (memory-copilot integrations \
    create)";

/// A pull request whose files are to be read.
#[derive(Debug, Clone)]
pub struct FilesTarget {
    /// Its project.
    pub project: ProjectId,
    /// The project's key.
    pub key: ProjectKey,
    /// The project's policy.
    pub policy: Policy,
    /// Its id here.
    pub id: PullRequestId,
    /// The provider's id.
    pub external_id: String,
    /// Address of its page; may be empty.
    pub url: String,
    /// Its last commit.
    pub head_sha: String,
    /// Whether its diffs are stored.
    pub is_open: bool,
    /// The provider's time of this state.
    pub source_updated_at: DateTime<Utc>,
    /// The integrations of the project whose resource is the pull request's repository.
    pub integrations: Vec<FilesIntegration>,
}

/// An integration that may read the files.
#[derive(Debug, Clone)]
pub struct FilesIntegration {
    /// Identifier.
    pub id: IntegrationId,
    /// Name of its connector.
    pub connector: String,
    /// Its repository.
    pub resource: String,
}

/// A file to store.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Path in the repository.
    pub path: Sanitized,
    /// Path before a rename.
    pub previous_path: Option<Sanitized>,
    /// Kind of change.
    pub change: FileChange,
    /// Added lines.
    pub additions: Option<i32>,
    /// Deleted lines.
    pub deletions: Option<i32>,
    /// The diff, if the pull request is open.
    pub diff: Option<Sanitized>,
}

/// Deletes the diffs of a pull request that is not open, and enqueues the job that reads its files
/// unless those of its head are stored. Without an integration that can read them, stores why.
pub(super) async fn request(tx: &mut Tx, id: Uuid) -> Result<()> {
    delete_diffs_if_closed(tx, id).await?;
    let Some(target) = find_target(&mut tx.0, PullRequestId(id)).await? else { return Ok(()) };
    if target.integrations.is_empty() {
        return set_error(tx, id, NO_INTEGRATION).await;
    }
    let key = format!("{id} {} {}", target.head_sha, target.source_updated_at.timestamp_micros());
    let job = NewJob::now(JOB, json!({ "id": id }), JOB_ATTEMPTS);
    jobs::enqueue(tx, &NewJob { unique_key: Some(&key), ..job }).await?;
    Ok(())
}

async fn delete_diffs_if_closed(tx: &mut Tx, id: Uuid) -> Result<()> {
    tx.run(sqlx::query!(
        "with closed as (
             update pull_request_file_lists l set has_diffs = false from pull_requests c
             where c.id = $1 and l.pull_request_id = c.id and c.state <> 'open' and l.has_diffs
             returning l.pull_request_id)
         update pull_request_files f set diff = null from closed
         where f.pull_request_id = closed.pull_request_id and f.diff is not null",
        id
    ))
    .await
}

/// Returns the pull request, unless it is deleted or the files of its head are stored.
pub async fn target(store: &Store, id: PullRequestId) -> Result<Option<FilesTarget>> {
    find_target(&mut *store.plain().await?, id).await
}

async fn find_target(db: &mut PgConnection, id: PullRequestId) -> Result<Option<FilesTarget>> {
    let row = sqlx::query!(
        r#"select c.project_id, p.key, p.policy, c.external_id, c.url, c.head_sha as "head_sha!",
               c.state = 'open' as "is_open!", c.source_updated_at
           from pull_requests c join projects p on p.id = c.project_id
               left join pull_request_file_lists l on l.pull_request_id = c.id
           where c.id = $1 and c.head_sha is not null
               and (l.head_sha is distinct from c.head_sha or l.error is not null
                    or c.state = 'open' and not l.has_diffs)"#,
        id.0
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let integrations = sqlx::query!(
        "select i.id, i.connector, i.resource from integrations i
         where i.project_id = $1 and not i.is_paused and i.capability in ('refs', 'issues')
             and lower(i.resource) = lower(split_part($2, '!', 1))
         order by i.capability = 'issues', i.id",
        row.project_id,
        row.external_id
    )
    .fetch_all(db)
    .await?;
    let integrations: Result<Vec<FilesIntegration>> = read!(each found in integrations =>
        FilesIntegration { id: found.id.into(), connector, resource });
    let integrations = integrations?;
    let target = read!(row => FilesTarget {
        project: row.project_id.into(), key: parse_key(&row.key)?,
        policy: policies::read(row.policy)?, id: id, external_id, url, head_sha, is_open,
        source_updated_at, integrations: integrations
    });
    target.map(Some)
}

/// Replaces the files of a pull request. If it was closed meanwhile, the diffs are left out.
/// Returns `false` if the pull request or the integration was deleted, or has another head now.
pub async fn put(
    tx: &mut Tx,
    target: &FilesTarget,
    integration: IntegrationId,
    files: &[NewFile],
    is_complete: bool,
) -> Result<bool> {
    let is_open = sqlx::query_scalar!(
        r#"select c.state = 'open' as "is_open!" from pull_requests c, integrations i
           where c.id = $1 and i.id = $2 and c.head_sha = $3 for share"#,
        target.id.0,
        integration.0,
        target.head_sha
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(is_open) = is_open else { return Ok(false) };
    let has_diffs = is_open && target.is_open;
    tx.run(sqlx::query!(
        "delete from pull_request_file_lists where pull_request_id = $1",
        target.id.0
    ))
    .await?;
    tx.run(sqlx::query!(
        "insert into pull_request_file_lists (pull_request_id, project_id, integration_id, head_sha,
             is_complete, has_diffs)
         values ($1, $2, $3, $4, $5, $6)",
        target.id.0,
        target.project.0,
        integration.0,
        target.head_sha,
        is_complete && are_distinct(files),
        has_diffs
    ))
    .await?;
    let rows = files.iter().map(|file| row(file, has_diffs)).collect();
    tx.run(sqlx::query!(
        "insert into pull_request_files (pull_request_id, project_id, path, previous_path, status,
             additions, deletions, diff)
         select $1, $2, f.path, f.previous_path, f.status, f.additions, f.deletions, f.diff
         from jsonb_to_recordset($3) as f (path text, previous_path text, status text,
             additions int, deletions int, diff text)
         -- Two masked paths may be equal.
         on conflict (pull_request_id, path) do nothing",
        target.id.0,
        target.project.0,
        Value::Array(rows)
    ))
    .await?;
    Ok(true)
}

/// Whether no two masked paths are equal: only one of those is stored.
fn are_distinct(files: &[NewFile]) -> bool {
    let paths: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.len() == files.len()
}

/// A file by the names of its columns.
fn row(file: &NewFile, has_diffs: bool) -> Value {
    json!({
        "path": file.path.as_str(),
        "previous_path": file.previous_path.as_ref().map(Sanitized::as_str),
        "status": file.change,
        "additions": file.additions,
        "deletions": file.deletions,
        "diff": file.diff.as_ref().filter(|_| has_diffs).map(Sanitized::as_str),
    })
}

/// Stores why the files could not be read. Files that are stored stay.
pub async fn mark_failed(store: &Store, id: PullRequestId, reason: &str) -> Result<()> {
    let mut tx = store.begin().await?;
    set_error(&mut tx, id.0, reason).await?;
    tx.commit().await
}

async fn set_error(tx: &mut Tx, id: Uuid, reason: &str) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into pull_request_file_lists (pull_request_id, project_id, head_sha, error)
         select c.id, c.project_id, c.head_sha, $2 from pull_requests c
         where c.id = $1 and c.head_sha is not null
         on conflict (pull_request_id) do update set error = excluded.error, updated_at = now()",
        id,
        reason
    ))
    .await
}

/// Returns the files of a pull request, by path; `None` if nothing is known of them.
pub async fn list(store: &Store, id: PullRequestId) -> Result<Option<ChangedFiles>> {
    let list = sqlx::query!(
        "select head_sha, is_complete, error from pull_request_file_lists
         where pull_request_id = $1",
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    let Some(list) = list else { return Ok(None) };
    let rows = sqlx::query!(
        "select path, previous_path, status, additions, deletions from pull_request_files
         where pull_request_id = $1 order by path",
        id.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    let items: Result<Vec<ChangedFile>> = read!(each row in rows => ChangedFile {
        path, previous_path, status: word(&row.status)?, additions, deletions
    });
    let files = read!(list => ChangedFiles { head_sha, is_complete, error, items: items? });
    files.map(Some)
}

/// Deletes the diffs of open pull requests that have not changed for a long time.
pub(super) async fn prune_diffs(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "with old as (
             update pull_request_file_lists l set has_diffs = false from pull_requests c
             where l.project_id = $1 and l.has_diffs and c.id = l.pull_request_id
                 and c.source_updated_at < now() - make_interval(days => $2)
             returning l.pull_request_id)
         update pull_request_files f set diff = null from old
         where f.pull_request_id = old.pull_request_id and f.diff is not null",
        project.0,
        DIFF_DAYS
    ))
    .await
}
