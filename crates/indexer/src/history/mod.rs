//! Keeps the stored history of a repository in step with the commit that is indexed: its ancestors, and nothing else.
//!
//! After a push only what is new is read. Where the stored history is not of ancestors any more (it was rewritten, or
//! an older commit is indexed), or was masked by other rules, all of it is read again; what is stored and still holds
//! keeps its vectors.

pub(crate) mod log;
mod message;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::DateTime;
use mc_domain::{FileId, Trust};
use mc_guard::Suspicion;
use mc_sanitizer::{Policy, mask_with};
use mc_store::Store;
use mc_store::files::{self, KnownFile};
use mc_store::history::{self, NewCommit, Position};
use mc_store::repositories::Repository;
use tokio_util::sync::CancellationToken;

use crate::index::Context;
use crate::source::Checkout;
use crate::source::history::Commits;
use crate::{Error, language};
use log::{Entry, Log, Reader};

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

/// How texts of the repository are masked.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// By the project's policy.
    pub sanitizing: &'a Policy,
    /// That policy's fingerprint.
    pub masked_by: i64,
    /// Whether nobody vouches for text that addresses a model.
    pub is_guarded: bool,
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

/// Reads what is new in the history of the checkout. A history that can't be had stops no run: it is logged, and the
/// next run tries again.
pub(crate) async fn read(
    ctx: &Context,
    repository: &Repository,
    checkout: &Checkout,
    rules: Rules<'_>,
    stop: &CancellationToken,
) -> Result<Update, Error> {
    match update(ctx, repository, checkout, rules, stop).await {
        Ok(update) => Ok(update),
        Err(error @ (Error::Cancelled | Error::Store(_))) => Err(error),
        Err(error) => {
            tracing::warn!(
                repository.namespace,
                %error,
                "the history of the repository can't be read; search goes on with what is stored of it"
            );
            Ok(Update::ReadAgain)
        }
    }
}

async fn update(
    ctx: &Context,
    repository: &Repository,
    checkout: &Checkout,
    rules: Rules<'_>,
    stop: &CancellationToken,
) -> Result<Update, Error> {
    let limits = ctx.history;
    let sha = checkout.source_ref.as_str();
    let Some(origin) = checkout.history.as_ref().filter(|_| limits.commits > 0 && !sha.is_empty())
    else {
        return Ok(Update::Clear);
    };
    let stored = history::position(&ctx.store, repository.id).await?;
    let is_masked_otherwise = stored.masked_by != rules.masked_by;
    if stored.sha == sha && !is_masked_otherwise {
        return Ok(Update::Keep);
    }
    let commits = Commits::open(origin, sha, limits, stop).await?;
    let can_append = !stored.sha.is_empty()
        && !is_masked_otherwise
        && commits.is_ancestor(&stored.sha, sha, stop).await?;
    let range = if can_append { format!("{}..{sha}", stored.sha) } else { sha.to_owned() };
    let mut reader = Reader::new(commits.is_shallow());
    commits.log(&range, limits, stop, |field| reader.take(field)).await?;
    let Log { entries, renames } = reader.finish();
    let changes = Changes {
        commits: entries.into_iter().filter_map(|entry| rules.commit(entry)).collect(),
        renames,
        position: Position { sha: sha.to_owned(), masked_by: rules.masked_by },
        is_masked_otherwise,
        most: limits.commits,
    };
    Ok(if can_append { Update::Append(changes) } else { Update::Replace(changes) })
}

impl Rules<'_> {
    /// The commit as it is stored; `None` where its message says nothing.
    fn commit(&self, entry: Entry) -> Option<Commit> {
        let message = message::cleaned(&entry.message);
        // Masked as a whole, then cut: half of a secret would not be known as one.
        let masked = mask_with(&message, self.sanitizing).text;
        // Masking again changes nothing that was masked.
        let part = |text: &str| mask_with(text, self.sanitizing).text;
        let message = part(message::stored(masked.as_str()));
        let subject = part(message::subject(message.as_str()));
        if subject.as_str().is_empty() {
            return None;
        }
        let new = NewCommit {
            sha: entry.sha,
            trust: self.trust(message.as_str()),
            subject,
            message,
            committed_at: DateTime::from_timestamp(entry.committed_at, 0)?,
            files: Vec::new(),
        };
        Some(Commit { new, paths: entry.paths.into_iter().collect() })
    }

    fn trust(&self, text: &str) -> Trust {
        let is_order = mc_guard::inspect(text).iter().any(Suspicion::quarantines);
        if self.is_guarded && is_order { Trust::Untrusted } else { Trust::Imported }
    }
}

impl Update {
    /// Moves what is known of renamed files to their new rows. To be called when the new files are stored and the old
    /// ones, by their paths in `known`, are not deleted yet.
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
    pub async fn store(self, store: &Store, repository: &Repository) -> Result<(), Error> {
        match self {
            Self::Keep => Ok(()),
            Self::ReadAgain => {
                let stored = history::position(store, repository.id).await?;
                set_position(store, repository, &Position { sha: String::new(), ..stored }).await
            }
            Self::Clear => clear(store, repository).await,
            Self::Append(changes) => append(store, repository, changes).await,
            Self::Replace(changes) => replace(store, repository, changes).await,
        }
    }
}

async fn clear(store: &Store, repository: &Repository) -> Result<(), Error> {
    let stored = history::known(store, repository.id).await?;
    history::delete(store, repository.id, &stored.into_iter().collect::<Vec<_>>()).await?;
    set_position(store, repository, &Position { sha: String::new(), masked_by: 0 }).await
}

/// All of it or nothing, so that the renames of a range are followed once.
async fn append(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    let mut tx = store.begin().await?;
    history::insert(&mut tx, repository, &commits).await?;
    history::touch(&mut tx, repository, &commits).await?;
    history::prune(&mut tx, repository.id, i64::try_from(changes.most).unwrap_or(i64::MAX)).await?;
    history::set_position(&mut tx, repository.id, &changes.position).await?;
    tx.commit().await?;
    tracing::info!(repository.namespace, commits = commits.len(), "history read on");
    Ok(())
}

async fn replace(store: &Store, repository: &Repository, changes: Changes) -> Result<(), Error> {
    let commits = with_files(store, repository, changes.commits).await?;
    // A run that breaks off from here on is followed by one that reads all of it again.
    let nothing = Position { sha: String::new(), masked_by: changes.position.masked_by };
    set_position(store, repository, &nothing).await?;
    let kept: HashSet<&str> = commits.iter().map(|commit| commit.sha.as_str()).collect();
    let is_gone = |sha: &String| changes.is_masked_otherwise || !kept.contains(sha.as_str());
    let stored = history::known(store, repository.id).await?;
    let gone: Vec<String> = stored.into_iter().filter(is_gone).collect();
    history::delete(store, repository.id, &gone).await?;
    for batch in commits.chunks(BATCH) {
        let mut tx = store.begin().await?;
        history::insert(&mut tx, repository, batch).await?;
        tx.commit().await?;
    }
    let mut tx = store.begin().await?;
    history::untouch_all(&mut tx, repository.id).await?;
    for batch in commits.chunks(BATCH) {
        history::touch(&mut tx, repository, batch).await?;
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
