//! Copies of repositories, one folder each, fetched without history.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Checkout, git::Git};
use crate::{Error, hash, walk};

/// How long a fetch may take.
const FETCH_LIMIT: Duration = Duration::from_mins(15);
/// How long any other step may take.
const STEP_LIMIT: Duration = Duration::from_mins(5);
/// How often a copy that someone else uses is asked for again.
const RETRY: Duration = Duration::from_millis(200);
/// What git leaves behind when it is killed; nobody else works on the copy while we hold its lock.
const STALE_LOCKS: &[&str] =
    &["index.lock", "shallow.lock", "HEAD.lock", "config.lock", "FETCH_HEAD.lock"];

/// The right to use one copy; given back when dropped, and by the system when the process dies.
#[derive(Debug)]
pub(super) struct Lock(
    #[expect(dead_code, reason = "the lock lasts as long as the open file")] File,
);

/// Brings the copy of `url` to the requested ref (empty: the default branch); the tree is the
/// folder `below` in it. On the way there git has these settings, too.
pub(super) async fn checkout(
    url: &Url,
    requested_ref: &str,
    below: &str,
    settings: Vec<String>,
    cache: &Path,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    let copy = copy(url, cache);
    create(&copy)?;
    let lock = lock(&copy.with_extension("lock"), cancel).await?;
    for stale in STALE_LOCKS {
        match std::fs::remove_file(copy.join(".git").join(stale)) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::Io { path: copy.display().to_string(), cause });
            }
            _ => {}
        }
    }
    let git = Git::in_folder(&copy).on_the_way_to(url, settings);
    git.check_version(STEP_LIMIT, cancel).await?;
    if !copy.join(".git").exists() {
        git.run(&["init", "--quiet", "--template="], STEP_LIMIT, cancel).await?;
    }
    let sha = newest(&git, url, requested_ref, cancel).await?;
    if let Some(sha) = &sha {
        let tree = ["checkout", "--quiet", "--force", "--detach", sha.as_str(), "--"];
        git.run(&tree, STEP_LIMIT, cancel).await?;
    } else {
        tracing::info!("the repository has no commit any more, so nothing of it is indexed");
        git.run(&["read-tree", "--empty"], STEP_LIMIT, cancel).await?;
    }
    git.run(&["clean", "--quiet", "-ffdx"], STEP_LIMIT, cancel).await?;
    let root = inside(&copy, below, requested_ref)?;
    let source_ref = sha.unwrap_or_default();
    Ok(Checkout { root, source_ref, history: None, _lock: Some(lock) })
}

/// The folder of the copy of `url`.
pub(super) fn copy(url: &Url, cache: &Path) -> PathBuf {
    let key = hash::of(url.as_str().as_bytes());
    cache.join(hex::encode(&key[..12]))
}

/// The folder `below` in the copy. The commit says what stands there: a link could lead anywhere.
fn inside(copy: &Path, below: &str, requested_ref: &str) -> Result<PathBuf, Error> {
    let mut folder = walk::resolve(copy)?;
    for part in below.split('/').filter(|part| !part.is_empty()) {
        folder.push(part);
        let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || matches!(part, "." | ".." | ".git") {
            return Err(Error::BadLocation(format!(
                "the repository has no folder \"{}\" at \"{requested_ref}\"; name another folder \
                or ref",
                below.trim_end_matches('/')
            )));
        }
    }
    Ok(folder)
}

/// The commit that the ref points to. None where the repository has no branch and no tag at all: it
/// was emptied, or nobody has put anything into it yet.
async fn newest(
    git: &Git,
    url: &Url,
    requested_ref: &str,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    match fetch(git, url, requested_ref, cancel).await {
        Ok(sha) => Ok(Some(sha)),
        Err(unknown @ Error::UnknownRef(_)) => {
            let list = ["ls-remote", "--quiet", upload_pack(url), "--end-of-options", url.as_str()];
            let refs = git.list(&list, STEP_LIMIT, cancel).await?;
            if refs.is_empty() { Ok(None) } else { Err(unknown) }
        }
        Err(error) => Err(error),
    }
}

/// Fetches the one commit; servers that give no commits by name are asked for everything.
async fn fetch(
    git: &Git,
    url: &Url,
    requested_ref: &str,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let wanted = if requested_ref.is_empty() { "HEAD" } else { requested_ref };
    let upload_pack = upload_pack(url);
    let one = [
        "fetch",
        "--quiet",
        "--force",
        upload_pack,
        "--depth=1",
        "--no-tags",
        "--end-of-options",
        url.as_str(),
        wanted,
    ];
    let failure = match git.run(&one, FETCH_LIMIT, cancel).await {
        Ok(_) => return commit(git, "FETCH_HEAD", cancel).await,
        Err(Error::Unreachable(reason)) => reason,
        Err(error) => return Err(error),
    };
    let is_commit =
        requested_ref.len() >= 7 && requested_ref.chars().all(|c| c.is_ascii_hexdigit());
    if is_commit {
        let all = [
            "fetch",
            "--quiet",
            "--force",
            upload_pack,
            "--unshallow",
            "--no-tags",
            "--end-of-options",
            url.as_str(),
            "+refs/heads/*:refs/copy/heads/*",
            "+refs/tags/*:refs/copy/tags/*",
        ];
        // A copy that is complete already can't be unshallowed; then a plain fetch does it.
        let plain: Vec<&str> = all.iter().copied().filter(|word| *word != "--unshallow").collect();
        if git.run(&all, FETCH_LIMIT, cancel).await.is_err() {
            git.run(&plain, FETCH_LIMIT, cancel).await?;
        }
        return commit(git, requested_ref, cancel)
            .await
            .map_err(|_| Error::UnknownRef(requested_ref.into()));
    }
    // Without a commit there is no HEAD either.
    if failure.contains("couldn't find remote ref") {
        return Err(Error::UnknownRef(wanted.into()));
    }
    Err(Error::Unreachable(failure))
}

/// The program that gives out what is fetched. For a repository on this disk git starts it here, as
/// our user and without our settings: it has to be told again that other users' folders may be
/// read.
pub(super) fn upload_pack(url: &Url) -> &'static str {
    match url.scheme() {
        "file" => "--upload-pack=git -c safe.directory='*' upload-pack",
        _ => "--upload-pack=git-upload-pack",
    }
}

async fn commit(git: &Git, name: &str, cancel: &CancellationToken) -> Result<String, Error> {
    let name = format!("{name}^{{commit}}");
    git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], STEP_LIMIT, cancel)
        .await
}

pub(super) fn create(copy: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(copy)
        .map_err(|cause| Error::Io { path: copy.display().to_string(), cause })
}

async fn lock(path: &Path, cancel: &CancellationToken) -> Result<Lock, Error> {
    let io = |cause| Error::Io { path: path.display().to_string(), cause };
    let file = File::create(path).map_err(io)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(cause)) => return Err(io(cause)),
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = cancel.cancelled() => return Err(Error::Cancelled),
        }
    }
}
