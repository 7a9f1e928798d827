//! Indexes repositories: a job for each run that was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_domain::{IngestId, ProjectId};
use mc_indexer::source::InsideHost;
use mc_indexer::worker::{self, Worked};
use mc_indexer::{chunker, history, index, walk};
use mc_store::{Store, ingests};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::work::{Failure, Work};

/// A run that is to be worked off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    run: IngestId,
}

impl Work for Index {
    const KIND: &'static str = ingests::JOB;
    // Those of one project take turns.
    const AT_ONCE: usize = 2;
    const STARTS: u16 = ingests::JOB_STARTS;
    const TIME: Duration = Duration::from_hours(6);
}

/// How a node indexes.
#[derive(Debug, Clone)]
pub struct Indexing {
    /// Folder for copies of repositories.
    pub cache: PathBuf,
    /// Hosts inside the service's network from which every repository may be fetched.
    pub inside: Vec<InsideHost>,
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
    work: Index,
    stop: CancellationToken,
) -> Result<(), Failure> {
    match worker::work(&context, work.run, &stop).await {
        Ok(Worked::Done) => Ok(()),
        Ok(Worked::Stopped) => Err(Failure::Stopped),
        Ok(Worked::Again(reason)) => Err(Failure::ForNow(reason)),
        Err(error) => Err(Failure::of(&error)),
    }
}

/// A look after runs whose job is no more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turns {}

impl Work for Turns {
    const KIND: &'static str = "index_turns";
    const AT_ONCE: usize = 1;
    const TIME: Duration = Duration::from_mins(1);
}

/// Does it.
pub async fn look_after(store: Store) -> Result<(), Failure> {
    let adopted = ingests::adopt(&store).await.map_err(|error| Failure::of(&error))?;
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
