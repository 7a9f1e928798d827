//! Reasoning schemas of projects.

use chrono::{DateTime, Utc};
use mc_domain::ProjectId;
use mc_sanitizer::Sanitized;
use sqlx::PgConnection;

use crate::project_lock::{self, ProjectPart};
use crate::{Result, Store, Tx};

/// A reasoning schema of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchema {
    /// Its name, which is unique in the project.
    pub name: String,
    /// The YAML file, masked.
    pub source: String,
    /// Login of the user who set it; `None` if that user was deleted.
    pub updated_by: Option<String>,
    /// When it was set.
    pub updated_at: DateTime<Utc>,
}

/// Lists the schemas of a project by name.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<StoredSchema>> {
    list_on(&mut *store.read().await?, project).await
}

/// Locks the schemas of a project until the transaction ends, and lists them. A change of one is
/// checked against the others, so changes wait for each other.
pub async fn lock(tx: &mut Tx, project: ProjectId) -> Result<Vec<StoredSchema>> {
    project_lock::lock(tx, project, ProjectPart::SgrSchemas).await?;
    list_on(&mut tx.0, project).await
}

async fn list_on(connection: &mut PgConnection, project: ProjectId) -> Result<Vec<StoredSchema>> {
    Ok(sqlx::query_as!(
        StoredSchema,
        r#"select s.name, s.source, u.login as "updated_by?", s.updated_at
           from sgr_schemas s left join users u on u.id = s.updated_by
           where s.project_id = $1 order by s.name"#,
        project.0
    )
    .fetch_all(connection)
    .await?)
}

/// Creates or replaces a schema.
pub async fn put(tx: &mut Tx, project: ProjectId, name: &str, source: &Sanitized) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into sgr_schemas (project_id, name, source, updated_by) values ($1, $2, $3, $4)
         on conflict (project_id, name) do update set
             source = excluded.source, updated_by = excluded.updated_by, updated_at = now()",
        project.0,
        name,
        source.as_str(),
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Deletes a schema; returns whether the project had it.
pub async fn delete(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "delete from sgr_schemas where project_id = $1 and name = $2",
        project.0,
        name
    ))
    .await
}
