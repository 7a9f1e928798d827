//! Keeps the stored history of a repository in step with the commit that is indexed: its ancestors,
//! and nothing else.
//!
//! After a push only what is new is read. Where the stored history is not of ancestors any more (it
//! was rewritten, or an older commit is indexed), was masked by other rules, or files are indexed
//! now that older commits touched, all of it is read again; what is stored and still holds keeps
//! its vectors.

pub(crate) mod log;
mod mark;
mod message;
mod read;
mod rules;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mc_domain::FileId;
use mc_store::Store;
use mc_store::files::{self, KnownFile};
use mc_store::history::{self, NewCommit, Position};
use mc_store::repositories::Repository;

use crate::{Error, language};

pub(crate) use read::{Run, read};
pub(crate) use rules::Rules;

/// Commits in a transaction, while a whole history is stored.
const BATCH: usize = 500;

/// How much of a history is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most commits, the newest ones; 0 reads none.
    pub commits: usize,
    /// Most time for fetching and reading.
    pub time: Duration,
    /// Most bytes that are fetched.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { commits: 20_000, time: Duration::from_mins(5), bytes: 512 << 20 }
    }
}

impl Limits {
    /// What is read of a history that is beyond the limits: its newest part.
    fn smaller(self) -> Self {
        Self { commits: self.commits.div_ceil(10), ..self }
    }
}

/// The stored history, as a run finds it.
pub(crate) struct Stored {
    position: Position,
    is_open: bool,
}

impl Stored {
    /// What is stored of the repository.
    pub async fn of(store: &Store, repository: &Repository) -> Result<Self, Error> {
        Ok(Self { position: history::position(store, repository.id).await?, is_open: false })
    }

    /// To be called before a file of code is written. Commits that touched the file before have to
    /// be found by this run: if it breaks off, the next one does not see that the file is new, and
    /// so has to read all of the history.
    pub async fn open(&mut self, store: &Store, repository: &Repository) -> Result<(), Error> {
        if !self.is_open && !self.position.sha.is_empty() {
            set_position(store, repository, &self.nothing()).await?;
            self.is_open = true;
        }
        Ok(())
    }

    /// Whether the names of deleted files may be needed: another file may be what became of one,
    /// and what is known of it goes with its old name.
    pub fn may_follow_renames(&self) -> bool {
        self.is_open
    }

    /// The position by which the next run reads everything.
    fn nothing(&self) -> Position {
        Position { sha: String::new(), ..self.position.clone() }
    }
}

/// What is to be done with the stored history.
pub(crate) enum Update {
    /// It stays as it is.
    Keep,
    /// It stays for now, and the next run reads all of it: renames of this run are not followed.
    ReadAgain,
    /// There is none: the folder is not in git, or history is switched off.
    Clear,
    /// Commits come on top of it.
    Append(Changes),
    /// It becomes these commits.
    Replace(Changes),
}

/// Commits that were read.
pub(crate) struct Changes {
    commits: Vec<Commit>,
    renames: HashMap<String, String>,
    position: Position,
    /// Whether what is stored was masked by other rules.
    is_masked_otherwise: bool,
    most: usize,
}

/// A commit with the paths of its files, which are given ids when it is stored.
struct Commit {
    new: NewCommit,
    paths: Vec<String>,
}

impl Update {
    /// Moves what is known of renamed files to their new rows. To be called when the new files are
    /// stored and the old ones, by their paths in `known`, are not deleted yet.
    pub async fn follow_renames(
        &self,
        store: &Store,
        repository: &Repository,
        known: &HashMap<String, KnownFile>,
    ) -> Result<(), Error> {
        let Self::Append(changes) = self else { return Ok(()) };
        let renamed = changes.renames.iter().filter(|(from, to)| from != to);
        let renamed: Vec<_> = renamed.filter(|(from, _)| known.contains_key(*from)).collect();
        if renamed.is_empty() {
            return Ok(());
        }
        let now = files::known(store, repository.id).await?;
        let ids = |(from, to): (&String, &String)| Some((known.get(from)?.id, now.get(to)?.id));
        let moved: Vec<(FileId, FileId)> = renamed.into_iter().filter_map(ids).collect();
        let mut tx = store.begin().await?;
        history::follow_renames(&mut tx, &moved).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Stores it, when the files are stored as they are now.
    pub async fn store(
        self,
        store: &Store,
        repository: &Repository,
        stored: &Stored,
    ) -> Result<(), Error> {
        match self {
            Self::Keep if stored.is_open => set_position(store, repository, &stored.position).await,
            Self::Keep => Ok(()),
            Self::ReadAgain => set_position(store, repository, &stored.nothing()).await,
            Self::Clear => clear(store, repository).await,
            Self::Append(changes) => append(store, repository, changes).await,
            Self::Replace(changes) => replace(store, repository, changes).await,
        }
    }
}

async fn clear(store: &Store, repository: &Repository) -> Result<(), Error> {
    let stored = history::known(store, repository.id).await?;
    history::delete(store, repository.id, &stored.into_iter().collect::<Vec<_>>()).await?;
    set_position(store, repository, &Position { sha: String::new(), masking_fingerprint: 0 }).await
}

/// All of it or nothing, so that the renames of a range are followed once.
async fn append(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    let mut tx = store.begin().await?;
    history::insert(&mut tx, repository, &commits).await?;
    history::insert_files(&mut tx, repository, &commits).await?;
    history::prune(&mut tx, repository.id, i64::try_from(changes.most).unwrap_or(i64::MAX)).await?;
    history::set_position(&mut tx, repository.id, &changes.position).await?;
    tx.commit().await?;
    tracing::info!(repository.namespace, commits = commits.len(), "history read on");
    Ok(())
}

async fn replace(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    // A run that breaks off from here on is followed by one that reads all of it again.
    let nothing =
        Position { sha: String::new(), masking_fingerprint: changes.position.masking_fingerprint };
    set_position(store, repository, &nothing).await?;
    let kept: HashSet<&str> = commits.iter().map(|commit| commit.sha.as_str()).collect();
    let is_deleted = |sha: &String| changes.is_masked_otherwise || !kept.contains(sha.as_str());
    let stored = history::known(store, repository.id).await?;
    let gone: Vec<String> = stored.into_iter().filter(is_deleted).collect();
    history::delete(store, repository.id, &gone).await?;
    for batch in commits.chunks(BATCH) {
        let mut tx = store.begin().await?;
        history::insert(&mut tx, repository, batch).await?;
        tx.commit().await?;
    }
    let mut tx = store.begin().await?;
    history::delete_files(&mut tx, repository.id).await?;
    for batch in commits.chunks(BATCH) {
        history::insert_files(&mut tx, repository, batch).await?;
    }
    history::set_position(&mut tx, repository.id, &changes.position).await?;
    tx.commit().await?;
    tracing::info!(
        repository.namespace,
        commits = commits.len(),
        deleted = gone.len(),
        "history read from its beginning"
    );
    Ok(())
}

async fn set_position(
    store: &Store,
    repository: &Repository,
    position: &Position,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    history::set_position(&mut tx, repository.id, position).await?;
    tx.commit().await?;
    Ok(())
}

/// The commits that touched files which are indexed now, with those files.
async fn with_files(
    store: &Store,
    repository: &Repository,
    commits: Vec<Commit>,
) -> Result<Vec<NewCommit>, Error> {
    let known = files::known(store, repository.id).await?;
    let of_code: HashMap<&str, FileId> = known
        .iter()
        .filter(|(path, _)| language::is_code(path))
        .map(|(path, file)| (path.as_str(), file.id))
        .collect();
    let with_files = |Commit { new, paths }: Commit| {
        let files: Vec<_> =
            paths.iter().filter_map(|path| of_code.get(path.as_str()).copied()).collect();
        (!files.is_empty()).then_some(NewCommit { files, ..new })
    };
    Ok(commits.into_iter().filter_map(with_files).collect())
}
