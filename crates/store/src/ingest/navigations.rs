//! Navigations: current directory and phase of a user in a workspace.

use std::time::Duration;

use mc_domain::{NavigationId, NavigationPhase, ProjectId, UserId, WorkspaceId};

use crate::error::word;
use crate::row::read;
use crate::{Result, Store, Tx};

/// A navigation as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNavigation {
    /// Identifier, the handle that a client sends back.
    pub id: NavigationId,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Path of the current directory from the root; empty for the root.
    pub cwd: String,
    /// Phase.
    pub phase: NavigationPhase,
}

/// Starts a navigation of a user at the root of a workspace, in discovery.
pub async fn create(
    tx: &mut Tx,
    project: ProjectId,
    workspace: WorkspaceId,
    user: UserId,
    id: NavigationId,
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into navigations (id, project_id, workspace_id, user_id) values ($1, $2, $3, $4)",
        id.0,
        project.0,
        workspace.0,
        user.0
    ))
    .await
}

/// Returns the navigation with this id, unless it was idle for longer than `max_idle`.
pub async fn find(
    store: &Store,
    id: NavigationId,
    max_idle: Duration,
) -> Result<Option<StoredNavigation>> {
    let row = sqlx::query!(
        "select id, workspace_id, cwd, phase from navigations
         where id = $1 and used_at > now() - make_interval(secs => $2)",
        id.0,
        max_idle.as_secs_f64()
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    read!(optional row => StoredNavigation {
        id: row.id.into(), workspace: row.workspace_id.into(), cwd, phase: word(&row.phase)?
    })
}

/// Changes the current directory and phase of a navigation. Returns `false` if another call has
/// changed them since `before` was read.
pub async fn update(
    store: &Store,
    before: &StoredNavigation,
    cwd: &str,
    phase: NavigationPhase,
) -> Result<bool> {
    let mut tx = store.begin().await?;
    let is_updated = tx
        .has_changed(sqlx::query!(
            "update navigations set cwd = $2, phase = $3, used_at = now()
             where id = $1 and cwd = $4 and phase = $5",
            before.id.0,
            cwd,
            phase.as_str(),
            before.cwd,
            before.phase.as_str()
        ))
        .await?;
    tx.commit().await?;
    Ok(is_updated)
}

/// Stores that a navigation was used.
pub async fn touch(store: &Store, id: NavigationId) -> Result<()> {
    let mut tx = store.begin().await?;
    tx.run(sqlx::query!("update navigations set used_at = now() where id = $1", id.0)).await?;
    tx.commit().await
}

/// Deletes a navigation; returns whether it existed.
pub async fn delete(tx: &mut Tx, id: NavigationId) -> Result<bool> {
    tx.has_changed(sqlx::query!("delete from navigations where id = $1", id.0)).await
}

/// Deletes the navigations that were idle for longer than `max_idle`. Returns their number.
pub async fn delete_idle(store: &Store, max_idle: Duration) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from navigations where used_at < now() - make_interval(secs => $1)",
        max_idle.as_secs_f64()
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(deleted.rows_affected())
}
