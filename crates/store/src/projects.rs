//! Projects.

use chrono::{DateTime, Utc};
use mc_domain::{
    AuditAction, BundleId, IngestRunId, Policy, ProjectId, ProjectKey, QuarantineItemId, RecordId,
    Role, UserId,
};
use serde_json::json;

use crate::audit::{self, Chain, NewEvent};
use crate::error::word;
use crate::retry::retry_on_deadlock;
use crate::{Error, Store, Tx, policies};

/// A project as someone sees it.
#[derive(Debug, Clone)]
pub struct Project {
    /// Identifier.
    pub id: ProjectId,
    /// Short name.
    pub key: String,
    /// Name for people.
    pub name: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// What the one who asked is in it.
    pub role: Role,
    /// What it keeps, masks and lets happen.
    pub policy: Policy,
    /// Which version of the policy that is; 0 until somebody sets one.
    pub policy_version: i32,
}

/// How much a project holds.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// Records that can be recalled.
    pub records: i64,
    /// Records whose cited code changed.
    pub stale_records: i64,
    /// Documents.
    pub docs: i64,
    /// Dialogs.
    pub dialogs: i64,
    /// Tasks.
    pub tasks: i64,
    /// Indexed repositories.
    pub repositories: i64,
    /// Indexed files.
    pub files: i64,
    /// Searchable passages.
    pub passages: i64,
}

/// Whether somebody may create projects. Programs may not: whoever creates one administers it, and no program
/// does, so nobody would.
pub async fn may_create(store: &Store, principal: UserId) -> Result<bool, Error> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from users where id = $1 and not is_agent) as "may!""#,
        principal.0
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Creates the project, administered by who asks, and notes that in the service's audit, or finds it as
/// it is; the flag says which. One that exists and that the principal may not see is [`Error::Exists`], and
/// so is any other for who may not create one ([`may_create`]).
pub async fn create(
    store: &Store,
    principal: UserId,
    key: &ProjectKey,
    name: &str,
) -> Result<(Project, bool), Error> {
    let mut tx = store.begin().await?;
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
        let project = find_by_key(&mut *tx.0, principal, key).await?.ok_or(Error::Gone)?;
        let event =
            NewEvent::new(AuditAction::ProjectCreated, key).with(json!({ "id": project.id }));
        audit::add(&mut tx, Chain::Service, Some(principal), &[event]);
        tx.commit().await?;
        return Ok((project, true));
    }
    drop(tx);
    match find(store, principal, key).await? {
        Some(project) => Ok((project, false)),
        None => Err(Error::Exists { what: "a project with this key" }),
    }
}

/// The project with this key, if the principal has a role on it.
pub async fn find(
    store: &Store,
    principal: UserId,
    key: &ProjectKey,
) -> Result<Option<Project>, Error> {
    let mut session = store.plain().await?;
    let found = find_by_key(&mut *session, principal, key).await?;
    session.done();
    Ok(found)
}

async fn find_by_key(
    executor: impl sqlx::PgExecutor<'_>,
    principal: UserId,
    key: &ProjectKey,
) -> Result<Option<Project>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from mc.find_project_by_key($1, $2)"#,
        principal.0,
        key.as_str()
    )
    .fetch_optional(executor)
    .await?;
    row.map(Row::into_project).transpose()
}

/// The policy of a project once nobody is about to set another, `None` where it is gone. Until the transaction
/// ends nobody sets one: who does then sees all that was written before.
pub async fn lock_policy(tx: &mut Tx, project: ProjectId) -> Result<Option<Policy>, Error> {
    let document =
        sqlx::query_scalar!("select policy from projects where id = $1 for share", project.0)
            .fetch_optional(&mut *tx.0)
            .await?;
    document.map(policies::read).transpose()
}

/// Something that belongs to a project, named by its id alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectResource {
    /// A record.
    Record(RecordId),
    /// A bundle.
    Bundle(BundleId),
    /// A run of the indexer.
    Ingest(IngestRunId),
    /// Something in quarantine; found only by those who may decide about it.
    Hold(QuarantineItemId),
}

/// The project that something belongs to, if the principal has a role on it.
pub async fn find_by_resource(
    store: &Store,
    principal: UserId,
    what: ProjectResource,
) -> Result<Option<Project>, Error> {
    let (record, bundle, ingest, hold) = match what {
        ProjectResource::Record(id) => (Some(id.0), None, None, None),
        ProjectResource::Bundle(id) => (None, Some(id.0), None, None),
        ProjectResource::Ingest(id) => (None, None, Some(id.0), None),
        ProjectResource::Hold(id) => (None, None, None, Some(id.0)),
    };
    let row = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from (select * from mc.find_project_of_record($1, $2)
                 union all select * from mc.find_project_of_bundle($1, $3)
                 union all select * from mc.find_project_of_ingest_run($1, $4)
                 union all select * from mc.find_project_of_quarantine_item($1, $5)) as holding"#,
        principal.0,
        record,
        bundle,
        ingest,
        hold
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(Row::into_project).transpose()
}

/// Every project on which the principal has a role, by key.
pub async fn list(store: &Store, principal: UserId) -> Result<Vec<Project>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id as "id!", key as "key!", name as "name!", created_at as "created_at!",
                  role::text as "role!", policy as "policy!", policy_version as "policy_version!"
           from mc.list_projects($1) order by key"#,
        principal.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    rows.into_iter().map(Row::into_project).collect()
}

/// The columns of a project as they are read.
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
    fn into_project(self) -> Result<Project, Error> {
        Ok(Project {
            id: self.id.into(),
            key: self.key,
            name: self.name,
            created_at: self.created_at,
            role: word(&self.role)?,
            policy: policies::read(self.policy)?,
            policy_version: self.policy_version,
        })
    }
}

/// Removes the project that was entered, and all that belongs to it but its audit, and notes that in the
/// service's; [`Error::Gone`] where it is removed already, or not the caller's to remove any more. Where it meets what
/// the background writes for the project, one of both has to give way.
pub async fn delete(store: &Store, project: &Project) -> Result<(), Error> {
    retry_on_deadlock(|| remove(store, project)).await
}

async fn remove(store: &Store, project: &Project) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    let done = sqlx::query!("delete from projects where id = $1", project.id.0)
        .execute(&mut *tx.0)
        .await?;
    if done.rows_affected() == 0 {
        return Err(Error::Gone);
    }
    let event =
        NewEvent::new(AuditAction::ProjectDeleted, &project.key).with(json!({ "id": project.id }));
    audit::add(&mut tx, Chain::Service, store.principal(), &[event]);
    tx.commit().await
}

/// Counts what the project holds.
pub async fn overview(store: &Store, project: ProjectId) -> Result<Overview, Error> {
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
