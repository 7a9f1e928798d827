//! Deletion candidates: imported items that a full listing of the resource has not shown yet. They
//! are stored, because a reconciliation may take several jobs.

use mc_domain::IntegrationId;

use crate::{Result, Tx};

/// Starts a reconciliation of the tasks that an integration imported; returns their number. Tasks
/// marked as deleted are left out.
pub async fn seed_tasks(tx: &mut Tx, id: IntegrationId) -> Result<u64> {
    clear(tx, id).await?;
    tx.count_changed(sqlx::query!(
        "insert into deletion_candidates (project_id, integration_id, external_id)
         select project_id, integration_id, external_id from tasks
         where integration_id = $1 and status <> 'deleted'",
        id.0
    ))
    .await
}

/// Starts a reconciliation of the documents that an integration imported; returns the number of
/// their ids.
pub async fn seed_docs(tx: &mut Tx, id: IntegrationId) -> Result<u64> {
    clear(tx, id).await?;
    tx.count_changed(sqlx::query!(
        "insert into deletion_candidates (project_id, integration_id, external_id)
         select distinct project_id, integration_id, doc_id from docs where integration_id = $1",
        id.0
    ))
    .await
}

/// Removes listed items from the candidates.
pub async fn mark_seen(tx: &mut Tx, id: IntegrationId, ids: &[String]) -> Result<()> {
    tx.run(sqlx::query!(
        "delete from deletion_candidates where integration_id = $1 and external_id = any($2)",
        id.0,
        ids
    ))
    .await
}

/// Returns whether there are candidates left.
pub async fn has_any(tx: &mut Tx, id: IntegrationId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from deletion_candidates where integration_id = $1) as "left!""#,
        id.0
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Removes and returns the next candidates, in order; empty when there are none.
pub async fn take(tx: &mut Tx, id: IntegrationId, limit: i64) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "delete from deletion_candidates where integration_id = $1 and external_id in (
             select u.external_id from deletion_candidates u where u.integration_id = $1
                 order by u.external_id limit $2)
         returning external_id",
        id.0,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?)
}

async fn clear(tx: &mut Tx, id: IntegrationId) -> Result<()> {
    tx.run(sqlx::query!("delete from deletion_candidates where integration_id = $1", id.0)).await
}
