//! A git repository on disk, and the indexer that reads it commit by commit.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use futures::future::BoxFuture;
use mc_domain::{IngestStatus, ProjectId};
use mc_files::ProtectedDirectories;
use mc_indexer::index::{Context, FilesObserver};
use mc_indexer::{chunker, run, walk};
use mc_memory::recheck_files;
use mc_store::{Store, ingest_runs, repositories};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::tree::Tree;

const BRANCH: &str = "main";

/// A repository and the project that it is indexed into.
pub struct Checkout {
    context: Context,
    project: ProjectId,
    folder: TempDir,
    _cache: TempDir,
}

/// Checks citations after a run, as the service does.
struct Citations(Store);

impl FilesObserver for Citations {
    fn files_changed<'a>(
        &'a self,
        project: ProjectId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            recheck_files(&self.0, project, paths).await?;
            Ok(())
        })
    }
}

impl Checkout {
    pub fn new(store: &Store, project: ProjectId) -> Self {
        let (folder, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        git(folder.path(), &["init", "-q", "-b", BRANCH]);
        git(folder.path(), &["config", "core.autocrlf", "false"]);
        let context = Context {
            store: store.clone(),
            cache: cache.path().to_owned(),
            inside: Vec::new(),
            protected: ProtectedDirectories::default(),
            worker: "tests".into(),
            repository: mc_git::Limits::default(),
            walk: walk::Limits::default(),
            cut: chunker::Limits::default(),
            history: mc_git::HistoryLimits::default(),
            clones: None,
            credentials: None,
            observer: Arc::new(Citations(store.clone())),
        };
        Self { context, project, folder, _cache: cache }
    }

    /// Commits the tree as it is now and indexes the commit.
    pub async fn push(&self, tree: &Tree) {
        self.write(tree);
        git(self.folder.path(), &["add", "-A"]);
        let author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
        git(self.folder.path(), &[&author[..], &["commit", "-q", "-m", "edit"]].concat());
        self.index(tree).await;
    }

    /// Indexes the last commit, which is of this tree.
    pub async fn index(&self, tree: &Tree) {
        let location = self.folder.path().to_str().unwrap();
        let store = &self.context.store;
        let mut tx = store.begin().await.unwrap();
        let repository = repositories::ensure(&mut tx, self.project, "acme", "ledger", location);
        let repository = repository.await.unwrap();
        repositories::set_network_access(&mut tx, repository.id, true).await.unwrap();
        let run = ingest_runs::enqueue(&mut tx, &repository, BRANCH).await.unwrap();
        tx.commit().await.unwrap();
        run::execute(&self.context, run.id, &CancellationToken::new()).await.unwrap();
        let run = ingest_runs::find(store, run.id).await.unwrap().unwrap();
        assert_eq!(run.status, IngestStatus::Succeeded, "{:?}", run.last_error);
        assert_eq!(usize::try_from(run.counts.files_total).unwrap(), tree.files.len());
    }

    fn write(&self, tree: &Tree) {
        let source = self.folder.path().join("src");
        if source.exists() {
            fs::remove_dir_all(&source).unwrap();
        }
        for (path, file) in &tree.files {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.bytes()).unwrap();
        }
    }
}

fn git(folder: &Path, args: &[&str]) {
    let status = Command::new("git").arg("-C").arg(folder).args(args).status().unwrap();
    assert!(status.success(), "git {args:?}");
}
