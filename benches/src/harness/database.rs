//! The database of a service that does not run: the same embedded server on the same directory.

use std::cell::Cell;
use std::path::Path;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use mc_postgres::db_roles;
use mc_postgres::embedded::{Embedded, EmbeddedSettings};
use mc_store::{Store, testing};

use super::{encryption_key, say};

const CONNECTIONS: u32 = 16;
/// Rows per transaction.
const BATCH: usize = 200;
/// Concurrent transactions.
const CONCURRENCY: usize = 4;
/// Rows between two progress messages.
const STEP: usize = 10_000;

/// A database open to this process.
pub struct Database {
    /// The connections.
    pub store: Store,
    embedded: Embedded,
}

impl Database {
    /// Starts the server of the service with this `data_dir`, and migrates. Writes are signed with
    /// that service's key.
    pub async fn open(data_dir: &Path, cache_dir: &Path) -> Result<Self> {
        let settings = EmbeddedSettings {
            data_dir: data_dir.join("postgresql"),
            install_dirs: vec![cache_dir.join("postgresql")],
            run_as: None,
        };
        let embedded = Embedded::start(settings).await.context("PostgreSQL did not start")?;
        let logins = db_roles::prepare(embedded.url()).await?;
        let chains = encryption_key::chains(data_dir)?;
        let store = Store::connect(&logins.worker, CONNECTIONS, chains).await?;
        Ok(Self { store, embedded })
    }

    /// Updates the planner's statistics, as autovacuum does after a while.
    pub async fn settle(&self) -> Result<()> {
        Ok(testing::execute(self.embedded.url(), "vacuum analyze").await?)
    }

    /// Returns the URL for the role that owns the schema.
    pub fn url(&self) -> &str {
        self.embedded.url()
    }

    /// Stops the server, so that a service can use the directory.
    pub async fn close(self) {
        self.store.close().await;
        self.embedded.stop().await;
    }
}

/// Writes items in concurrent transactions.
pub async fn in_batches<'a, T>(
    items: &'a [T],
    write: impl AsyncFn(&'a [T]) -> Result<()>,
) -> Result<()> {
    let done = Cell::new(0);
    let batches = items.chunks(BATCH).map(async |batch| {
        write(batch).await?;
        done.set(done.get() + batch.len());
        if done.get() % STEP < BATCH {
            say(&format!("{} of {} written", done.get(), items.len()));
        }
        anyhow::Ok(())
    });
    stream::iter(batches).buffer_unordered(CONCURRENCY).try_collect().await
}
