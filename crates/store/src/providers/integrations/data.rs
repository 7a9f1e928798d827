//! Tasks and documents that an integration imported.

use mc_domain::{DocId, IntegrationId, ProjectId};

use crate::row::uuids;
use crate::{Result, Tx};

/// Assigns tasks and documents to the integration that imported them, so that a reconciliation can
/// delete them.
pub async fn assign_integration(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    tasks: &[String],
    documents: &[DocId],
) -> Result<()> {
    tx.run(sqlx::query!(
        "update tasks set integration_id = $2
         where project_id = $1 and external_id = any($3) and integration_id is distinct from $2",
        project.0,
        id.0,
        tasks
    ))
    .await?;
    tx.run(sqlx::query!(
        "update docs set integration_id = (select c.id from integrations c where c.project_id = $1
             and c.id = $2)
         where project_id = $1 and id = any($3) and integration_id is distinct from $2",
        project.0,
        id.0,
        &uuids(documents)
    ))
    .await
}

/// Assigns documents of a source, by their ids there, to the integration that imported them.
pub async fn assign_docs_integration(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    source: &str,
    doc_ids: &[String],
) -> Result<()> {
    tx.run(sqlx::query!(
        "update docs set integration_id = $2
         where project_id = $1 and source = $3 and doc_id = any($4) and integration_id is distinct
             from $2",
        project.0,
        id.0,
        source,
        doc_ids
    ))
    .await
}

/// Deletes the data that an integration imported: its documents, and the content of its tasks. The
/// tasks stay for the items linked to them, and the next state from their tracker is stored,
/// however old. Returns the numbers of tasks and documents.
pub async fn purge(tx: &mut Tx, project: ProjectId, id: IntegrationId) -> Result<(u64, u64)> {
    let tasks = tx
        .count_changed(sqlx::query!(
            "update tasks set title = '', status = 'unknown', assignee = null, labels = '{}',
             links = '[]',
             updated_at = now(), source_updated_at = null, integration_id = null
         where project_id = $1 and integration_id = $2",
            project.0,
            id.0
        ))
        .await?;
    Ok((tasks, purge_documents(tx, project, id).await?))
}

/// Deletes the documents that an integration imported; returns their number.
pub async fn purge_documents(tx: &mut Tx, project: ProjectId, id: IntegrationId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from docs where project_id = $1 and integration_id = $2",
        project.0,
        id.0
    ))
    .await
}

/// Deletes those of an integration's documents that have one of these ids at their source; returns
/// their number.
pub async fn delete_missing_docs(
    tx: &mut Tx,
    project: ProjectId,
    id: IntegrationId,
    doc_ids: &[String],
) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from docs where project_id = $1 and integration_id = $2 and doc_id = any($3)",
        project.0,
        id.0,
        doc_ids
    ))
    .await
}
