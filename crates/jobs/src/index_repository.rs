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

use crate::job::{BackgroundJob, JobError};

/// A run that is to be worked off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexRepository {
    run: IngestRunId,
}

impl BackgroundJob for IndexRepository {
    const KIND: &'static str = ingest_runs::JOB;
    // Those of one project take turns.
    const AT_ONCE: usize = 2;
    const STARTS: u16 = ingest_runs::JOB_ATTEMPTS;
    const TIME: Duration = Duration::from_hours(6);
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
    pub(crate) fn context(self, store: Store) -> index::Context {
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

/// Works it off, or lets go of it where another of its project is at work, which has it begun when it ends.
pub async fn run(
    context: index::Context,
    work: IndexRepository,
    stop: CancellationToken,
) -> Result<(), JobError> {
    match run::work(&context, work.run, &stop).await {
        Ok(RunOutcome::Done) => Ok(()),
        Ok(RunOutcome::Stopped) => Err(JobError::Stopped),
        Ok(RunOutcome::Again(reason)) => Err(JobError::ForNow(reason)),
        Err(error) => Err(JobError::classify(&error)),
    }
}

/// A look after runs whose job is no more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RescueIndexRuns {}

impl BackgroundJob for RescueIndexRuns {
    const KIND: &'static str = "rescue_index_runs";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_mins(1);
}

/// Does it.
pub async fn rescue_runs(store: Store) -> Result<(), JobError> {
    let adopted =
        ingest_runs::rescue_orphans(&store).await.map_err(|error| JobError::classify(&error))?;
    if adopted > 0 {
        tracing::info!(adopted, "looked after index runs that nobody would have gone on with");
    }
    Ok(())
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
