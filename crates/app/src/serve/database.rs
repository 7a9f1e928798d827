//! The service's database: a server of its own, or the one that is configured.

use anyhow::{Context, Result};
use mc_store::audit::Chains;
use mc_store::embedded::{Embedded, EmbeddedSettings};
use mc_store::{Store, logins};
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// An open, migrated database.
pub struct Database {
    /// Connections to serve with.
    pub store: Store,
    /// Connections for work in the background, so that a large index run never makes a recall wait
    /// for one.
    pub background: Store,
    /// A few more for what webhooks deliver: whoever sends waits for the answer, and may not send again.
    pub receiving: Store,
    embedded: Option<Embedded>,
}

/// Connections that take in webhooks.
const RECEIVING: u32 = 2;

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
        Ok(Some([store, background, receiving])) => {
            Ok(Some(Database { store, background, receiving, embedded }))
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
    let settings = EmbeddedSettings {
        data_dir: config.data_dir.join("postgresql"),
        install_dirs: config.postgres_installations(),
        run_as: None,
    };
    Embedded::start_unless_cancelled(settings, shutdown)
        .await
        .context("the embedded PostgreSQL did not start")
}

async fn connect(url: &str, max_connections: u32, chains: Chains) -> Result<[Store; 3]> {
    let in_background = max_connections / 2;
    let logins = logins::prepare(url).await?;
    let serving = max_connections - in_background;
    let store = Store::connect(&logins.service, serving, chains.clone()).await?;
    let background = Store::connect(&logins.worker, in_background, chains.clone()).await?;
    Ok([store, background, Store::connect(&logins.worker, RECEIVING, chains).await?])
}

impl Database {
    /// Closes the connections and stops the embedded server.
    pub async fn close(self) {
        tokio::join!(self.store.close(), self.background.close(), self.receiving.close());
        if let Some(embedded) = self.embedded {
            embedded.stop().await;
        }
    }
}
