//! `memory-copilot worker`: runs only the background services, on a database that several nodes
//! share.

use std::sync::Arc;

use anyhow::{Result, ensure};
use mc_crypto::Encryptor;
use mc_store::{Store, audit};
use tokio_util::sync::CancellationToken;

use crate::background::{self, BackgroundServices};
use crate::config::{Config, Encryption};
use crate::data_dir;
use crate::node::Node;
use crate::{audit_heads, database, encryption_key, output};

/// Runs until `shutdown`, then waits for the running jobs.
pub async fn run(config: &Config, shutdown: CancellationToken) -> Result<()> {
    ensure!(
        !config.database.url.is_empty(),
        "database.url is empty: the embedded PostgreSQL belongs to `memory-copilot serve`, which \
        runs its own background services. Set database.url to the shared server on every node"
    );
    let locked = data_dir::create_locked(&config.data_dir)?;
    let Encryption { key_file, previous_key_files } = &config.encryption;
    let encryptor = Arc::new(encryption_key::load(key_file, previous_key_files)?);
    let chains = audit_heads::open_chains(config, &encryptor)?;
    let connecting = database::connect_worker(config, chains.clone());
    let Some([store, queue]) = shutdown.run_until_cancelled(connecting).await.transpose()? else {
        return Ok(());
    };
    let worked =
        work(config, locked.is_content_closed, &store, queue.clone(), encryptor, shutdown).await;
    tokio::join!(store.close(), queue.close());
    audit_heads::write(&config.audit_heads_file(), &chains.heads())?;
    worked
}

async fn work(
    config: &Config,
    is_data_dir_closed: bool,
    store: &Store,
    queue: Store,
    encryptor: Arc<Encryptor>,
    shutdown: CancellationToken,
) -> Result<()> {
    // The other nodes could not verify or decrypt data that it wrote with another key.
    ensure!(
        audit::is_signed_with_known_keys(store).await?,
        "the key in {} is not the encryption key of this database; copy that key here, to \
        encryption.key_file",
        config.encryption.key_file.display()
    );
    let Some(node) = Node::open(config, store, encryptor, &shutdown).await? else {
        return Ok(());
    };
    let services = BackgroundServices { config, node: &node, is_data_dir_closed, serving: None };
    let tasks = services.start(store, queue, &shutdown)?;
    let name = background::worker_name(config);
    output::line(&format!(
        "Memory Copilot {} runs background services as {name}",
        env!("CARGO_PKG_VERSION")
    ));
    shutdown.cancelled().await;
    tracing::info!("stopping");
    tasks.wait().await;
    Ok(())
}
