//! A private PostgreSQL of the service: found, initialised, started, watched and stopped.
//!
//! Everything of it lives below one folder: the cluster, its password, its log, its socket and the
//! lock that keeps a second service away. Nothing listens on the network. Start reading at
//! [`Embedded::start`].

mod cluster;
mod data_dir;
pub(crate) mod discover;
mod error;
mod initialize;
mod lock;
mod server;
mod stale_server;
mod supervise;
mod user;

use std::fmt;
use std::path::PathBuf;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use cluster::Cluster;
use server::Server;

pub use data_dir::{is_initialised, remove, rename, url_of_running};
pub use discover::{Installation, discover};
pub use error::EmbeddedError;
pub use lock::DataDirLock;
pub use supervise::Health;

/// What the private server needs to know.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// The folder that holds all of the server; made when missing, closed to other users.
    pub data_dir: PathBuf,
    /// Installations to prefer over the system's, in this order: folders with `bin/postgres`.
    pub install_dirs: Vec<PathBuf>,
    /// Who runs the server when the service is root, which PostgreSQL refuses. By default the
    /// owner of an existing cluster, else `postgres`, else `nobody`. Of no effect otherwise.
    pub run_as: Option<String>,
}

/// A running private server. Dropping it stops the server too, without waiting for the end.
pub struct Embedded {
    url: String,
    installation: Installation,
    health: watch::Receiver<Health>,
    supervisor: JoinHandle<()>,
    stop: DropGuard,
}

impl Embedded {
    /// Starts the server, initialising its folder first where that is new, and answers once it
    /// takes connections. What a killed service or server left behind is cleared up. From then on
    /// the server is restarted whenever it dies.
    pub async fn start(settings: EmbeddedSettings) -> Result<Self, EmbeddedError> {
        let (cluster, lock) = initialize::prepare(&settings).await?;
        let server = server::start_with_database(&cluster).await?;
        Self::watched(cluster, server, lock)
    }

    /// [`Embedded::start`], given up when `cancel` comes first: a server that replays its log may
    /// need minutes. Then the server is gone, and the folder free for another service. A folder
    /// that is being initialised is finished, which takes seconds.
    pub async fn start_unless_cancelled(
        settings: EmbeddedSettings,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, EmbeddedError> {
        let (cluster, lock) = initialize::prepare(&settings).await?;
        let starting = server::start_with_database(&cluster);
        let Some(server) = cancel.run_until_cancelled(starting).await else {
            supervise::abandon(&cluster).await;
            drop(lock);
            return Ok(None);
        };
        Self::watched(cluster, server?, lock).map(Some)
    }

    fn watched(cluster: Cluster, server: Server, lock: DataDirLock) -> Result<Self, EmbeddedError> {
        let url = cluster.url()?;
        let installation = cluster.installation.clone();
        let stop = CancellationToken::new();
        let (report, health) = watch::channel(Health::Running);
        let supervisor =
            tokio::spawn(supervise::supervise(cluster, server, lock, report, stop.clone()));
        Ok(Self { url, installation, health, supervisor, stop: stop.drop_guard() })
    }

    /// The connection URL of the service's database. It holds the password: not for logs.
    ///
    /// It stays the same when the server is restarted.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The programs that run.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Whether the server runs, now and whenever that changes.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    /// Stops the server in order: open transactions are rolled back, everything committed is on
    /// disk. Answers when it is gone and the folder is free for another service.
    pub async fn stop(self) {
        self.stop.disarm().cancel();
        // The task ends by itself, and a panic in it has been reported by then.
        let _ = self.supervisor.await;
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("installation", &self.installation)
            .field("health", &*self.health.borrow())
            .finish_non_exhaustive()
    }
}
