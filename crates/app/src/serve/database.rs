//! The service's database: a server of its own, or the one that is configured.

use anyhow::{Context, Result};
use mc_store::Store;
use mc_store::embedded::{Embedded, EmbeddedSettings};

use crate::config::Config;

/// An open, migrated database.
pub struct Database {
    /// Its connections.
    pub store: Store,
    embedded: Option<Embedded>,
}

/// Starts the embedded server unless another is configured, connects and migrates.
pub async fn open(config: &Config) -> Result<Database> {
    let embedded = if config.database.url.is_empty() {
        let settings = EmbeddedSettings {
            data_dir: config.data_dir.join("postgresql"),
            install_dirs: config.postgres_installations(),
            run_as: None,
        };
        Some(Embedded::start(settings).await.context("the embedded PostgreSQL did not start")?)
    } else {
        None
    };
    let url = embedded.as_ref().map_or(config.database.url.as_str(), Embedded::url);
    match connect(url, config.database.max_connections).await {
        Ok(store) => Ok(Database { store, embedded }),
        Err(error) => {
            if let Some(embedded) = embedded {
                embedded.stop().await;
            }
            Err(error)
        }
    }
}

async fn connect(url: &str, max_connections: u32) -> Result<Store> {
    let store = Store::connect(url, max_connections).await?;
    store.migrate().await?;
    Ok(store)
}

impl Database {
    /// Closes the connections and stops the embedded server.
    pub async fn close(self) {
        self.store.close().await;
        if let Some(embedded) = self.embedded {
            embedded.stop().await;
        }
    }
}
