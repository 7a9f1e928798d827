//! Projects.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, ProjectKey};

use crate::{Error, Store, vectors};

/// A project as stored.
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
    /// Passages whose vector is not there yet.
    pub pending_vectors: i64,
}

/// Creates the project, or finds it as it is; the flag says which.
pub async fn create(store: &Store, key: &ProjectKey, name: &str) -> Result<(Project, bool), Error> {
    let created = sqlx::query_as!(
        Project,
        "insert into projects (id, key, name) values ($1, $2, $3)
         on conflict (key) do nothing
         returning id, key, name, created_at",
        ProjectId::generate().0,
        key.as_str(),
        name
    )
    .fetch_optional(&store.pool)
    .await?;
    match created {
        Some(project) => Ok((project, true)),
        None => Ok((find(store, key).await?.ok_or(Error::Gone)?, false)),
    }
}

/// The project with this key.
pub async fn find(store: &Store, key: &ProjectKey) -> Result<Option<Project>, Error> {
    Ok(sqlx::query_as!(
        Project,
        "select id, key, name, created_at from projects where key = $1",
        key.as_str()
    )
    .fetch_optional(&store.pool)
    .await?)
}

/// Every project, by key.
pub async fn list(store: &Store) -> Result<Vec<Project>, Error> {
    Ok(sqlx::query_as!(Project, "select id, key, name, created_at from projects order by key")
        .fetch_all(&store.pool)
        .await?)
}

/// Removes the project and all that belongs to it.
pub async fn delete(store: &Store, project: ProjectId) -> Result<(), Error> {
    sqlx::query!("delete from projects where id = $1", project.0).execute(&store.pool).await?;
    Ok(())
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
            (select count(*) from passages where project_id = $1) as "passages!",
            (select count(*) from embedding_queue q join passages p on p.id = q.passage_id
                where p.project_id = $1 and q.attempts < $2) as "pending_vectors!""#,
        project.0,
        vectors::FAILING_AFTER
    )
    .fetch_one(&store.pool)
    .await?)
}
