//! The collector of a node: deletes workspaces that expired, and measures the others.

use std::path::Path;
use std::time::Duration;

use mc_domain::WorkspaceId;
use mc_memory::content_filter::run_blocking;
use mc_store::{Store, navigations, nodes, workspaces};
use tokio_util::sync::CancellationToken;

use crate::copy::delete_left;
use crate::fetch::size;
use crate::{ServiceError, Settings, Workbench};

/// How often the collector works.
const INTERVAL: Duration = Duration::from_mins(1);

/// Registers this node every few seconds until `stop`. `url` is where other nodes reach it.
pub async fn keep_registered(
    store: Store,
    settings: &Settings,
    name: &str,
    url: &str,
    stop: &CancellationToken,
) {
    loop {
        if let Err(error) = nodes::renew(&store, settings.node, name, url).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "the node is not registered");
        }
        if stop.run_until_cancelled(tokio::time::sleep(nodes::HEARTBEAT)).await.is_none() {
            return;
        }
    }
}

/// Collects once a minute until `stop`.
pub async fn run(store: Store, workbench: &Workbench, stop: &CancellationToken) {
    loop {
        if let Err(error) = collect(&store, workbench).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "workspaces could not be collected"
            );
        }
        if stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none() {
            return;
        }
    }
}

/// Deletes expired workspaces, ended navigations, and the directories of deleted workspaces on this
/// node. Stores the sizes of the others, without copies that an earlier process left.
pub async fn collect(store: &Store, workbench: &Workbench) -> Result<(), ServiceError> {
    let settings = &workbench.settings;
    workspaces::fail_abandoned(store).await?;
    navigations::delete_idle(store, settings.max_idle).await?;
    let deleted = workspaces::delete_expired(store, settings.node).await?;
    if deleted > 0 {
        tracing::info!(deleted, "unused workspaces deleted");
    }
    // Listed before the rows are read: an attempt names its node in the row before it creates the
    // directory.
    let directory = settings.directory.clone();
    let ids = run_blocking(move || list(&directory)).await;
    let existing = workspaces::exist(store, settings.node, &ids).await?;
    for id in ids {
        if existing.contains(&id) {
            let (directory, limit) = (settings.directory_of(id), settings.max_project_bytes);
            let measure = move || {
                delete_left(&directory);
                size(&directory, limit)
            };
            let bytes = run_blocking(measure).await;
            workspaces::set_size(store, id, bytes).await?;
        } else if let Err(error) = workbench.delete_directory(id).await {
            tracing::warn!(workspace.id = %id, %error, "a directory could not be deleted");
        }
    }
    Ok(())
}

/// Lists the workspaces whose clones are in a directory.
fn list(directory: &Path) -> Vec<WorkspaceId> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}
