//! The embedded server: a private PostgreSQL that the service finds, initializes, starts,
//! supervises and stops.
//!
//! All its files are below one data directory: the cluster, its password, log and socket, and the
//! lock that keeps a second service out. It does not listen on the network. Start reading at
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

pub use data_dir::{is_initialized, remove, rename, url_of_running};
pub use discover::{Installation, discover};
pub use error::{EmbeddedError, Result};
pub use lock::DataDirLock;
pub use supervise::Health;

/// Settings of the embedded server.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Directory of all files of the server; created if missing, with mode 0700.
    pub data_dir: PathBuf,
    /// Installations to prefer over the system's, in this order: directories with `bin/postgres`.
    pub install_dirs: Vec<PathBuf>,
    /// User that runs the server if the service is root, as which PostgreSQL does not run. Defaults
    /// to the owner of an existing cluster, then `postgres`, then `nobody`. Ignored for other
    /// users.
    pub run_as: Option<String>,
}

/// A running embedded server. Dropping it stops the server without waiting for its end.
pub struct Embedded {
    url: String,
    installation: Installation,
    health: watch::Receiver<Health>,
    supervisor: JoinHandle<()>,
    stop: DropGuard,
}

impl Embedded {
    /// Starts the server, and returns once it accepts connections. Initializes a new data
    /// directory, and cleans up after a killed service or server. A supervisor restarts the server
    /// if it dies.
    pub async fn start(settings: EmbeddedSettings) -> Result<Self> {
        let (cluster, lock) = initialize::prepare(&settings).await?;
        let server = server::start_with_database(&cluster).await?;
        Self::supervised(cluster, server, lock)
    }

    /// Starts the server like [`Embedded::start`], or returns `None` after `cancel`: a server that
    /// replays its log may need minutes. The server has then ended, and the data directory is
    /// unlocked. An initialization that runs is completed, which takes seconds.
    pub async fn start_unless_cancelled(
        settings: EmbeddedSettings,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>> {
        let (cluster, lock) = initialize::prepare(&settings).await?;
        let starting = server::start_with_database(&cluster);
        let Some(server) = cancel.run_until_cancelled(starting).await else {
            supervise::end_started(&cluster).await;
            drop(lock);
            return Ok(None);
        };
        Self::supervised(cluster, server?, lock).map(Some)
    }

    fn supervised(cluster: Cluster, server: Server, lock: DataDirLock) -> Result<Self> {
        let url = cluster.url()?;
        let installation = cluster.installation.clone();
        let stop = CancellationToken::new();
        let (report, health) = watch::channel(Health::Running);
        let supervisor =
            tokio::spawn(supervise::supervise(cluster, server, lock, report, stop.clone()));
        Ok(Self { url, installation, health, supervisor, stop: stop.drop_guard() })
    }

    /// Returns the connection URL of the service's database, which a restart does not change. It
    /// holds the password, so don't log it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the installation whose programs run.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Returns a receiver of the server's health and its changes.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    /// Shuts the server down: it rolls open transactions back and writes committed data to disk.
    /// Returns once it has ended and the data directory is unlocked.
    pub async fn stop(self) {
        self.stop.disarm().cancel();
        // The task ends by itself; the runtime has reported a panic in it.
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
