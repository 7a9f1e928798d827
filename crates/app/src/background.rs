//! Background services: `serve` runs them alongside its requests, `worker` runs them alone.

pub mod models;
mod services;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mc_accounts::SignIn;
use mc_api::QuarantineNotifier;
use mc_indexer::{embedding_queue, hnsw, index};
use mc_integrations::git_credentials::ConnectorCredentials;
use mc_jobs::{Embedding, IndexSettings, JobContext, SyncContext};
use mc_search::{ActiveModel, KeywordIndex};
use mc_store::Store;
use mc_workspaces::fetch::FetchContext;
use mc_workspaces::{Workbench, collector};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::data_dir;
use crate::node::Node;

/// How often due notifications are sent.
const NOTIFICATIONS_INTERVAL: Duration = Duration::from_secs(2);
/// How often the heads of the audit chains are stored.
const AUDIT_HEADS_INTERVAL: Duration = Duration::from_secs(30);
/// How often the age of the signing key is checked.
const KEY_ROTATION_INTERVAL: Duration = Duration::from_hours(1);
/// How often denied requests are stored.
const DENIALS_INTERVAL: Duration = Duration::from_secs(30);
/// How often this node's keyword index is compared with the database.
const INDEX_REPAIR_INTERVAL: Duration = Duration::from_hours(24);

/// Dependencies of the background services, without the database.
pub struct BackgroundServices<'a> {
    /// Directories and settings.
    pub config: &'a Config,
    /// What they share with the requests of this node.
    pub node: &'a Node,
    /// Whether the content of the data directory was closed to other users at the start.
    pub is_data_dir_closed: bool,
    /// Dependencies of the services that only `serve` runs.
    pub serving: Option<ServingParts>,
}

/// Dependencies of the background services that `serve` runs and `worker` does not.
pub struct ServingParts {
    /// Signing keys and denied requests.
    pub sign_in: SignIn,
    /// The keyword index of this node.
    pub keyword: KeywordIndex,
    /// The follower of the change feed, which updates that index.
    pub follower: JoinHandle<()>,
    /// The workspaces of this node.
    pub workbench: Arc<Workbench>,
    /// URL at which other nodes reach this one; empty if there is none.
    pub node_url: String,
}

impl BackgroundServices<'_> {
    /// Starts every background service of this process; `stop` ends them. This is the only list of
    /// them; work on a schedule of the whole installation is a job (`mc_jobs::workers`). `store`
    /// sees every project, and `queue` has the connections of the job queue.
    pub fn start(
        self,
        store: &Store,
        queue: Store,
        stop: &CancellationToken,
    ) -> Result<RunningServices> {
        let Self { config, node, is_data_dir_closed, serving } = self;
        let context = job_context(config, node, store)?;
        let Node { encryptor, models, .. } = node;
        let encryptor = Arc::clone(encryptor);
        let notifier =
            QuarantineNotifier::new(encryptor, config.notifications.allow_private_networks);
        let notifier = notifier.context("the client for notifications can't be created")?;
        // A data directory belongs to one process, so a restarted one releases its former jobs at
        // once.
        let node = format!("{} {}", worker_name(config), data_dir::node(&config.data_dir)?);
        let workers = mc_jobs::workers(queue, &context).node_name(&node);
        let mut workers = mc_jobs::indexing(workers, &context, index_settings(config)?, stop);
        if let Some(serving) = &serving {
            let fetch = FetchContext {
                store: store.clone(),
                settings: Arc::clone(&serving.workbench.settings),
                credentials: ConnectorCredentials::new(
                    store.clone(),
                    Arc::clone(&context.sync.connectors),
                ),
            };
            workers = mc_jobs::fetching_workspaces(workers, fetch, stop);
        }
        let heads = config.audit_heads_file();
        let handles = || (store.clone(), stop.clone());

        let mut running = RunningServices::default();
        running.spawn("jobs", workers.run(stop.clone()));
        let (store, stop) = handles();
        let ActiveModel { model, embedder, is_remote } = models.current();
        let context = embedding_queue::Context { store, embedder, model, is_remote };
        running.spawn("embedding queue", async move {
            embedding_queue::run(&context, &stop).await;
        });
        let (store, stop) = handles();
        let allowed: Vec<_> = models.allowed().into_iter().map(|active| active.model).collect();
        running.spawn("hnsw maintenance", async move {
            hnsw::run(&store, &allowed, &stop).await;
        });
        let (store, stop) = handles();
        running.spawn("embedding models", models::maintain(models.clone(), store, stop));
        let (store, stop) = handles();
        running.spawn("notifications", services::send_notifications(notifier, store, stop));
        let (store, stop) = handles();
        running.spawn("audit heads", services::write_audit_heads(heads, store, stop));
        if !is_data_dir_closed {
            let (data_dir, (_, stop)) = (config.data_dir.clone(), handles());
            let close = move || services::close_data_dir(&data_dir, &stop);
            running.adopt("permissions of the data directory", tokio::task::spawn_blocking(close));
        }
        if let Some(serving) = serving {
            let ServingParts { sign_in, keyword, follower, workbench, node_url } = serving;
            let (name, settings) = (worker_name(config), Arc::clone(&workbench.settings));
            let (store, stop) = handles();
            running.spawn("node", async move {
                collector::keep_registered(store, &settings, &name, &node_url, &stop).await;
            });
            let (store, stop) = handles();
            running.spawn("workspaces", async move {
                collector::run(store, &workbench, &stop).await;
            });
            running.adopt("change feed follower", follower);
            let (store, stop) = handles();
            running.spawn("index repair", services::repair_index(keyword, store, stop));
            let (store, stop) = handles();
            running.spawn("key rotation", services::rotate_keys(sign_in.clone(), stop.clone()));
            running.spawn("denials", services::flush_denials(sign_in, store, stop));
        }
        Ok(running)
    }
}

/// Returns the name of this node: host and data directory.
pub fn worker_name(config: &Config) -> String {
    let host = rustix::system::uname();
    format!("{}:{}", host.nodename().to_string_lossy(), config.data_dir.display())
}

fn job_context(config: &Config, node: &Node, store: &Store) -> Result<JobContext> {
    let sync = SyncContext {
        connectors: Arc::clone(&node.connectors),
        encryptor: Arc::clone(&node.encryptor),
        allowed_private_hosts: config.ingest.hosts()?.into(),
        protected: config.protected_directories(),
    };
    let ActiveModel { model, is_remote, .. } = node.models.current();
    let embedding = Embedding { model, is_remote };
    let (chat, settings) = (Arc::clone(&node.chat), config.jobs.settings()?);
    let prompts = config.aelp.settings()?;
    Ok(JobContext { store: store.clone(), sync, embedding, chat, prompts, settings })
}

fn index_settings(config: &Config) -> Result<IndexSettings> {
    Ok(IndexSettings {
        cache_dir: config.data_dir.join("repositories"),
        protected: config.protected_directories(),
        allowed_private_hosts: config.ingest.hosts()?,
        repository: config.ingest.repository.limits(),
        history: config.ingest.history.limits(),
        clones: Some(index::Clones {
            node: data_dir::node(&config.data_dir)?.into(),
            directory: config.data_dir.join(data_dir::permissions::WORKSPACES),
        }),
        node: worker_name(config),
    })
}

/// Background services that run until their token is cancelled.
#[derive(Default)]
pub struct RunningServices(JoinSet<()>);

impl RunningServices {
    fn spawn(&mut self, name: &'static str, service: impl Future<Output = ()> + Send + 'static) {
        self.adopt(name, tokio::spawn(service));
    }

    /// Adds a service that runs already. If it panics, that is logged at once.
    fn adopt(&mut self, name: &'static str, service: JoinHandle<()>) {
        self.0.spawn(async move {
            if let Err(error) = service.await {
                tracing::error!(service.name = name, %error, "a background service failed");
            }
        });
    }

    pub async fn wait(self) {
        self.0.join_all().await;
    }
}
