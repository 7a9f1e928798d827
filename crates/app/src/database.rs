//! The database of the service: an embedded server or the configured server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedError, EmbeddedSettings};
use mc_store::Store;
use mc_store::audit::Chains;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// An open, migrated database.
pub struct Database {
    /// Connections for requests.
    pub store: Store,
    /// Connections for background services, so that a recall never waits for a connection because
    /// of a large index run.
    pub background: Store,
    /// Connections for webhook deliveries: a sender waits for the response and may not retry.
    pub receiving: Store,
    /// Connections for the job queue: a worker whose heartbeat waits too long for a connection is
    /// treated as dead.
    pub queue: Store,
    embedded: Option<Embedded>,
}

/// Name of the embedded server's directory in the data directory.
pub const EMBEDDED_DIR: &str = "postgresql";
/// Name of the directory of an embedded server that is being restored.
pub const RESTORING_DIR: &str = "restoring";

/// Connections for webhook deliveries.
const RECEIVING_CONNECTIONS: u32 = 2;
/// Connections for the job queue.
const QUEUE_CONNECTIONS: u32 = 2;

/// How long a start waits for an unreachable database. A server that crashed restarts within this
/// time.
const STARTUP_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between attempts to start.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs `run`, and runs it again while the database is unreachable: the server may start after this
/// process, or restart meanwhile. Returns any other error, and this one after [`STARTUP_TIMEOUT`].
pub async fn retry_until_reachable(
    stop: &CancellationToken,
    run: impl AsyncFn() -> Result<()>,
) -> Result<()> {
    let started = Instant::now();
    loop {
        match run().await {
            Err(error) if is_unreachable(&error) && started.elapsed() < STARTUP_TIMEOUT => {
                tracing::warn!(error = &*error, "a start waits for the database");
            }
            result => return result,
        }
        if stop.run_until_cancelled(tokio::time::sleep(RETRY_INTERVAL)).await.is_none() {
            return Ok(());
        }
    }
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        matches!(
            cause.downcast_ref(),
            Some(mc_postgres::Error::Unavailable(_) | mc_postgres::Error::NotConnected { .. })
        ) || matches!(
            cause.downcast_ref(),
            Some(mc_store::Error::Unavailable(_) | mc_store::Error::RolledBack(_))
        )
    })
}

/// Starts the embedded server unless another is configured, connects and migrates. Returns `None`,
/// and stops the server, if `shutdown` is cancelled first.
pub async fn open(
    config: &Config,
    chains: Chains,
    shutdown: &CancellationToken,
) -> Result<Option<Database>> {
    let embedded = if config.database.url.is_empty() {
        mc_store::disk::set_server_dir(&config.data_dir);
        let Some(embedded) = start(config, shutdown).await? else { return Ok(None) };
        Some(embedded)
    } else {
        None
    };
    let url = embedded.as_ref().map_or(config.database.url.as_str(), Embedded::url);
    let connecting = connect(url, config.max_connections(), chains);
    match shutdown.run_until_cancelled(connecting).await.transpose() {
        Ok(Some([store, background, receiving, queue])) => {
            Ok(Some(Database { store, background, receiving, queue, embedded }))
        }
        not_connected => {
            if let Some(embedded) = embedded {
                embedded.stop().await;
            }
            not_connected.map(|_| None)
        }
    }
}

async fn start(config: &Config, shutdown: &CancellationToken) -> Result<Option<Embedded>> {
    start_in(&embedded_dir(config), config, shutdown)
        .await
        .context("the embedded PostgreSQL did not start")
}

/// Returns the directory of the embedded server.
pub fn embedded_dir(config: &Config) -> PathBuf {
    config.data_dir.join(EMBEDDED_DIR)
}

/// Starts an embedded server in a directory.
pub async fn start_in(
    dir: &Path,
    config: &Config,
    shutdown: &CancellationToken,
) -> Result<Option<Embedded>, EmbeddedError> {
    let settings = EmbeddedSettings {
        data_dir: dir.to_owned(),
        install_dirs: config.postgres_installations(),
        run_as: None,
    };
    Embedded::start_unless_cancelled(settings, shutdown).await
}

/// Connects a worker to the configured server and migrates. Returns the connections for jobs and
/// those for the job queue.
pub async fn connect_worker(config: &Config, chains: Chains) -> Result<[Store; 2]> {
    let worker = db_roles::prepare(&config.database.url).await?.worker;
    let store = Store::connect(&worker, config.max_connections(), chains.clone()).await?;
    Ok([store, Store::connect(&worker, QUEUE_CONNECTIONS, chains).await?])
}

async fn connect(url: &str, max_connections: u32, chains: Chains) -> Result<[Store; 4]> {
    let background_connections = max_connections / 2;
    let logins = db_roles::prepare(url).await?;
    let service_connections = max_connections - background_connections;
    let store = Store::connect(&logins.service, service_connections, chains.clone()).await?;
    let background = Store::connect(&logins.worker, background_connections, chains.clone()).await?;
    let receiving = Store::connect(&logins.worker, RECEIVING_CONNECTIONS, chains.clone()).await?;
    Ok([
        store,
        background,
        receiving,
        Store::connect(&logins.worker, QUEUE_CONNECTIONS, chains).await?,
    ])
}

impl Database {
    /// Closes the connections and stops the embedded server.
    pub async fn close(self) {
        let Self { store, background, receiving, queue, embedded } = self;
        tokio::join!(store.close(), background.close(), receiving.close(), queue.close());
        if let Some(embedded) = embedded {
            embedded.stop().await;
        }
    }
}
