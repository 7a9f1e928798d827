//! An index of the replayed repository, in a project of its own.

use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use mc_domain::{IngestStatus, ProjectId, ProjectKey, UserId};
use mc_files::ProtectedDirectories;
use mc_indexer::index::{Context, FilesObserver};
use mc_indexer::run::{self, RunOutcome};
use mc_indexer::{chunker, walk};
use mc_store::ingest_runs::{self, IngestRun};
use mc_store::repositories::{self, Repository};
use mc_store::searchable::{self, SearchableRepository};
use mc_store::{Store, projects};
use tokio_util::sync::CancellationToken;

use super::Result;
use super::image::Image;
use super::source::{BRANCH, Source};

/// Name of the repository: all indexes have the same, so that their rows are equal.
const NAME: &str = "replay";

/// An index.
pub struct Index {
    /// Dependencies and limits of its runs.
    pub context: Context,
    /// The repository of the index.
    pub repository: Repository,
}

impl Index {
    /// Creates a project and its repository, without a run. `cache` is for copies by git.
    pub async fn new(store: &Store, cache: PathBuf, key: &str, source: &Source) -> Result<Self> {
        let key = ProjectKey::parse(key)?;
        let (project, _) = projects::create(store, UserId::LOCAL, &key, key.as_str()).await?;
        let mut tx = store.begin().await?;
        let (id, location) = (project.id, source.location());
        let repository = repositories::ensure(&mut tx, id, "local", NAME, &location).await?;
        repositories::set_network_access(&mut tx, repository.id, true).await?;
        tx.commit().await?;
        let context = Context {
            store: store.clone(),
            cache,
            protected: ProtectedDirectories::default(),
            inside: Vec::new(),
            worker: "replay".into(),
            repository: mc_git::Limits::default(),
            walk: walk::Limits::default(),
            cut: chunker::Limits::default(),
            history: mc_git::HistoryLimits::default(),
            clones: None,
            credentials: None,
            observer: Arc::new(NoObserver),
        };
        Ok(Self { context, repository })
    }

    /// Requests a run of the branch.
    pub async fn enqueue(&self) -> Result<IngestRun> {
        let mut tx = self.context.store.begin().await?;
        let run = ingest_runs::enqueue(&mut tx, &self.repository, BRANCH).await?;
        tx.commit().await?;
        Ok(run)
    }

    /// Executes a run to its end, which must be a success. Returns it.
    pub async fn finish(&self, run: &IngestRun) -> Result<IngestRun> {
        let never = CancellationToken::new();
        let outcome = run::execute(&self.context, run.id, &never).await?;
        if outcome != RunOutcome::Done {
            return Err(format!("the run ended with {outcome:?}").into());
        }
        let run = self.run(run).await?;
        if run.status != IngestStatus::Succeeded || run.counts.failed_files > 0 {
            return Err(format!("{run:?} has not succeeded").into());
        }
        Ok(run)
    }

    /// Indexes the branch.
    pub async fn update(&self) -> Result<IngestRun> {
        self.finish(&self.enqueue().await?).await
    }

    /// Returns a run as stored.
    pub async fn run(&self, run: &IngestRun) -> Result<IngestRun> {
        let run = ingest_runs::find(&self.context.store, run.id).await?;
        run.ok_or_else(|| "the run was deleted".into())
    }

    /// Returns the repository as searches see it.
    pub async fn searchable(&self) -> Result<SearchableRepository> {
        let Repository { id, project_id, .. } = self.repository;
        let found = searchable::repository(&self.context.store, project_id, id).await?;
        found.ok_or_else(|| "the repository was deleted".into())
    }

    /// Returns the stored files.
    pub async fn files(&self) -> Result<Image> {
        Image::of_files(&self.context.store, self.repository.id).await
    }

    /// Returns the stored history.
    pub async fn history(&self) -> Result<Image> {
        Image::of_history(&self.context.store, self.repository.id).await
    }
}

/// Observer without interest.
struct NoObserver;

impl FilesObserver for NoObserver {
    fn files_changed<'a>(
        &'a self,
        _: ProjectId,
        _: &'a [String],
    ) -> BoxFuture<'a, std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        async { Ok(()) }.boxed()
    }
}
