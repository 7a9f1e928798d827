//! Indexes repositories: a job for each run that was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_domain::{IngestRunId, ProjectId};
use mc_indexer::run::{self, RunOutcome};
use mc_indexer::source::AllowedPrivateHost;
use mc_indexer::{chunker, history, index, walk};
use mc_store::{Store, ingest_runs};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::context::JobContext;
use crate::job::{BackgroundJob, JobError};

/// A run that is to be worked off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexRepository {
    run: IngestRunId,
}

impl BackgroundJob for IndexRepository {
    const NAME: &'static str = ingest_runs::JOB;
    // Those of one project take turns.
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = ingest_runs::JOB_ATTEMPTS;
    const TIMEOUT: Duration = Duration::from_hours(6);

    type Context = IndexContext;

    /// Runs the index run; a run of a project whose other run is active completes, and the other
    /// run enqueues it again when it ends.
    async fn run(self, IndexContext { index, stop }: &IndexContext) -> Result<(), JobError> {
        match run::execute(index, self.run, stop).await {
            Ok(RunOutcome::Done) => Ok(()),
            Ok(RunOutcome::Stopped) => Err(JobError::ShuttingDown),
            Ok(RunOutcome::Retry(reason)) => Err(JobError::Retryable(reason)),
            Err(error) => Err(JobError::classify(&error)),
        }
    }
}

/// What [`IndexRepository`] needs besides its arguments.
#[derive(Clone)]
pub struct IndexContext {
    index: Arc<index::Context>,
    stop: CancellationToken,
}

impl IndexContext {
    pub(crate) fn new(how: Indexing, store: Store, stop: CancellationToken) -> Self {
        Self { index: Arc::new(how.context(store)), stop }
    }
}

/// How a node indexes.
#[derive(Debug, Clone)]
pub struct Indexing {
    /// Folder for copies of repositories.
    pub cache: PathBuf,
    /// Hosts inside the service's network from which every repository may be fetched.
    pub inside: Vec<AllowedPrivateHost>,
    /// How much of the history of repositories is read.
    pub history: history::Limits,
    /// Name of the node.
    pub node: String,
}

impl Indexing {
    fn context(self, store: Store) -> index::Context {
        index::Context {
            observer: Arc::new(Citations(store.clone())),
            store,
            cache: self.cache,
            inside: self.inside,
            worker: self.node,
            walk: walk::Limits::default(),
            cut: chunker::Limits::default(),
            history: self.history,
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
        let rescued = ingest_runs::rescue_orphans(store).await;
        let rescued = rescued.map_err(|error| JobError::classify(&error))?;
        if rescued > 0 {
            tracing::info!(rescued, "enqueued jobs of index runs that had none");
        }
        Ok(())
    }
}

/// Tells the memory of changed files.
struct Citations(Store);

impl index::FilesObserver for Citations {
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
