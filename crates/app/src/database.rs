//! The service's database: a server of its own, or the one that is configured.

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
    /// Connections to serve with.
    pub store: Store,
    /// Connections for work in the background, so that a large index run never makes a recall wait
    /// for one.
    pub background: Store,
    /// A few more for what webhooks deliver: whoever sends waits for the answer, and may not send
    /// again.
    pub receiving: Store,
    /// A few more for the queue of background work: a worker that gives no sign of life is taken
    /// for dead, however busy what it does keeps the others.
    pub queue: Store,
    embedded: Option<Embedded>,
}

/// Connections that take in webhooks.
const RECEIVING: u32 = 2;
/// Connections of the queue.
const QUEUE: u32 = 2;

/// How long a start waits for a database that can't be reached: a server that was ended hard is
/// back by then.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How soon it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs what needs the database, which may come later than this process, or go while it starts:
/// then from the beginning. One that was away for a minute is told of, as whatever else `run` ends
/// by.
pub async fn wait_for(stop: &CancellationToken, run: impl AsyncFn() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    loop {
        match run().await {
            Err(error) if is_away(&error) && begun.elapsed() < TIMEOUT => {
                tracing::warn!(error = &*error, "a start waits for the database");
            }
            ended => return ended,
        }
        if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
            return Ok(());
        }
    }
}

fn is_away(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        matches!(cause.downcast_ref(), Some(mc_postgres::Error::Unavailable(_)))
            || matches!(cause.downcast_ref(), Some(mc_store::Error::Unavailable(_)))
    })
}

/// Starts the embedded server unless another is configured, connects and migrates. Nothing of it is
/// left when `shutdown` comes first.
pub async fn open(
    config: &Config,
    chains: Chains,
    shutdown: &CancellationToken,
) -> Result<Option<Database>> {
    let embedded = if config.database.url.is_empty() {
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
    start_in(&embedded_folder(config), config, shutdown)
        .await
        .context("the embedded PostgreSQL did not start")
}

/// Where the embedded server is.
pub fn embedded_folder(config: &Config) -> PathBuf {
    config.data_dir.join("postgresql")
}

/// Starts an embedded server in a folder.
pub async fn start_in(
    folder: &Path,
    config: &Config,
    shutdown: &CancellationToken,
) -> Result<Option<Embedded>, EmbeddedError> {
    let settings = EmbeddedSettings {
        data_dir: folder.to_owned(),
        install_dirs: config.postgres_installations(),
        run_as: None,
    };
    Embedded::start_unless_cancelled(settings, shutdown).await
}

/// Connects to the configured server and migrates, to work in the background alone: to do the work
/// with, and those of the queue.
pub async fn connect_worker(config: &Config, chains: Chains) -> Result<[Store; 2]> {
    let worker = db_roles::prepare(&config.database.url).await?.worker;
    let store = Store::connect(&worker, config.max_connections(), chains.clone()).await?;
    Ok([store, Store::connect(&worker, QUEUE, chains).await?])
}

async fn connect(url: &str, max_connections: u32, chains: Chains) -> Result<[Store; 4]> {
    let in_background = max_connections / 2;
    let logins = db_roles::prepare(url).await?;
    let serving = max_connections - in_background;
    let store = Store::connect(&logins.service, serving, chains.clone()).await?;
    let background = Store::connect(&logins.worker, in_background, chains.clone()).await?;
    let receiving = Store::connect(&logins.worker, RECEIVING, chains.clone()).await?;
    Ok([store, background, receiving, Store::connect(&logins.worker, QUEUE, chains).await?])
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
