//! Stored history of a repository: the ancestors of the indexed commit, and no other commits.
//!
//! After a push, only the new commits are read. The full history is read again in these cases:
//!
//! - stored commits are no ancestors any more, after a force push or if an older commit is indexed;
//! - the masking rules changed;
//! - older commits touched files that are newly indexed.
//!
//! Commits that are still valid keep their vectors.

pub(crate) mod log;
mod marker;
mod message;
mod read;
mod rules;
#[cfg(feature = "testing")]
pub mod testing;

use std::collections::{HashMap, HashSet};

use mc_domain::FileId;
use mc_store::Store;
use mc_store::files::{self, KnownFile};
use mc_store::history::{self, NewCommit, Position};
use mc_store::repositories::Repository;

use crate::{Error, language};

pub(crate) use read::{Run, read};
pub(crate) use rules::Rules;

/// Commits in a transaction when a full history is stored.
const BATCH: usize = 500;

/// Stored history at the start of a run.
pub(crate) struct Stored {
    position: Position,
    is_incomplete: bool,
}

impl Stored {
    /// Loads the position of the stored history.
    pub async fn load(store: &Store, repository: &Repository) -> Result<Self, Error> {
        Ok(Self { position: history::position(store, repository.id).await?, is_incomplete: false })
    }

    /// Marks the history as incomplete, before a code file is written.
    ///
    /// This run has to find the older commits of a new file. If it is interrupted, the next run
    /// cannot tell that the file was new, and reads the full history instead.
    pub async fn mark_incomplete(
        &mut self,
        store: &Store,
        repository: &Repository,
    ) -> Result<(), Error> {
        if !self.is_incomplete && !self.position.sha.is_empty() {
            set_position(store, repository, &self.start_position()).await?;
            self.is_incomplete = true;
        }
        Ok(())
    }

    /// Returns whether deleted files may have been renamed, so that their history moves.
    pub fn may_follow_renames(&self) -> bool {
        self.is_incomplete
    }

    /// Returns the position from which the next run reads the full history.
    fn start_position(&self) -> Position {
        Position { sha: String::new(), ..self.position.clone() }
    }
}

/// Change to apply to the stored history.
pub(crate) enum Update {
    /// No change.
    Keep,
    /// No change now; the next run reads the full history. Renames of this run are not followed.
    ReadAgain,
    /// Delete it: the directory is not in git, or the history is disabled.
    Clear,
    /// Add these commits.
    Append(Changes),
    /// Replace it by these commits.
    Replace(Changes),
}

pub(crate) struct Changes {
    commits: Vec<Commit>,
    renames: HashMap<String, String>,
    position: Position,
    /// Whether the stored commits were masked by other rules.
    is_masking_outdated: bool,
    /// Maximum number of commits to store.
    max_commits: usize,
}

/// Commit with the paths of its files, which become ids when it is stored.
struct Commit {
    new: NewCommit,
    paths: Vec<String>,
}

impl Update {
    /// Moves the history of renamed files to their new rows. Call it after the new files are stored
    /// and before the old ones, which are in `known`, are deleted.
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
        let current = files::known(store, repository.id).await?;
        let ids = |(from, to): (&String, &String)| Some((known.get(from)?.id, current.get(to)?.id));
        let moved: Vec<(FileId, FileId)> = renamed.into_iter().filter_map(ids).collect();
        let mut tx = store.begin().await?;
        history::follow_renames(&mut tx, &moved).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Applies the change. Call it after the files are stored.
    pub async fn store(
        self,
        store: &Store,
        repository: &Repository,
        stored: &Stored,
    ) -> Result<(), Error> {
        match self {
            Self::Keep if stored.is_incomplete => {
                set_position(store, repository, &stored.position).await
            }
            Self::Keep => Ok(()),
            Self::ReadAgain => set_position(store, repository, &stored.start_position()).await,
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

/// Adds the commits in one transaction, so that the renames of a range are followed once.
async fn append(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    let mut tx = store.begin().await?;
    history::insert(&mut tx, repository, &commits).await?;
    history::insert_files(&mut tx, repository, &commits).await?;
    // A full history does not have them either.
    history::delete_without_files(&mut tx, repository.id).await?;
    history::prune(&mut tx, repository.id, i64::try_from(changes.max_commits).unwrap_or(i64::MAX))
        .await?;
    history::set_position(&mut tx, repository.id, &changes.position).await?;
    tx.commit().await?;
    tracing::info!(
        repository.namespace,
        commits = commits.len(),
        "new commits added to the history"
    );
    Ok(())
}

async fn replace(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    // If this run is interrupted from here on, the next one reads the full history again.
    let nothing =
        Position { sha: String::new(), masking_fingerprint: changes.position.masking_fingerprint };
    set_position(store, repository, &nothing).await?;
    let current: HashSet<&str> = commits.iter().map(|commit| commit.sha.as_str()).collect();
    let is_deleted = |sha: &String| changes.is_masking_outdated || !current.contains(sha.as_str());
    let stored = history::known(store, repository.id).await?;
    let deleted: Vec<String> = stored.into_iter().filter(is_deleted).collect();
    history::delete(store, repository.id, &deleted).await?;
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
        deleted = deleted.len(),
        "full history stored"
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

/// Returns the commits that touched indexed files, with these files.
async fn with_files(
    store: &Store,
    repository: &Repository,
    commits: Vec<Commit>,
) -> Result<Vec<NewCommit>, Error> {
    let known = files::known(store, repository.id).await?;
    let code_files: HashMap<&str, FileId> = known
        .iter()
        .filter(|(path, _)| language::is_code(path))
        .map(|(path, file)| (path.as_str(), file.id))
        .collect();
    let with_files = |Commit { new, paths }: Commit| {
        let files: Vec<_> =
            paths.iter().filter_map(|path| code_files.get(path.as_str()).copied()).collect();
        (!files.is_empty()).then_some(NewCommit { files, ..new })
    };
    Ok(commits.into_iter().filter_map(with_files).collect())
}
