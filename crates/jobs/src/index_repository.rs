//! The jobs `index_repository` and `rescue_index_runs`: each index run has a job.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_domain::{IngestRunId, ProjectId};
use mc_files::ProtectedDirectories;
use mc_git::AllowedPrivateHost;
use mc_indexer::run::{self, RunOutcome};
use mc_indexer::{chunker, index, walk};
use mc_integrations::git_credentials::ConnectorCredentials;
use mc_store::{Store, ingest_runs};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};

/// Runs an index run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexRepository {
    run: IngestRunId,
}

impl BackgroundJob for IndexRepository {
    const NAME: &'static str = ingest_runs::JOB;
    // Runs of one project run one after the other.
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = ingest_runs::JOB_ATTEMPTS;
    const TIMEOUT: Duration = Duration::from_hours(6);

    type Context = IndexContext;

    /// Runs the index run, unless another one of the project is active, whose end enqueues it.
    async fn run(self, IndexContext { index, stop }: &IndexContext) -> Result<(), JobError> {
        match run::execute(index, self.run, stop).await? {
            RunOutcome::Done => Ok(()),
            RunOutcome::Stopped => Err(JobError::ShuttingDown),
            RunOutcome::Retry(reason) => Err(JobError::Retryable(reason)),
        }
    }
}

/// Dependencies of [`IndexRepository`], besides its arguments.
#[derive(Clone)]
pub struct IndexContext {
    index: Arc<index::Context>,
    stop: CancellationToken,
}

impl IndexContext {
    pub(crate) fn new(
        settings: IndexSettings,
        context: &JobContext,
        stop: CancellationToken,
    ) -> Self {
        Self { index: Arc::new(settings.into_context(context)), stop }
    }
}

/// A node's settings for indexing.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Directory for copies of repositories.
    pub cache_dir: PathBuf,
    /// Directories that are never indexed.
    pub protected: ProtectedDirectories,
    /// Private hosts from which every repository may be fetched.
    pub allowed_private_hosts: Vec<AllowedPrivateHost>,
    /// Limits of copies of repositories.
    pub repository: mc_git::Limits,
    /// Limits of the commit history that is read.
    pub history: mc_git::HistoryLimits,
    /// Clones of workspaces on the node.
    pub clones: Option<index::Clones>,
    /// Name of the node.
    pub node: String,
}

impl IndexSettings {
    fn into_context(self, JobContext { store, sync, .. }: &JobContext) -> index::Context {
        let store = store.clone();
        let credentials = ConnectorCredentials::new(store.clone(), Arc::clone(&sync.connectors));
        index::Context {
            credentials: Some(Arc::new(credentials)),
            observer: Arc::new(CitationChecker(store.clone())),
            store,
            cache: self.cache_dir,
            protected: self.protected,
            inside: self.allowed_private_hosts,
            worker: self.node,
            repository: self.repository,
            walk: walk::Limits::default(),
            cut: chunker::Limits::default(),
            history: self.history,
            clones: self.clones,
        }
    }
}

/// Rescues index runs without a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RescueIndexRuns {}

impl BackgroundJob for RescueIndexRuns {
    const NAME: &'static str = "rescue_index_runs";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_mins(1);

    type Context = JobContext;

    async fn run(self, JobContext { store, .. }: &JobContext) -> Result<(), JobError> {
        let rescued = ingest_runs::rescue_orphans(store).await?;
        if rescued > 0 {
            tracing::info!(rescued, "index runs without a job enqueued");
        }
        Ok(())
    }
}

/// Checks the citations of changed files.
struct CitationChecker(Store);

impl index::FilesObserver for CitationChecker {
    fn files_changed<'a>(
        &'a self,
        project: ProjectId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            mc_memory::recheck_files(&self.0, project, paths).await?;
            Ok(())
        })
    }
}
