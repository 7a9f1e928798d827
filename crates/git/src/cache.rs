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
use crate::program::{self, Git};
use crate::size::Objects;
use crate::{Cache, Checkout};
use mc_files::{FileError, Root};
use mc_privileges::UnprivilegedUser;

/// Timeout of a fetch.
const FETCH_LIMIT: Duration = Duration::from_mins(15);
/// Timeout of any other step.
const STEP_LIMIT: Duration = Duration::from_mins(5);
/// Interval between attempts to lock a copy.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Lock files that a killed git leaves. They are safe to delete while our own lock is held.
const STALE_LOCKS: &[&str] = &[
    ".git/index.lock",
    ".git/shallow.lock",
    ".git/HEAD.lock",
    ".git/config.lock",
    ".git/FETCH_HEAD.lock",
];

/// Start of the name of a pack that git has not fetched completely.
pub(crate) const INCOMPLETE_PACK: &str = "tmp_";
/// Directory of git in a copy.
const GIT_DIRECTORY: &str = ".git";
/// Permission of users other than the owner to pass through a directory.
const SEARCH: u32 = 0o011;

/// Exclusive lock on a copy. It is released when dropped, and when the process dies.
#[derive(Debug)]
pub(crate) struct Lock(
    #[expect(dead_code, reason = "the lock lasts as long as the open file")] File,
);

/// Updates the copy of `url` to the requested ref (empty: the default branch), and returns the
/// directory `below` in it. `settings` are passed to git. A fetch that exceeds the limits is
/// stopped, and its packs are deleted.
pub(crate) async fn checkout(
    url: &Url,
    requested_ref: &str,
    below: &str,
    settings: Vec<String>,
    cache: Cache<'_>,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    create_cache(cache.directory)?;
    let path = copy(url, cache.directory);
    let lock = lock(&path.with_extension("lock"), cancel).await?;
    let copy = CopyDirectory::create(&path, program::user_of(url))?;
    let git = Git::in_copy(&copy).with_remote(url, settings);
    let git = git.with_max_file_bytes(cache.limits.bytes);
    git.check_version(STEP_LIMIT, cancel).await?;
    let update = Update { git: &git, requested_ref, copy: &copy, cache };
    let sha = update.run(cancel).await?;
    if let Some(sha) = &sha {
        cache.limits.check_files(&git, sha, STEP_LIMIT, cancel).await?;
        let tree = ["checkout", "--quiet", "--force", "--detach", sha.as_str(), "--"];
        git.run(&tree, STEP_LIMIT, cancel).await?;
    } else {
        tracing::info!("the repository has no commits; its index will be empty");
        git.run(&["read-tree", "--empty"], STEP_LIMIT, cancel).await?;
    }
    git.run(&["clean", "--quiet", "-ffdx"], STEP_LIMIT, cancel).await?;
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

/// Update of a copy to the newest commit of a ref.
struct Update<'a> {
    git: &'a Git,
    requested_ref: &'a str,
    copy: &'a CopyDirectory,
    cache: Cache<'a>,
}

impl Update<'_> {
    /// Fetches the commit of the ref; `None` for an empty repository, without branches and tags.
    async fn run(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        let is_too_large =
            |newest: &Result<_, Error>| matches!(newest, Err(Error::RepositoryTooLarge { .. }));
        let had_commits = self.copy.contains(GIT_DIRECTORY);
        let mut newest = self.newest(cancel).await;
        if had_commits && is_too_large(&newest) {
            // Objects of earlier fetches count, too. A new copy has none.
            self.copy.clear()?;
            CopyDirectory::create(self.copy.path(), self.copy.user())?;
            newest = self.newest(cancel).await;
        }
        if is_too_large(&newest) {
            self.copy.clear()?;
        }
        newest
    }

    async fn newest(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        if !self.copy.contains(GIT_DIRECTORY) {
            self.git.run(&["init", "--quiet", "--template="], STEP_LIMIT, cancel).await?;
        }
        self.ignore_conversions()?;
        self.copy.remove(STALE_LOCKS)?;
        self.copy.remove_with_prefix(".git/objects/pack", INCOMPLETE_PACK)?;
        match self.commit(cancel).await {
            Ok(sha) => Ok(Some(sha)),
            Err(unknown @ Error::UnknownRef(_)) => {
                let list = ["ls-remote", "--quiet", "--end-of-options", self.git.remote()];
                let refs = self.git.list(&list, STEP_LIMIT, cancel).await?;
                if refs.is_empty() { Ok(None) } else { Err(unknown) }
            }
            Err(error) => Err(error),
        }
    }

    /// Fetches one commit. If the server does not serve commits by name, all refs are fetched.
    async fn commit(&self, cancel: &CancellationToken) -> Result<String, Error> {
        let requested_ref = self.requested_ref;
        let name = if requested_ref.is_empty() { "HEAD" } else { requested_ref };
        let failure = match self.fetch(&["--depth=1"], &[name], cancel).await {
            Ok(()) => return commit(self.git, "FETCH_HEAD", cancel).await,
            Err(Error::Unreachable(reason)) => reason,
            Err(error) => return Err(error),
        };
        let is_commit =
            requested_ref.len() >= 7 && requested_ref.chars().all(|c| c.is_ascii_hexdigit());
        if is_commit {
            let refs = ["+refs/heads/*:refs/copy/heads/*", "+refs/tags/*:refs/copy/tags/*"];
            match self.fetch(&["--unshallow"], &refs, cancel).await {
                Err(error @ Error::RepositoryTooLarge { .. }) => return Err(error),
                Ok(()) => {}
                // A complete copy cannot be unshallowed; a plain fetch is enough then.
                Err(_) => self.fetch(&[], &refs, cancel).await?,
            }
            return commit(self.git, requested_ref, cancel)
                .await
                .map_err(|_| Error::UnknownRef(requested_ref.into()));
        }
        // An empty repository has no HEAD either.
        if failure.contains("couldn't find remote ref") {
            return Err(Error::UnknownRef(name.into()));
        }
        Err(Error::Unreachable(failure))
    }

    async fn fetch(
        &self,
        depth: &[&str],
        refs: &[&str],
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let options = ["fetch", "--quiet", "--force", "--no-tags"];
        let remote = ["--end-of-options", self.git.remote()];
        let fetch = [&options[..], depth, &remote, refs].concat();
        let limits = self.cache.limits;
        let fetched =
            self.objects().fetch(self.git, &fetch, limits.bytes, FETCH_LIMIT, cancel).await?;
        fetched.map(drop).ok_or_else(|| limits.exceeded())
    }

    fn objects(&self) -> Objects {
        Objects::of(&self.copy.path().join(GIT_DIRECTORY))
    }

    /// Makes git write files as they are stored: their sizes were checked, and the repository may
    /// ask for another encoding, which takes four times as many bytes.
    fn ignore_conversions(&self) -> Result<(), Error> {
        self.copy.write(".git/info/attributes", b"* !working-tree-encoding !ident\n")
    }
}

async fn commit(git: &Git, name: &str, cancel: &CancellationToken) -> Result<String, Error> {
    let name = format!("{name}^{{commit}}");
    git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], STEP_LIMIT, cancel)
        .await
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
