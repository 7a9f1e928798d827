//! Supervision: restarts a server that dies until the service stops. PostgreSQL's crash recovery
//! repairs its data.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::lock::DataDirLock;
use super::server::{self, Server};
use super::stale_server;

const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Run time after which the next failure starts again at [`BACKOFF_MIN`].
const BACKOFF_RESET_AFTER: Duration = Duration::from_mins(1);

/// Health of the embedded server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The server accepts connections.
    Running,
    /// The server died and is being restarted.
    Restarting {
        /// Reason in one line, for people.
        reason: String,
    },
    /// The service stopped the server.
    Stopped,
}

/// Restarts the server when it dies, until `stop`; then stops it and unlocks the data directory.
pub(super) async fn supervise(
    cluster: Cluster,
    mut server: Server,
    lock: DataDirLock,
    health: watch::Sender<Health>,
    stop: CancellationToken,
) {
    let mut backoff = BACKOFF_MIN;
    loop {
        let started_at = Instant::now();
        let end = tokio::select! {
            () = stop.cancelled() => break server.stop().await,
            end = server.exited() => end,
        };
        let reason = end.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(reason, "the embedded PostgreSQL died; restarting it");
        health.send_replace(Health::Restarting { reason });
        if started_at.elapsed() > BACKOFF_RESET_AFTER {
            backoff = BACKOFF_MIN;
        }
        server = tokio::select! {
            () = stop.cancelled() => break end_started(&cluster).await,
            server = restart(&cluster, &health, &mut backoff) => server,
        };
        health.send_replace(Health::Running);
    }
    health.send_replace(Health::Stopped);
    drop(lock);
}

/// Ends a server whose start was canceled.
pub(super) async fn end_started(cluster: &Cluster) {
    if let Err(error) = stale_server::clear(&cluster.paths.cluster()).await {
        tracing::error!(%error, "the embedded PostgreSQL can't be ended");
    }
}

/// Retries with exponential backoff until the server runs.
async fn restart(
    cluster: &Cluster,
    health: &watch::Sender<Health>,
    backoff: &mut Duration,
) -> Server {
    loop {
        sleep(*backoff).await;
        *backoff = (*backoff * 2).min(BACKOFF_MAX);
        match server::start(cluster).await {
            Ok(server) => return server,
            Err(error) => {
                tracing::error!(%error, "the embedded PostgreSQL can't be started");
                health.send_replace(Health::Restarting { reason: error.to_string() });
            }
        }
    }
}
