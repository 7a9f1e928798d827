//! Updates the stored files of a repository to its tree.
//!
//! [`walk`] lists the files, [`prepare`] reads, masks and chunks each one on blocking threads, and
//! [`write`] stores them in batches, through a bounded channel. An interrupted run is started
//! again: files that are stored already are recognized by their hash.

mod claim;
mod prepare;
mod progress;
mod write;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use mc_domain::{FileId, FindingAction, NodeId, ProjectId};
use mc_files::{FileError, ProtectedDirectories, Root};
use mc_git::{
    AllowedPrivateHost, Checkout, CheckoutRequest, Credential, HistoryLimits, NetworkAccess, Origin,
};
use mc_store::files::{self, KnownFile};
use mc_store::ingest_runs::{self, Counts, IngestRun};
use mc_store::repositories::{self, Repository};
use mc_store::{Store, policies, projects, workspaces};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::walk::{self, PathPatterns, SkipReason, Tree};
use crate::{Error, chunker, history, language};
use claim::Claim;
use prepare::{ScanOutcome, ScannedFile};
use progress::Tracker;
use write::Writer;

/// Dependencies and limits of a run.
#[derive(Clone)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// Directory for copies of repositories.
    pub cache: PathBuf,
    /// Directories that are never indexed.
    pub protected: ProtectedDirectories,
    /// Hosts in the private network of the service from which every project may fetch.
    pub inside: Vec<AllowedPrivateHost>,
    /// Name of the node, shown with its runs.
    pub worker: String,
    /// Limits of copies of repositories.
    pub repository: mc_git::Limits,
    /// Size limits of files and repositories.
    pub walk: walk::Limits,
    /// Size limits of chunks.
    pub cut: chunker::Limits,
    /// Limits of the history that is read.
    pub history: HistoryLimits,
    /// Clones of this node that a run is read from in place of the host; `None` if it has none.
    pub clones: Option<Clones>,
    /// Finds the credentials of private repositories; `None` if there are none.
    pub credentials: Option<Arc<dyn GitCredentials>>,
    /// Observer of changed files.
    pub observer: Arc<dyn FilesObserver>,
}

/// The clones of workspaces on a node.
#[derive(Debug, Clone)]
pub struct Clones {
    /// The node.
    pub node: NodeId,
    /// Directory of the clones.
    pub directory: PathBuf,
}

/// Finds the credentials of private repositories.
pub trait GitCredentials: Send + Sync {
    /// Returns the credential with which a project may fetch from this origin.
    fn find<'a>(
        &'a self,
        project: ProjectId,
        origin: &'a Origin,
    ) -> BoxFuture<'a, Result<Option<Credential>, mc_store::Error>>;
}

/// Observer of files whose indexed text changed, which checks the citations of them again.
pub trait FilesObserver: Send + Sync {
    /// Handles files that were added, changed or removed, after they are stored.
    ///
    /// After an interrupted run it may be called again for files that did not change.
    fn files_changed<'a>(
        &'a self,
        project: ProjectId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>>;
}

/// Maximum number of prepared files that wait for the writer.
const PREPARED_MAX: usize = 64;
/// Maximum number of threads that read and chunk files.
const MAX_READERS: usize = 8;

/// Executes one run of `worker` and keeps its counts up to date. [`crate::run`] stores the outcome.
pub async fn index_repository(
    ctx: &Context,
    ingest: &IngestRun,
    worker: &str,
    cancel: &CancellationToken,
) -> Result<Counts, Error> {
    let tracker = Arc::new(Tracker::default());
    // Stops the reading threads when this function returns or is dropped.
    let stop = cancel.child_token();
    let _stops_readers = stop.clone().drop_guard();
    tokio::select! {
        done = index(ctx, ingest, worker, &tracker, &stop) => done?,
        error = progress::keep_writing(&ctx.store, ingest.id, worker, &tracker) => {
            return Err(error);
        }
    }
    progress::write(&ctx.store, ingest.id, worker, &tracker).await?;
    Ok(tracker.counts())
}

async fn index(
    ctx: &Context,
    ingest: &IngestRun,
    worker: &str,
    tracker: &Tracker,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let repository = find_repository(&ctx.store, ingest).await?.ok_or(Error::RunTakenOver)?;
    let claim = Claim { store: &ctx.store, repository: repository.id, run: ingest.id, worker };
    // The future of a git call is large.
    let checkout = Box::pin(checkout(ctx, &repository, ingest, stop)).await?;
    let task = Arc::new(IndexTask::new(ctx, &repository, &checkout, stop).await?);
    tracker.begin(&task);

    let mut stored = history::Stored::load(&ctx.store, &repository).await?;
    let writer = Writer::new(claim, &repository, &checkout.source_ref, tracker);
    let files = write_files(&task, &repository, tracker, &mut stored, writer, stop).await?;
    if let Some(error) = tracker.nothing_stored() {
        return Err(error);
    }
    let WrittenFiles { present, written: mut changed } = files;
    let added: Vec<String> =
        changed.iter().filter(|path| task.is_new_code(path)).cloned().collect();
    // A deleted file of code may have been renamed. It stays until the history is read.
    let may_be_renamed = |path: &str| stored.may_follow_renames() && language::is_code(path);
    let (rename_candidates, deleted): (Vec<_>, Vec<_>) =
        task.deleted_files(&present).into_iter().partition(|(path, _)| may_be_renamed(path));
    delete(claim, tracker, &deleted).await?;
    changed.extend(paths(&deleted));
    // An interrupted attempt may have written files without reporting them.
    if ingest.is_resumed {
        changed.extend(present);
    }
    report_changed(ctx, &repository, changed).await?;

    let update = history::read(history::Run {
        ctx,
        repository: &repository,
        checkout: &checkout,
        rules: &task.rules,
        stored: &stored,
        known: &task.known,
        added: &added,
        stop,
    });
    let update = update.await?;
    update.follow_renames(&ctx.store, &repository, &task.known).await?;
    delete(claim, tracker, &rename_candidates).await?;
    report_changed(ctx, &repository, paths(&rename_candidates).collect()).await?;
    update.store(&ctx.store, &repository, &stored).await?;
    enqueue_if_policy_changed(ctx, &repository, &task.rules).await?;
    let mut tx = claim.begin().await?;
    let failed_files = tracker.counts().failed_files;
    repositories::mark_indexed(&mut tx, repository.id, &checkout.source_ref, failed_files).await?;
    Ok(tx.commit().await?)
}

async fn find_repository(store: &Store, ingest: &IngestRun) -> Result<Option<Repository>, Error> {
    let Some(id) = ingest.repository else { return Ok(None) };
    Ok(repositories::by_id(store, id).await?)
}

async fn checkout(
    ctx: &Context,
    repository: &Repository,
    ingest: &IngestRun,
    stop: &CancellationToken,
) -> Result<Checkout, Error> {
    let origin = mc_git::parse(&repository.location)?;
    let access = if repository.allows_private_network {
        NetworkAccess::Anywhere
    } else {
        NetworkAccess::Public(&ctx.inside)
    };
    let found = match &ctx.credentials {
        Some(credentials) => credentials.find(repository.project_id, &origin).await?,
        None => None,
    };
    let request = CheckoutRequest {
        origin: &origin,
        requested_ref: &ingest.requested_ref,
        access,
        credential: found.as_ref(),
        cache: mc_git::Cache { directory: &ctx.cache, limits: ctx.repository },
    };
    if let Some((clone, commit)) = clone_of(ctx, ingest).await? {
        let request = CheckoutRequest { requested_ref: &commit, ..request };
        match mc_git::checkout_from_clone(request, &clone, stop).await {
            Ok(Some(checkout)) => return Ok(checkout),
            Ok(None) => {}
            Err(mc_git::Error::Cancelled) => return Err(Error::Cancelled),
            // The workspace may have been deleted meanwhile.
            Err(error) => tracing::info!(%error, "a clone can't be read; the host is asked"),
        }
    }
    Ok(mc_git::checkout(request, &ctx.protected, stop).await?)
}

/// Returns the directory of the clone that requested a run, if it is on this node, and its commit.
async fn clone_of(ctx: &Context, ingest: &IngestRun) -> Result<Option<(PathBuf, String)>, Error> {
    let Some(clones) = &ctx.clones else { return Ok(None) };
    let found = workspaces::of_run(&ctx.store, ingest.id, clones.node).await?;
    Ok(found.map(|(id, commit)| (clones.directory.join(id.to_string()), commit)))
}

/// Files after a run has written the changed ones.
struct WrittenFiles {
    /// Paths of files that are in the tree or unreadable, and so stay stored.
    present: HashSet<String>,
    written: Vec<String>,
}

/// Scans all candidates and writes the changed files.
async fn write_files(
    task: &Arc<IndexTask>,
    repository: &Repository,
    tracker: &Tracker,
    stored: &mut history::Stored,
    mut writer: Writer<'_>,
    stop: &CancellationToken,
) -> Result<WrittenFiles, Error> {
    let mut present = HashSet::new();
    let mut scanned = scan_all(task, stop);
    // A thread that scans a file when the run is cancelled may take seconds to end.
    while let Some(Some(ScannedFile { path, outcome })) =
        stop.run_until_cancelled(scanned.recv()).await
    {
        match outcome {
            ScanOutcome::Unchanged => tracker.unchanged(),
            ScanOutcome::Skipped(reason) => {
                tracker.skipped(reason);
                if reason.is_failure() {
                    tracker.failed(&path, &task.cause(&path, reason));
                }
                // An unreadable file is not deleted: its stored text stays.
                if reason != SkipReason::Unreadable {
                    continue;
                }
            }
            ScanOutcome::Changed(prepared) => {
                if language::is_code(&path) {
                    stored.mark_incomplete(&task.ctx.store, repository).await?;
                }
                writer.write(*prepared).await?;
            }
        }
        present.insert(path);
    }
    if stop.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(WrittenFiles { present, written: writer.finish().await? })
}

/// Enqueues another run if the project's policy changed during this one.
async fn enqueue_if_policy_changed(
    ctx: &Context,
    repository: &Repository,
    rules: &history::Rules,
) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    let policy = projects::lock_policy(&mut tx, repository.project_id).await?;
    if policy.is_some_and(|policy| policies::fingerprint(&policy) != rules.masking_fingerprint) {
        ingest_runs::enqueue_reindex(&mut tx, repository).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Input shared by the threads that scan files.
struct IndexTask {
    root: Arc<Root>,
    tree: Tree,
    known: HashMap<String, KnownFile>,
    /// Index of the next candidate to scan.
    next: AtomicUsize,
    ctx: Context,
    namespace: String,
    /// Rules of the project's policy. They only mask: a file is neither quarantined nor rejected.
    rules: history::Rules,
}

impl IndexTask {
    async fn new(
        ctx: &Context,
        repository: &Repository,
        checkout: &Checkout,
        stop: &CancellationToken,
    ) -> Result<Self, Error> {
        let known = files::known(&ctx.store, repository.id).await?;
        let policy = policies::of(&ctx.store, repository.project_id).await?;
        Ok(Self {
            root: Arc::clone(&checkout.root),
            tree: walk_tree(ctx, repository, &checkout.root, stop).await?,
            known,
            next: AtomicUsize::new(0),
            ctx: ctx.clone(),
            namespace: repository.namespace.clone(),
            // Anyone who can write to the repository may use comments that allow a finding.
            rules: history::Rules {
                sanitizing: Arc::new(policies::sanitizing(&policy).with_comments(true)),
                masking_fingerprint: policies::fingerprint(&policy),
                is_guarded: policy.sanitizer.prompt_injection != FindingAction::Allow,
            },
        })
    }

    /// Returns why a file or directory could not be read or chunked, as far as another attempt
    /// tells.
    fn cause(&self, path: &str, reason: SkipReason) -> String {
        if reason == SkipReason::Failed {
            return "its parser failed; the service's log has the error".into();
        }
        match self.root.read_error(path) {
            None => "could not be read".into(),
            // The user has no request to correct, so the error of the system says enough.
            Some(FileError::Io(error)) => error.to_string(),
            Some(error) => error.to_string(),
        }
    }

    /// Returns whether the file is code and was not stored before this run, so that its commits
    /// have to be read from the history.
    fn is_new_code(&self, path: &str) -> bool {
        language::is_code(path) && !self.known.contains_key(path)
    }

    /// Returns the stored files that are not in the tree any more.
    fn deleted_files(&self, present: &HashSet<String>) -> Vec<DeletedFile<'_>> {
        let is_stored = |path: &String| present.contains(path) || self.tree.is_unreadable(path);
        self.known.iter().filter(|(path, _)| !is_stored(path)).collect()
    }
}

/// Stored file that is not in the tree any more.
type DeletedFile<'a> = (&'a String, &'a KnownFile);

fn paths<'a>(files: &'a [DeletedFile<'_>]) -> impl Iterator<Item = String> + 'a {
    files.iter().map(|(path, _)| (*path).clone())
}

async fn walk_tree(
    ctx: &Context,
    repository: &Repository,
    root: &Arc<Root>,
    stop: &CancellationToken,
) -> Result<Tree, Error> {
    let (root, limits, stop) = (Arc::clone(root), ctx.walk, stop.clone());
    let protected = ctx.protected.clone();
    let patterns = PathPatterns::parse(&repository.include_patterns, &repository.exclude_patterns)?;
    let walk = move || {
        let mut tree = walk::walk(&root, limits, &protected, &|| stop.is_cancelled())?;
        tree.retain(&patterns);
        Ok(tree)
    };
    // On an error, the runtime is shutting down, or the walk panicked.
    tokio::task::spawn_blocking(walk).await.unwrap_or(Err(Error::Cancelled))
}

/// Scans every candidate on blocking threads.
fn scan_all(task: &Arc<IndexTask>, stop: &CancellationToken) -> mpsc::Receiver<ScannedFile> {
    let (scanned, receiver) = mpsc::channel(PREPARED_MAX);
    let readers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_READERS);
    for _ in 0..readers {
        let (task, stop, scanned) = (Arc::clone(task), stop.clone(), scanned.clone());
        tokio::task::spawn_blocking(move || {
            while let Some(candidate) =
                task.tree.candidates.get(task.next.fetch_add(1, Ordering::Relaxed))
            {
                let outcome = prepare::scan_file(&task, &candidate.path);
                let file = ScannedFile { path: candidate.path.clone(), outcome };
                if stop.is_cancelled() || scanned.blocking_send(file).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

async fn delete(
    claim: Claim<'_>,
    tracker: &Tracker,
    files: &[DeletedFile<'_>],
) -> Result<(), Error> {
    const BATCH: usize = 200;
    for batch in files.chunks(BATCH) {
        let ids: Vec<FileId> = batch.iter().map(|(_, file)| file.id).collect();
        let mut tx = claim.begin().await?;
        files::delete(&mut tx, &ids).await?;
        tx.commit().await?;
    }
    tracker.deleted(files.len());
    Ok(())
}

/// Reports changed files to the observer.
async fn report_changed(
    ctx: &Context,
    repository: &Repository,
    mut changed: Vec<String>,
) -> Result<(), Error> {
    const BATCH: usize = 500;
    changed.sort();
    changed.dedup();
    for paths in changed.chunks(BATCH) {
        ctx.observer.files_changed(repository.project_id, paths).await.map_err(Error::Observer)?;
    }
    Ok(())
}
