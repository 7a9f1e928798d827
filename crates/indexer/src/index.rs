//! Updates the stored files of a repository to its tree.
//!
//! [`walk`] lists the files, [`prepare`] reads, masks and chunks each one on blocking threads, and
//! [`write`] stores them in batches, through a bounded channel. An interrupted run is started
//! again: files that are stored already are recognized by their hash.

mod prepare;
mod progress;
mod write;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use mc_domain::{FileId, FindingAction, ProjectId};
use mc_store::files::{self, KnownFile};
use mc_store::ingest_runs::{self, Counts, IngestRun};
use mc_store::repositories::{self, Repository};
use mc_store::{Store, policies, projects};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::source::{AllowedPrivateHost, NetworkAccess};
use crate::walk::{self, Root, Tree};
use crate::{Error, chunker, history, language, source};
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
    /// Hosts inside the service's network from which every repository may be fetched.
    pub inside: Vec<AllowedPrivateHost>,
    /// Name of the node, shown with its runs.
    pub worker: String,
    /// Size limits of files and repositories.
    pub walk: walk::Limits,
    /// Size limits of chunks.
    pub cut: chunker::Limits,
    /// Limits of the history that is read.
    pub history: history::Limits,
    /// Observer of changed files.
    pub observer: Arc<dyn FilesObserver>,
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

/// Prepared files that may wait for the writer.
const PREPARED: usize = 64;
/// Maximum number of threads that read and chunk files.
const MAX_READERS: usize = 8;

/// Executes one run that `worker` has claimed, and keeps its counts up to date. The caller stores
/// its outcome ([`crate::run`]).
pub async fn index_repository(
    ctx: &Context,
    ingest: &IngestRun,
    worker: &str,
    cancel: &CancellationToken,
) -> Result<Counts, Error> {
    let tracker = Arc::new(Tracker::default());
    // Stops the reading threads when this function ends, for whatever reason.
    let stop = cancel.child_token();
    let _stops_readers = stop.clone().drop_guard();
    tokio::select! {
        done = index(ctx, ingest, &tracker, &stop) => done?,
        lost = progress::keep(&ctx.store, ingest.id, worker, &tracker) => return Err(lost),
    }
    progress::note(&ctx.store, ingest.id, worker, &tracker).await?;
    Ok(tracker.counts())
}

async fn index(
    ctx: &Context,
    ingest: &IngestRun,
    tracker: &Arc<Tracker>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let repository =
        repositories::by_id(&ctx.store, ingest.repository).await?.ok_or(Error::Lost)?;
    let origin = source::parse(&repository.location)?;
    let reach = if repository.allows_private_network {
        NetworkAccess::Anywhere
    } else {
        NetworkAccess::Outside(&ctx.inside)
    };
    let checkout =
        source::checkout(&origin, &ingest.requested_ref, reach, &ctx.cache, stop).await?;
    let known = files::known(&ctx.store, repository.id).await?;
    let policy = policies::of(&ctx.store, repository.project_id).await?;
    let job = Arc::new(IndexTask {
        root: Root::open(&checkout.root)?,
        tree: walk_tree(&checkout.root, ctx.walk, stop).await?,
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
    });
    tracker.begin(&job.tree);

    let mut stored = history::Stored::of(&ctx.store, &repository).await?;
    let mut writer = Writer::new(&ctx.store, &repository, &checkout.source_ref, tracker);
    let mut kept = std::collections::HashSet::new();
    let mut looked = read_all(&job, stop);
    while let Some(ScannedFile { path, seen }) = looked.recv().await {
        match seen {
            ScanOutcome::Unchanged => tracker.unchanged(),
            ScanOutcome::Skipped(skip) => {
                tracker.skipped(skip);
                // An unreadable file is not deleted: its stored text stays.
                if skip != walk::SkipReason::Unreadable {
                    continue;
                }
            }
            ScanOutcome::Changed(prepared) => {
                if language::is_code(&path) {
                    stored.open(&ctx.store, &repository).await?;
                }
                writer.write(*prepared).await?;
            }
        }
        kept.insert(path);
    }
    if stop.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut changed = writer.finish().await?;
    let added: Vec<String> = changed.iter().filter(|path| job.is_new_code(path)).cloned().collect();
    let gone =
        job.known.iter().filter(|(path, _)| !kept.contains(*path) && !job.tree.is_unreadable(path));
    // A file of code may have been renamed; then it waits for the history that says so, which may
    // take its time.
    let waits = |path: &str| stored.may_follow_renames() && language::is_code(path);
    let (waiting, gone): (Vec<Gone<'_>>, Vec<_>) = gone.partition(|(path, _)| waits(path));
    delete(&ctx.store, tracker, &gone).await?;
    changed.extend(paths(&gone));
    // An attempt that broke off may have written files and told nobody.
    if ingest.is_resumed {
        changed.extend(kept);
    }
    tell(ctx, &repository, changed).await?;
    let update = history::read(history::Run {
        ctx,
        repository: &repository,
        checkout: &checkout,
        rules: &job.rules,
        stored: &stored,
        known: &job.known,
        added: &added,
        stop,
    });
    let update = update.await?;
    update.follow_renames(&ctx.store, &repository, &job.known).await?;
    delete(&ctx.store, tracker, &waiting).await?;
    tell(ctx, &repository, paths(&waiting).collect()).await?;
    update.store(&ctx.store, &repository, &stored).await?;
    // What was set while this run was at work is for the next one.
    let mut tx = ctx.store.begin().await?;
    let policy = projects::lock_policy(&mut tx, repository.project_id).await?;
    if policy.is_some_and(|policy| policies::fingerprint(&policy) != job.rules.masking_fingerprint)
    {
        ingest_runs::enqueue_reindex(&mut tx, &repository).await?;
    }
    tx.commit().await?;
    Ok(repositories::mark_indexed(&ctx.store, repository.id, &checkout.source_ref).await?)
}

/// What the reading threads share.
struct IndexTask {
    root: Root,
    tree: Tree,
    known: HashMap<String, KnownFile>,
    /// Index of the next candidate to read.
    next: AtomicUsize,
    ctx: Context,
    namespace: String,
    /// What the project's policy has masked; nothing of a file is held or refused.
    rules: history::Rules,
}

impl IndexTask {
    /// Whether history has to say which commits touched a file that was written, since nobody asked
    /// before.
    fn is_new_code(&self, path: &str) -> bool {
        language::is_code(path) && !self.known.contains_key(path)
    }
}

/// A file that is stored and not there any more.
type Gone<'a> = (&'a String, &'a KnownFile);

fn paths<'a>(gone: &'a [Gone<'_>]) -> impl Iterator<Item = String> + 'a {
    gone.iter().map(|(path, _)| (*path).clone())
}

async fn walk_tree(
    root: &std::path::Path,
    limits: walk::Limits,
    stop: &CancellationToken,
) -> Result<Tree, Error> {
    let (root, stop) = (root.to_owned(), stop.clone());
    match tokio::task::spawn_blocking(move || walk::walk(&root, limits, &|| stop.is_cancelled()))
        .await
    {
        Ok(tree) => tree,
        // The runtime is shutting down, or the walk panicked.
        Err(_) => Err(Error::Cancelled),
    }
}

/// Reads and cuts every candidate on blocking threads.
fn read_all(job: &Arc<IndexTask>, stop: &CancellationToken) -> mpsc::Receiver<ScannedFile> {
    let (looked, receiver) = mpsc::channel(PREPARED);
    let readers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_READERS);
    for _ in 0..readers {
        let (job, stop, looked) = (Arc::clone(job), stop.clone(), looked.clone());
        tokio::task::spawn_blocking(move || {
            while let Some(candidate) =
                job.tree.candidates.get(job.next.fetch_add(1, Ordering::Relaxed))
            {
                let seen = prepare::scan_file(&job, &candidate.path);
                let looked_at = ScannedFile { path: candidate.path.clone(), seen };
                if stop.is_cancelled() || looked.blocking_send(looked_at).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

async fn delete(store: &Store, tracker: &Tracker, gone: &[Gone<'_>]) -> Result<(), Error> {
    const BATCH: usize = 200;
    for batch in gone.chunks(BATCH) {
        let ids: Vec<FileId> = batch.iter().map(|(_, file)| file.id).collect();
        let mut tx = store.begin().await?;
        files::delete(&mut tx, &ids).await?;
        tx.commit().await?;
    }
    tracker.deleted(gone.len());
    Ok(())
}

async fn tell(
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
