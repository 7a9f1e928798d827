//! Projects.

use chrono::{DateTime, Utc};
use mc_domain::{
    AuditAction, BundleId, IngestRunId, NavigationId, PatchId, Policy, ProjectId, ProjectKey,
    QuarantineItemId, RecordId, Role, UserId, WorkspaceId,
};
use mc_postgres::context_key::ContextKey;
use serde_json::json;

use crate::audit::{self, Chain, NewEvent};
use crate::error::{retry_on_deadlock, word};
use crate::rls::PooledTransaction;
use crate::row::read;
use crate::{Error, Result, Store, Tx, policies};

/// A project, with the principal's role on it.
#[derive(Debug, Clone)]
pub struct Project {
    /// Identifier.
    pub id: ProjectId,
    /// Short name, unique.
    pub key: ProjectKey,
    /// Display name.
    pub name: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// The principal's role.
    pub role: Role,
    /// The policy in force.
    pub policy: Policy,
    /// Version of the policy; 0 until one is set.
    pub policy_version: i32,
}

/// Numbers of a project's items.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// Records that can be recalled.
    pub records: i64,
    /// Records whose cited code has changed.
    pub stale_records: i64,
    /// Documents.
    pub docs: i64,
    /// Number of stored dialogs.
    pub dialogs: i64,
    /// Number of known tasks.
    pub tasks: i64,
    /// Indexed repositories.
    pub repositories: i64,
    /// Indexed files.
    pub files: i64,
    /// Number of searchable passages.
    pub passages: i64,
}

/// Returns whether a principal may create projects. Agents may not: the creator becomes admin,
/// which an agent can't be, so the project would have none.
pub async fn may_create(store: &Store, principal: UserId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from users where id = $1 and not is_agent) as "may!""#,
        principal.0
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Creates a project with the principal as admin and records it in the service's chain, or finds
/// the existing one; the flag says which. [`Error::AlreadyExists`] if the principal has no role on
/// the existing project, or may not create one ([`may_create`]).
pub async fn create(
    store: &Store,
    principal: UserId,
    key: &ProjectKey,
    name: &str,
) -> Result<(Project, bool)> {
    let mut tx = store.for_user(principal).begin().await?;
    let created = sqlx::query_scalar!(
        "select mc.create_project($1, $2, $3, $4)",
        principal.0,
        ProjectId::generate().0,
        key.as_str(),
        name
    )
    .fetch_one(&mut *tx.0)
    .await?;
    if created.is_some() {
        let found = find_by_key(&mut tx.0, &store.context_key, principal, key).await?;
        let project = found.ok_or(Error::DeletedConcurrently)?;
        let event =
            NewEvent::new(AuditAction::ProjectCreated, key).with(json!({ "id": project.id }));
        audit::add(&mut tx, Chain::Service, Some(principal), &[event]);
        tx.commit().await?;
        return Ok((project, true));
    }
    drop(tx);
    match find(store, principal, key).await? {
        Some(project) => Ok((project, false)),
        None => Err(Error::AlreadyExists { what: "a project with this key" }),
    }
}

/// Returns the project with this key, if the principal has a role on it.
pub async fn find(store: &Store, principal: UserId, key: &ProjectKey) -> Result<Option<Project>> {
    let mut session = store.plain().await?;
    let found = find_by_key(&mut session, &store.context_key, principal, key).await?;
    session.done();
    Ok(found)
}

async fn find_by_key(
    session: &mut PooledTransaction,
    context_key: &ContextKey,
    principal: UserId,
    key: &ProjectKey,
) -> Result<Option<Project>> {
    let call = format!("find_project_by_key {principal} {key}");
    let code = context_key.code(session.backend_pid().await?, &call);
    let row = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from mc.find_project_by_key($1, $2, $3)"#,
        principal.0,
        key.as_str(),
        code
    )
    .fetch_optional(&mut **session)
    .await?;
    row.map(Row::into_project).transpose()
}

/// Returns the policy of a project and locks it until the transaction ends; `None` if the project
/// is deleted. A later change of the policy sees everything this transaction has written.
pub async fn lock_policy(tx: &mut Tx, project: ProjectId) -> Result<Option<Policy>> {
    let document =
        sqlx::query_scalar!("select policy from projects where id = $1 for share", project.0)
            .fetch_optional(&mut *tx.0)
            .await?;
    document.map(policies::read).transpose()
}

/// An item of a project, identified by its id alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectResource {
    /// A record, by its id.
    Record(RecordId),
    /// A bundle, by its id.
    Bundle(BundleId),
    /// An index run.
    IngestRun(IngestRunId),
    /// A quarantine item; found only by principals who may decide about it.
    QuarantineItem(QuarantineItemId),
    /// A workspace.
    Workspace(WorkspaceId),
    /// A navigation in a workspace.
    Navigation(NavigationId),
    /// A patch; found only by its author and maintainers.
    Patch(PatchId),
}

/// Returns the project of an item, if the principal has a role on it.
pub async fn find_by_resource(
    store: &Store,
    principal: UserId,
    resource: ProjectResource,
) -> Result<Option<Project>> {
    let (kind, id) = match resource {
        ProjectResource::Record(id) => ("record", id.0),
        ProjectResource::Bundle(id) => ("bundle", id.0),
        ProjectResource::IngestRun(id) => ("ingest_run", id.0),
        ProjectResource::QuarantineItem(id) => ("quarantine_item", id.0),
        ProjectResource::Workspace(id) => ("workspace", id.0),
        ProjectResource::Navigation(id) => ("navigation", id.0),
        ProjectResource::Patch(id) => ("patch", id.0),
    };
    let row = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from (select * from mc.find_project_of_record($1, $2) where $3 = 'record'
                 union all select * from mc.find_project_of_bundle($1, $2) where $3 = 'bundle'
                 union all select * from mc.find_project_of_ingest_run($1, $2)
                     where $3 = 'ingest_run'
                 union all select * from mc.find_project_of_quarantine_item($1, $2)
                     where $3 = 'quarantine_item'
                 union all select * from mc.find_project_of_workspace($1, $2)
                     where $3 = 'workspace'
                 union all select * from mc.find_project_of_navigation($1, $2)
                     where $3 = 'navigation'
                 union all select * from mc.find_project_of_patch($1, $2)
                     where $3 = 'patch') as holding"#,
        principal.0,
        id,
        kind
    )
    .fetch_optional(&mut *store.for_user(principal).read().await?)
    .await?;
    row.map(Row::into_project).transpose()
}

/// Returns the projects on which the principal has a role, by key.
pub async fn list(store: &Store, principal: UserId) -> Result<Vec<Project>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from mc.list_projects($1) order by key"#,
        principal.0
    )
    .fetch_all(&mut *store.for_user(principal).read().await?)
    .await?;
    rows.into_iter().map(Row::into_project).collect()
}

/// The columns of a project.
struct Row {
    id: uuid::Uuid,
    key: String,
    name: String,
    created_at: DateTime<Utc>,
    role: String,
    policy: serde_json::Value,
    policy_version: i32,
}

impl Row {
    fn into_project(self) -> Result<Project> {
        read!(self => Project {
            id: self.id.into(), key: parse_key(&self.key)?, name, created_at,
            role: word(&self.role)?, policy: policies::read(self.policy)?, policy_version
        })
    }
}

/// Parses a stored key.
pub(crate) fn parse_key(key: &str) -> Result<ProjectKey> {
    ProjectKey::parse(key).map_err(|_| Error::UnknownStoredValue(format!("projects.key: {key}")))
}

/// Sets the display name of a project. [`Error::DeletedConcurrently`] if it is deleted.
pub async fn rename(tx: &mut Tx, project: ProjectId, name: &str) -> Result<()> {
    let rename = sqlx::query!("update projects set name = $2 where id = $1", project.0, name);
    if tx.has_changed(rename).await? { Ok(()) } else { Err(Error::DeletedConcurrently) }
}

/// Deletes the project with all its data except its audit chain, and records it in the service's
/// chain. [`Error::DeletedConcurrently`] if it is deleted already, or the principal is no longer
/// its admin. Retried on a deadlock with background writes.
pub async fn delete(store: &Store, project: &Project) -> Result<()> {
    retry_on_deadlock(|| remove(store, project)).await
}

async fn remove(store: &Store, project: &Project) -> Result<()> {
    let mut tx = store.begin().await?;
    let delete = sqlx::query!("delete from projects where id = $1", project.id.0);
    if !tx.has_changed(delete).await? {
        return Err(Error::DeletedConcurrently);
    }
    let event =
        NewEvent::new(AuditAction::ProjectDeleted, &project.key).with(json!({ "id": project.id }));
    audit::add(&mut tx, Chain::Service, store.principal(), &[event]);
    tx.commit().await
}

/// Counts the items of a project.
pub async fn overview(store: &Store, project: ProjectId) -> Result<Overview> {
    Ok(sqlx::query_as!(
        Overview,
        r#"select
            (select count(*) from memory_records where project_id = $1
                and state in ('active', 'stale') and ttl > now()) as "records!",
            (select count(*) from memory_records where project_id = $1 and state = 'stale'
                and ttl > now()) as "stale_records!",
            (select count(*) from docs where project_id = $1) as "docs!",
            (select count(*) from dialogs where project_id = $1) as "dialogs!",
            (select count(*) from tasks where project_id = $1) as "tasks!",
            (select count(*) from repositories where project_id = $1) as "repositories!",
            (select count(*) from files where project_id = $1) as "files!",
            (select count(*) from passages where project_id = $1) as "passages!""#,
        project.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}
