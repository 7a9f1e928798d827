//! Keeps the server running: a server that dies is started again, with PostgreSQL's own crash
//! recovery, until the service stops.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::cluster::Cluster;
use super::lock::DataDirLock;
use super::server::{self, Server};
use super::stale_server;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A server that ran this long has recovered from what killed the one before it.
const STEADY_AFTER: Duration = Duration::from_mins(1);

/// Whether the private server can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It takes connections.
    Running,
    /// It died and is being started again.
    Restarting {
        /// Why, in one line; for people.
        reason: String,
    },
    /// It was stopped on demand.
    Stopped,
}

/// Watches the server until `stop`, then stops it and gives the data directory free.
pub(super) async fn supervise(
    cluster: Cluster,
    mut server: Server,
    lock: DataDirLock,
    health: watch::Sender<Health>,
    stop: CancellationToken,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let end = tokio::select! {
            () = stop.cancelled() => break server.stop().await,
            end = server.exited() => end,
        };
        let reason = end.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(reason, "the private PostgreSQL died; starting it again");
        health.send_replace(Health::Restarting { reason });
        if began.elapsed() > STEADY_AFTER {
            pause = FIRST_PAUSE;
        }
        server = tokio::select! {
            () = stop.cancelled() => break abandon(&cluster).await,
            server = restart(&cluster, &health, &mut pause) => server,
        };
        health.send_replace(Health::Running);
    }
    health.send_replace(Health::Stopped);
    drop(lock);
}

/// Ends a server whose start was interrupted.
pub(super) async fn abandon(cluster: &Cluster) {
    if let Err(error) = stale_server::clear(&cluster.places.cluster()).await {
        tracing::error!(%error, "the private PostgreSQL can't be ended");
    }
}

/// Tries until the server runs, with growing pauses.
async fn restart(
    cluster: &Cluster,
    health: &watch::Sender<Health>,
    pause: &mut Duration,
) -> Server {
    loop {
        sleep(*pause).await;
        *pause = (*pause * 2).min(LONGEST_PAUSE);
        match server::start(cluster).await {
            Ok(server) => return server,
            Err(error) => {
                tracing::error!(%error, "the private PostgreSQL can't be started");
                health.send_replace(Health::Restarting { reason: error.to_string() });
            }
        }
    }
}
