//! Exports of team records: compressed documents.

use mc_contract::operations::export::Export;
use mc_domain::{ExportId, ProjectId};

use crate::{Result, Store, Tx};

/// Exports kept per project; two months of weekly ones.
const KEPT: i64 = 8;

/// Stores an export and deletes the oldest ones above the limit.
pub async fn add(
    tx: &mut Tx,
    project: ProjectId,
    records: usize,
    bytes: usize,
    document: &[u8],
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into exports (id, project_id, record_count, size_bytes, document)
             values ($1, $2, $3, $4, $5)",
        ExportId::generate().0,
        project.0,
        i32::try_from(records).unwrap_or(i32::MAX),
        i64::try_from(bytes).unwrap_or(i64::MAX),
        document
    ))
    .await?;
    tx.run(sqlx::query!(
        "delete from exports where project_id = $1 and id not in (
             select id from exports where project_id = $1 order by id desc limit $2)",
        project.0,
        KEPT
    ))
    .await
}

/// Returns the exports of a project, newest first.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Export>> {
    Ok(sqlx::query_as!(
        Export,
        "select id, created_at, record_count, size_bytes from exports where project_id = $1
             order by id desc",
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?)
}

/// Returns the stored YAML document of an export; `None` if there is no such export.
pub async fn document(store: &Store, project: ProjectId, id: ExportId) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!(
        "select document from exports where project_id = $1 and id = $2",
        project.0,
        id.0
    )
    .fetch_optional(&mut *store.read().await?)
    .await?)
}
