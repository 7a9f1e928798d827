//! Work in the background: what `serve` does beside its answers, and what `worker` does alone.

pub mod models;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mc_api::QuarantineNotifier;
use mc_connectors::ConnectorRegistry;
use mc_crypto::Encryptor;
use mc_indexer::{embedding_queue, hnsw};
use mc_jobs::{Embedding, Indexing, SyncContext};
use mc_search::{ActiveModel, ActiveModels};
use mc_store::Store;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::{audit_heads, data_dir};

/// How often notices that are due are looked for.
const NOTICES_EVERY: Duration = Duration::from_secs(2);
/// How often the ends of the audit are written down.
const ENDS_EVERY: Duration = Duration::from_secs(30);

/// What the work needs besides the database.
pub struct BackgroundServices<'a> {
    /// Where things are kept, and what may be done.
    pub config: &'a Config,
    /// The models in use.
    pub models: &'a ActiveModels,
    /// Opens what notices are signed with, and seals what is held in quarantine.
    pub sealer: Arc<Encryptor>,
    /// The other systems that the operator has named.
    pub systems: Arc<ConnectorRegistry>,
}

impl BackgroundServices<'_> {
    /// Starts it over connections that see every project, some of them the queue's alone; it goes on until `stop`.
    pub fn start(
        self,
        store: &Store,
        queue: Store,
        stop: &CancellationToken,
    ) -> Result<TaskTracker> {
        let Self { config, models, sealer, systems } = self;
        let inside = config.ingest.hosts()?.into();
        let connecting = SyncContext { systems, sealer: Arc::clone(&sealer), inside };
        let notifier = QuarantineNotifier::new(sealer, config.notifications.allow_private_networks);
        let notifier = notifier.context("the client for notices can't be made")?;
        let both = || (store.clone(), stop.clone());
        let tasks = TaskTracker::new();

        let (store, stop) = both();
        let workers = mc_jobs::workers(queue, &store, connecting, in_use(models));
        let workers = workers.node_name(&node_name(config)?);
        tasks.spawn(mc_jobs::indexing(workers, &store, indexing(config)?, &stop).run(stop));
        let (store, stop) = both();
        tasks.spawn(embed(embedding(models.current(), store), stop));
        let (store, stop) = both();
        tasks.spawn(maintain_hnsw(models.all(), store, stop));
        let (store, stop) = both();
        tasks.spawn(retire(models.clone(), store, stop));
        let (store, stop) = both();
        tasks.spawn(send_notices(notifier, store, stop));
        let (store, stop) = both();
        tasks.spawn(write_audit_heads(config.audit_heads_file(), store, stop));
        tasks.close();
        Ok(tasks)
    }
}

/// One data folder is one process's, so a restart takes up at once what its predecessor held.
fn node_name(config: &Config) -> Result<String> {
    Ok(format!("{} {}", worker_name(config), data_dir::node(&config.data_dir)?))
}

/// Where this node is, for people.
pub fn worker_name(config: &Config) -> String {
    let host = rustix::system::uname();
    format!("{}:{}", host.nodename().to_string_lossy(), config.data_dir.display())
}

fn indexing(config: &Config) -> Result<Indexing> {
    Ok(Indexing {
        cache: config.data_dir.join("repositories"),
        inside: config.ingest.hosts()?,
        history: config.ingest.history.limits(),
        node: worker_name(config),
    })
}

fn in_use(models: &ActiveModels) -> Embedding {
    let ActiveModel { model, is_remote, .. } = models.current();
    Embedding { model, is_remote }
}

fn embedding(active: ActiveModel, store: Store) -> embedding_queue::Context {
    let ActiveModel { model, embedder, is_remote } = active;
    embedding_queue::Context { store, embedder, model, is_remote }
}

async fn embed(context: embedding_queue::Context, stop: CancellationToken) {
    embedding_queue::run(&context, &stop).await;
}

async fn maintain_hnsw(of: Vec<ActiveModel>, store: Store, stop: CancellationToken) {
    let models: Vec<_> = of.into_iter().map(|active| active.model).collect();
    hnsw::run(&store, &models, &stop).await;
}

async fn retire(models: ActiveModels, store: Store, stop: CancellationToken) {
    models::retire_when_complete(&models, &store, &stop).await;
}

/// Sends notices about the quarantine.
async fn send_notices(notifier: QuarantineNotifier, store: Store, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(NOTICES_EVERY)).await.is_some() {
        if let Err(error) = notifier.send_due(&store).await {
            tracing::warn!(%error, "notices that are due can't be read; trying again");
        }
    }
}

/// Writes down where the audit ends, beside the database.
async fn write_audit_heads(path: PathBuf, store: Store, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(ENDS_EVERY)).await.is_some() {
        if let Err(error) = audit_heads::write(&path, &store.chains().heads()) {
            tracing::warn!(%error, "the ends of the audit could not be written down");
        }
    }
}
