//! Copies of repositories in the cache, one directory each, fetched without history.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::Error;
use crate::copy::{CopyDirectory, file_failed};
use crate::fetch::{Depth, STEP_LIMIT, Update};
use crate::program::{self, Credential, Git};
use crate::{Cache, Checkout};
use mc_files::{FileError, Root};
use mc_privileges::UnprivilegedUser;

/// Timeout of a fetch.
const FETCH_LIMIT: Duration = Duration::from_mins(15);
/// Interval between attempts to lock a copy.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Directory of git in a copy.
const GIT_DIRECTORY: &str = ".git";
/// Permission of users other than the owner to pass through a directory.
const SEARCH: u32 = 0o011;

/// Exclusive lock on a copy. It is released when dropped, and when the process dies.
#[derive(Debug)]
pub(crate) struct Lock(
    #[expect(dead_code, reason = "the lock lasts as long as the open file")] File,
);

/// What a copy is fetched from.
pub(crate) struct Source<'a> {
    /// URL of the repository, which names the copy.
    pub url: &'a Url,
    /// URL of a clone of it on this disk, to fetch from in place of the repository.
    pub clone: Option<&'a Url>,
    /// Branch, tag or commit; empty for the default branch.
    pub requested_ref: &'a str,
    /// Settings that are passed to git.
    pub settings: Vec<String>,
    /// Credential for the URL.
    pub credential: Option<&'a Credential>,
}

impl<'a> Source<'a> {
    /// Returns the default branch of a repository, without a credential.
    pub fn new(url: &'a Url) -> Self {
        Self { url, clone: None, requested_ref: "", settings: Vec::new(), credential: None }
    }
}

/// Updates the copy of a repository to the requested ref, and returns the directory `below` in it.
/// A fetch that exceeds the limits is stopped, and its packs are deleted.
pub(crate) async fn checkout(
    source: Source<'_>,
    below: &str,
    cache: Cache<'_>,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    let Source { url, clone, requested_ref, settings, credential } = source;
    create_cache(cache.directory)?;
    let path = copy(url, cache.directory);
    let lock = lock(&path.with_extension("lock"), cancel).await?;
    let copy = CopyDirectory::create(&path, program::user_of(url))?;
    let git = Git::in_copy(&copy).with_remote(clone.unwrap_or(url), settings);
    let git = git.with_credential(credential.cloned());
    // The copy belongs to the user for its URL, wherever it is fetched from.
    let git = git.with_user(copy.user());
    let git = git.with_max_file_bytes(cache.limits.bytes);
    git.check_version(STEP_LIMIT, cancel).await?;
    let update = Update {
        git: &git,
        requested_ref,
        copy: &copy,
        git_directory: GIT_DIRECTORY,
        depth: Depth::Shallow,
        limits: cache.limits,
        time: FETCH_LIMIT,
    };
    let sha = update.run(cancel).await?;
    update.write_files(sha.as_deref(), cancel).await?;
    let root = open_inside(&copy, below, requested_ref)?;
    let source_ref = sha.unwrap_or_default();
    Ok(Checkout { root: Arc::new(root), source_ref, history: None, _lock: Some(lock) })
}

/// Returns the directory of the copy of `url`.
pub(crate) fn copy(url: &Url, cache: &Path) -> PathBuf {
    let key = Sha256::digest(url.as_str().as_bytes());
    cache.join(hex::encode(&key[..12]))
}

/// Opens the directory `below` in the copy. Symbolic links are rejected, because a commit could
/// contain a link to any directory.
fn open_inside(copy: &CopyDirectory, below: &str, requested_ref: &str) -> Result<Root, Error> {
    let missing = || {
        Error::InvalidLocation(format!(
            "the repository has no directory \"{}\" at \"{requested_ref}\"; give another \
            directory or ref",
            below.trim_end_matches('/')
        ))
    };
    if below.split('/').any(|part| matches!(part, "." | ".." | ".git")) {
        return Err(missing());
    }
    let root = copy.root()?;
    let below = below.trim_end_matches('/');
    if below.is_empty() {
        return Ok(root);
    }
    root.open_below(below).map_err(|error| match error {
        FileError::Missing | FileError::Link | FileError::NotADirectory => missing(),
        error => file_failed(&copy.path().join(below), error),
    })
}

/// Creates the directory of the copies. If the service is root, git's user can pass through this
/// directory to its own copies, but can neither list nor change it. The locks are the service's.
fn create_cache(directory: &Path) -> Result<(), Error> {
    let io = Error::io(directory);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(&io)?;
    if UnprivilegedUser::GIT.if_root().is_none() {
        return Ok(());
    }
    let mode = fs::metadata(directory).map_err(&io)?.permissions().mode();
    if mode & SEARCH == SEARCH {
        return Ok(());
    }
    fs::set_permissions(directory, Permissions::from_mode(mode | SEARCH)).map_err(io)
}

async fn lock(path: &Path, cancel: &CancellationToken) -> Result<Lock, Error> {
    let io = Error::io(path);
    let file = File::create(path).map_err(&io)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(cause)) => return Err(io(cause)),
        }
        tokio::select! {
            () = tokio::time::sleep(LOCK_RETRY_INTERVAL) => {}
            () = cancel.cancelled() => return Err(Error::Cancelled),
        }
    }
}
