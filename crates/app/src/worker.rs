//! `memory-copilot worker`: the background's work alone, on a database that several nodes share.

use std::sync::Arc;

use anyhow::{Result, ensure};
use mc_crypto::{AuditMacKeys, Encryptor};
use mc_postgres::embedded::DataDirLock;
use mc_store::Store;
use mc_store::audit::{self, Chains};
use tokio_util::sync::CancellationToken;

use crate::background::{self, models};
use crate::config::{Config, Encryption};
use crate::{audit_heads, data_dir, database, encryption_key, output, redis};

/// Works until `shutdown`, then lets what is at work end.
pub async fn run(config: &Config, shutdown: CancellationToken) -> Result<()> {
    ensure!(
        !config.database.url.is_empty(),
        "database.url is empty: the embedded PostgreSQL is that of `memory-copilot serve`, which \
         works in the background by itself. Set database.url to the server that the nodes share, \
         here and there"
    );
    data_dir::make(&config.data_dir)?;
    // Two in one folder would take each other's work for their own, as what they left when they
    // ended.
    let _lock = DataDirLock::acquire(&config.data_dir)?;
    let Encryption { key_file, previous_key_files } = &config.encryption;
    let sealer = Arc::new(encryption_key::sealer(key_file, previous_key_files)?);
    let chains =
        Chains::new(AuditMacKeys::derive(&sealer), audit_heads::read(&config.audit_heads_file())?);
    let connecting = database::connect_worker(config, chains.clone());
    let Some([store, queue]) = shutdown.run_until_cancelled(connecting).await.transpose()? else {
        return Ok(());
    };
    let worked = work(config, &store, queue.clone(), sealer, shutdown).await;
    tokio::join!(store.close(), queue.close());
    audit_heads::write(&config.audit_heads_file(), &chains.heads())?;
    worked
}

async fn work(
    config: &Config,
    store: &Store,
    queue: Store,
    sealer: Arc<Encryptor>,
    shutdown: CancellationToken,
) -> Result<()> {
    // What it wrote with another key nobody could verify, nor open.
    ensure!(
        audit::is_signed_with_known_keys(store).await?,
        "the key in {} is not the one that this database's service signs and seals with; copy that \
         one here, to encryption.key_file",
        config.encryption.key_file.display()
    );
    let shared = redis::open(config, store).await?;
    let queries = redis::queries(shared.as_ref(), &sealer);
    // A model may have to be fetched first, which takes minutes.
    let opening = models::open(config, store, queries);
    let Some(models) = shutdown.run_until_cancelled(opening).await else {
        return Ok(());
    };
    let models = models?;
    let systems = Arc::new(config.connectors.open()?);
    let work =
        background::BackgroundServices { config, models: &models, sealer, systems, serving: None };
    let tasks = work.start(store, queue, &shutdown)?;
    let name = background::worker_name(config);
    output::line(&format!(
        "Memory Copilot {} works in the background as {name}",
        env!("CARGO_PKG_VERSION")
    ));
    shutdown.cancelled().await;
    tracing::info!("stopping");
    tasks.wait().await;
    Ok(())
}
