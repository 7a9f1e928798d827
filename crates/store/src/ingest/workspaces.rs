//! Workspaces: trees of repositories that a user reads and changes, each on one node.

mod fetch;
mod space;

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{
    AuditAction, IngestRunId, NodeId, ProjectId, RepositoryId, UserId, WorkspaceId, WorkspaceKind,
    WorkspaceState,
};
use serde_json::{Value, json};

use crate::audit::{self, NewEvent};
use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::repositories::Repository;
use crate::row::read;
use crate::{Result, Store, Tx};

pub use fetch::{Fetch, FetchTarget, begin, fail, fail_abandoned, of_run, release, succeed};
pub use space::{Space, delete_expired, exist, lock_space, set_size, space};

/// Kind of the job that fetches a workspace; its argument is the workspace's id.
pub const JOB: &str = "fetch_workspace";
/// Attempts of the job.
pub const JOB_ATTEMPTS: u16 = 3;

/// A workspace as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Identifier.
    pub id: WorkspaceId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The user who reads and changes it.
    pub owner: UserId,
    /// Login of the owner.
    pub owner_login: String,
    /// The repository; `None` if it was deleted.
    pub repository: Option<RepositoryId>,
    /// Owner of the repository, such as `pallets`.
    pub repo_owner: String,
    /// Name of the repository, such as `flask`.
    pub repo_name: String,
    /// A clone or a registered directory.
    pub kind: WorkspaceKind,
    /// Path of a registered directory.
    pub folder: Option<String>,
    /// Whether its files may be changed.
    pub is_editable: bool,
    /// How far it is.
    pub state: WorkspaceState,
    /// The node with the files.
    pub node: Option<NodeId>,
    /// The job that fetches it.
    pub job: Option<String>,
    /// Requested branch, tag or commit; empty for the default branch.
    pub requested_ref: String,
    /// Whether only the newest commit is fetched.
    pub is_shallow: bool,
    /// Fetched ref; empty if the host names no default branch.
    pub git_ref: String,
    /// Fetched commit.
    pub commit: String,
    /// The index run that the fetch enqueued.
    pub ingest_run: Option<IngestRunId>,
    /// Bytes on the disk.
    pub size_bytes: i64,
    /// Error of the last attempt (`message`, `at`).
    pub last_error: Option<Value>,
    /// Time of the request.
    pub created_at: DateTime<Utc>,
    /// Start of the last attempt to fetch it.
    pub fetch_started_at: Option<DateTime<Utc>>,
    /// End of the fetch.
    pub fetched_at: Option<DateTime<Utc>>,
    /// Last use.
    pub used_at: DateTime<Utc>,
    /// When it is deleted unless it is used before; `None` for a registered directory.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Which workspaces to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkspaceFilter {
    /// Only those of this user.
    pub owner: Option<UserId>,
    /// Only those before this one.
    pub cursor: Option<WorkspaceId>,
}

/// Inserts a workspace that is to be fetched, and enqueues its job.
pub async fn create_clone(
    tx: &mut Tx,
    repository: &Repository,
    owner: UserId,
    requested_ref: &str,
    is_shallow: bool,
    ttl: Duration,
) -> Result<WorkspaceId> {
    let id = WorkspaceId::generate();
    tx.run(sqlx::query!(
        "insert into workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name,
             kind, is_editable, state, requested_ref, is_shallow, expires_at)
         values ($1, $2, $3, $4, $5, $6, 'clone', true, 'queued', $7, $8,
             now() + make_interval(secs => $9))",
        id.0,
        repository.project_id.0,
        owner.0,
        repository.id.0,
        repository.owner,
        repository.name,
        requested_ref,
        is_shallow,
        ttl.as_secs_f64()
    ))
    .await?;
    let job = NewJob::now(JOB, json!({ "id": id }), JOB_ATTEMPTS);
    let job = jobs::enqueue(tx, &job).await?;
    tx.run(sqlx::query!("update workspaces set job_id = $2 where id = $1", id.0, job)).await?;
    let details = json!({ "repository": repository.namespace, "ref": requested_ref });
    audit::record(tx, NewEvent::new(AuditAction::WorkspaceCreated, id).with(details));
    Ok(id)
}

/// A directory of a node that becomes a workspace.
#[derive(Debug, Clone, Copy)]
pub struct NewFolder<'a> {
    /// Path of the directory.
    pub folder: &'a str,
    /// Whether its files may be changed.
    pub is_editable: bool,
    /// The node.
    pub node: NodeId,
    /// The commit that is checked out; empty without one.
    pub commit: &'a str,
}

/// Inserts a workspace of a directory. The caller has checked that the user may open it.
pub async fn create_folder(
    tx: &mut Tx,
    repository: &Repository,
    owner: UserId,
    new: NewFolder<'_>,
) -> Result<WorkspaceId> {
    let id = WorkspaceId::generate();
    tx.run(sqlx::query!(
        "insert into workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name,
             kind, folder, is_editable, state, node_id, commit_id)
         values ($1, $2, $3, $4, $5, $6, 'folder', $7, $8, 'queued', $9, $10)",
        id.0,
        repository.project_id.0,
        owner.0,
        repository.id.0,
        repository.owner,
        repository.name,
        new.folder,
        new.is_editable,
        new.node.0,
        new.commit
    ))
    .await?;
    tx.call_proven("open_folder", id.0).await?;
    // A path may contain an email address.
    let folder = mc_sanitizer::mask(new.folder).text.into_string();
    let details = json!({ "directory": folder, "is_editable": new.is_editable });
    audit::record(tx, NewEvent::new(AuditAction::WorkspaceCreated, id).with(details));
    Ok(id)
}

macro_rules! select {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select w.id, w.project_id, w.owner_id, u.login as owner_login, w.repository_id,
                   coalesce(r.owner, w.repo_owner) as "repo_owner!",
                   coalesce(r.name, w.repo_name) as "repo_name!", w.kind, w.folder, w.is_editable,
                   w.state, w.node_id, w.job_id, w.requested_ref, w.is_shallow, w.git_ref,
                   w.commit_id, w.ingest_run_id, w.size_bytes, w.last_error, w.created_at,
                   w.fetch_started_at, w.fetched_at, w.used_at, w.expires_at
               from workspaces w join users u on u.id = w.owner_id
                    left join repositories r on r.id = w.repository_id where "#
                + $condition,
            $($argument),*
        )
    };
}

/// Returns the workspace with this id.
pub async fn find(store: &Store, id: WorkspaceId) -> Result<Option<Workspace>> {
    let row = select!("w.id = $1", id.0).fetch_optional(&mut *store.read().await?).await?;
    row.map(Row::into_workspace).transpose()
}

/// Lists the workspaces of a project that the principal may see, newest first.
pub async fn list(
    store: &Store,
    project: ProjectId,
    filter: WorkspaceFilter,
    limit: i64,
) -> Result<Vec<Workspace>> {
    let rows = select!(
        "w.project_id = $1 and ($2::uuid is null or w.owner_id = $2)
             and ($3::uuid is null or w.id < $3)
         order by w.id desc limit $4",
        project.0,
        filter.owner.map(|owner| owner.0),
        filter.cursor.map(|cursor| cursor.0),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_workspace).collect()
}

/// Stores that a workspace was used, which postpones its deletion.
pub async fn mark_used(store: &Store, id: WorkspaceId, ttl: Duration) -> Result<()> {
    let mut tx = store.begin().await?;
    tx.run(sqlx::query!(
        "update workspaces set used_at = now(),
             expires_at = case when kind = 'clone' then now() + make_interval(secs => $2) end
         where id = $1 and used_at < now() - interval '1 minute'",
        id.0,
        ttl.as_secs_f64()
    ))
    .await?;
    tx.commit().await
}

/// Deletes a workspace on behalf of a user if it is in one of these states, and returns whether it
/// was. Its node deletes the files.
pub async fn delete(tx: &mut Tx, id: WorkspaceId, states: &[WorkspaceState]) -> Result<bool> {
    let states: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
    let is_deleted = tx
        .has_changed(sqlx::query!(
            "delete from workspaces where id = $1 and state = any($2)",
            id.0,
            &states as &[&str]
        ))
        .await?;
    if is_deleted {
        audit::record(tx, NewEvent::new(AuditAction::WorkspaceDeleted, id));
    }
    Ok(is_deleted)
}

struct Row {
    id: uuid::Uuid,
    project_id: uuid::Uuid,
    owner_id: uuid::Uuid,
    owner_login: String,
    repository_id: Option<uuid::Uuid>,
    repo_owner: String,
    repo_name: String,
    kind: String,
    folder: Option<String>,
    is_editable: bool,
    state: String,
    node_id: Option<uuid::Uuid>,
    job_id: Option<String>,
    requested_ref: String,
    is_shallow: bool,
    git_ref: String,
    commit_id: String,
    ingest_run_id: Option<uuid::Uuid>,
    size_bytes: i64,
    last_error: Option<Value>,
    created_at: DateTime<Utc>,
    fetch_started_at: Option<DateTime<Utc>>,
    fetched_at: Option<DateTime<Utc>>,
    used_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
}

impl Row {
    fn into_workspace(self) -> Result<Workspace> {
        read!(self => Workspace {
            id: self.id.into(), project: self.project_id.into(), owner: self.owner_id.into(),
            owner_login, repository: self.repository_id.map(Into::into), repo_owner, repo_name,
            kind: word(&self.kind)?, folder, is_editable, state: word(&self.state)?,
            node: self.node_id.map(Into::into), job: self.job_id, requested_ref, is_shallow,
            git_ref, commit: self.commit_id, ingest_run: self.ingest_run_id.map(Into::into),
            size_bytes, last_error, created_at, fetch_started_at, fetched_at, used_at, expires_at
        })
    }
}
