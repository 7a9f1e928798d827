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

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::{fmt, io, panic, thread};

use mc_privileges::raise_privileges;
use tokio::runtime;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use cluster::Cluster;
use server::Server;

pub use data_dir::{is_initialized, remove, rename, url_of_running};
pub use discover::{Installation, discover};
pub use error::{EmbeddedError, Result};
pub use initialize::SHARED_DIR_MODE;
pub use lock::DataDirLock;
pub use supervise::Health;

/// Settings of the embedded server.
#[derive(Debug, Clone)]
pub struct EmbeddedSettings {
    /// Directory of all files of the server; created if missing, with mode 0700 (0710 for root).
    pub data_dir: PathBuf,
    /// Installations to prefer over the system's, in this order: directories with `bin/postgres`.
    pub install_dirs: Vec<PathBuf>,
    /// User that runs the server if the service is root, as which PostgreSQL does not run. Defaults
    /// to the owner of an existing cluster, then `postgres`, then `nobody`. Ignored for other
    /// users.
    pub run_as: Option<String>,
}

/// A running embedded server. Dropping it stops the server without waiting for its end. If the
/// process ends at once, the server may stay; the next start ends it.
pub struct Embedded {
    url: String,
    installation: Installation,
    health: watch::Receiver<Health>,
    /// Completes at the end of the server's thread.
    ended: oneshot::Receiver<()>,
    stop: DropGuard,
}

impl Embedded {
    /// Starts the server, and returns once it accepts connections. Initializes a new data
    /// directory, and cleans up after a killed service or server. A supervisor restarts the server
    /// if it dies.
    pub async fn start(settings: EmbeddedSettings) -> Result<Self> {
        let started = Self::start_unless_cancelled(settings, &CancellationToken::new()).await?;
        Ok(started.expect("nothing cancels the start"))
    }

    /// Starts the server like [`Embedded::start`], or returns `None` after `cancel`: a server that
    /// replays its log may need minutes. The server has then ended, and the data directory is
    /// unlocked. An initialization that runs is completed, which takes seconds.
    pub async fn start_unless_cancelled(
        settings: EmbeddedSettings,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>> {
        let data_dir = settings.data_dir.clone();
        let failed = EmbeddedError::io("start a thread for", &data_dir);
        let (started, starting) = oneshot::channel();
        let cancel = cancel.clone();
        let thread = start_thread(async move { run(&settings, &cancel, started).await });
        let thread = thread.map_err(failed)?;
        match starting.await {
            Ok(started) => started,
            Err(_) => panic::resume_unwind(thread.join().expect_err("the thread has panicked")),
        }
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
        // The thread ends by itself; a panic in it was logged.
        let _ = self.ended.await;
    }
}

/// Starts the thread of a server, with a runtime of its own. If the service is root, the thread
/// stays root, since the files and processes of the server are another user's. It reads only what
/// the server answers to it, and the server's log.
fn start_thread(run: impl Future<Output = ()> + Send + 'static) -> io::Result<JoinHandle<()>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("postgresql".to_owned()).spawn(move || {
        let _raised = raise_privileges();
        runtime.block_on(run);
    })
}

/// Starts a server, and supervises it until its [`Embedded`] is stopped or dropped.
async fn run(
    settings: &EmbeddedSettings,
    cancel: &CancellationToken,
    started: oneshot::Sender<Result<Option<Embedded>>>,
) {
    let (url, cluster, server, lock) = match start_server(settings, cancel).await {
        Ok(Some(running)) => running,
        not_started => return drop(started.send(not_started.map(|_| None))),
    };
    let stop = CancellationToken::new();
    let (report, health) = watch::channel(Health::Running);
    // Dropped at the end.
    let (_end, ended) = oneshot::channel();
    let installation = cluster.installation.clone();
    let stop_on_drop = stop.clone().drop_guard();
    // If nobody waits for it any more, it is dropped here, which stops the server.
    let embedded = Embedded { url, installation, health, ended, stop: stop_on_drop };
    drop(started.send(Ok(Some(embedded))));
    supervise::supervise(cluster, server, lock, report, stop).await;
}

/// Starts a server, unless `cancel` comes first. Returns the URL of its database, too.
async fn start_server(
    settings: &EmbeddedSettings,
    cancel: &CancellationToken,
) -> Result<Option<(String, Cluster, Server, DataDirLock)>> {
    let (cluster, lock) = initialize::prepare(settings).await?;
    let url = cluster.url()?;
    let starting = server::start_with_database(&cluster);
    if let Some(server) = cancel.run_until_cancelled(starting).await {
        return Ok(Some((url, cluster, server?, lock)));
    }
    supervise::end_started(&cluster).await;
    Ok(None)
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("installation", &self.installation)
            .field("health", &*self.health.borrow())
            .finish_non_exhaustive()
    }
}
