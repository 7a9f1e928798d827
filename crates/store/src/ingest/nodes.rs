//! Nodes that serve requests, by which a request for a workspace finds the node with its files.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{NodeId, WorkspaceId};

use crate::{Result, Store};

/// How often a node renews its row.
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// A node whose row is older than this is dead.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Days after which the row of a dead node is deleted.
const KEPT_DAYS: i32 = 30;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Identifier.
    pub id: NodeId,
    /// Host and data directory.
    pub name: String,
    /// URL at which other nodes reach it; empty if none is configured.
    pub url: String,
    /// When it renewed its row.
    pub seen_at: DateTime<Utc>,
    /// Whether that was recently.
    pub is_alive: bool,
}

/// Registers this node, or renews its row. Deletes the rows of nodes that are long dead.
pub async fn renew(store: &Store, id: NodeId, name: &str, url: &str) -> Result<()> {
    sqlx::query!(
        "with expired as (delete from nodes where id <> $1
                              and seen_at < now() - make_interval(days => $4))
         insert into nodes (id, name, url) values ($1, $2, $3)
         on conflict (id) do update set name = $2, url = $3, seen_at = now()",
        id.0,
        name,
        url,
        KEPT_DAYS
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Returns the node with the files of a workspace, if the caller of `store` may see the workspace
/// and its node is known.
pub async fn of_workspace(store: &Store, workspace: WorkspaceId) -> Result<Option<Node>> {
    let row = sqlx::query!(
        r#"select n.id, n.name, n.url, n.seen_at,
                  n.seen_at > now() - make_interval(secs => $2) as "is_alive!"
           from workspaces w join nodes n on n.id = w.node_id where w.id = $1"#,
        workspace.0,
        TIMEOUT.as_secs_f64()
    )
    .fetch_optional(&mut *store.read().await?)
    .await?;
    Ok(row.map(|row| Node {
        id: row.id.into(),
        name: row.name,
        url: row.url,
        seen_at: row.seen_at,
        is_alive: row.is_alive,
    }))
}
