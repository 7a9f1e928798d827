//! The disk space of workspaces.

use std::collections::BTreeSet;

use mc_domain::{NodeId, ProjectId, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::project_lock::{self, ProjectPart};
use crate::{Result, Store, Tx};

/// What the workspaces of a project take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Number of clones of the user, without those that could not be fetched.
    pub of_user: i64,
    /// Bytes of all clones of the project.
    pub bytes: i64,
    /// Number of those that are not fetched yet.
    pub pending: i64,
}

/// Returns what the clones of a project take, and locks it until the transaction ends: two
/// requests at once must not both get the rest of the space.
pub async fn lock_space(tx: &mut Tx, project: ProjectId, user: UserId) -> Result<Space> {
    project_lock::lock(tx, project, ProjectPart::Workspaces).await?;
    read_space(&mut tx.0, project, user).await
}

/// Returns what the clones of a project take.
pub async fn space(store: &Store, project: ProjectId, user: UserId) -> Result<Space> {
    read_space(&mut *store.read().await?, project, user).await
}

async fn read_space(
    connection: &mut PgConnection,
    project: ProjectId,
    user: UserId,
) -> Result<Space> {
    let row = sqlx::query!(
        r#"select of_user as "of_user!", bytes as "bytes!", pending as "pending!"
           from mc.workspace_space($1, $2)"#,
        project.0,
        user.0
    )
    .fetch_one(connection)
    .await?;
    Ok(Space { of_user: row.of_user, bytes: row.bytes, pending: row.pending })
}

/// Stores the size of a workspace on the disk.
pub async fn set_size(store: &Store, id: WorkspaceId, bytes: i64) -> Result<()> {
    sqlx::query!("update workspaces set size_bytes = $2 where id = $1", id.0, bytes)
        .execute(&mut *store.plain().await?)
        .await?;
    Ok(())
}

/// Deletes the workspaces that expired without a use: those of this node, and those of
/// dead nodes, which delete the files once they live again. Returns their number.
pub async fn delete_expired(store: &Store, node: NodeId) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from workspaces w
         where w.expires_at < now() and w.state <> 'fetching'
             and (w.node_id = $1 or not exists (
                 select from nodes n where n.id = w.node_id
                     and n.seen_at > now() - make_interval(secs => $2)))",
        node.0,
        super::super::nodes::TIMEOUT.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(deleted.rows_affected())
}

/// Returns which of these workspaces exist and have their files on this node.
pub async fn exist(
    store: &Store,
    node: NodeId,
    ids: &[WorkspaceId],
) -> Result<BTreeSet<WorkspaceId>> {
    let ids = crate::row::uuids(ids);
    let rows = sqlx::query_scalar!(
        "select id from workspaces where id = any($1) and node_id = $2",
        &ids,
        node.0
    )
    .fetch_all(&mut *store.plain().await?)
    .await?;
    Ok(rows.into_iter().map(WorkspaceId::from).collect())
}
