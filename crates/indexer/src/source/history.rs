//! The commits behind a checkout: where they are read, and fetching them without the files that
//! they changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::cache;
use super::git::Git;
use crate::Error;
use crate::history::Limits;

/// How often the size of what is being fetched is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Said by a git server that gives out whole commits only.
const NO_FILTER: &str = "filtering not recognized by server";
/// Left in a copy that holds files, too, since its server did not leave them out.
const UNFILTERED: &str = "unfiltered";
/// The name under which the newest commit is kept, so that the next fetch asks for what follows it.
const KEPT: &str = "refs/history/newest";

/// Most files of which git is asked at once, and most bytes of their names: what a command line
/// surely holds.
const ASKED: usize = 500;
const ASKED_BYTES: usize = 64 * 1024;

/// Where the history of a checkout can be had.
#[derive(Debug, Clone)]
pub(crate) enum HistoryOrigin {
    /// In a repository on this disk, which is only read.
    Local {
        /// A work tree, a folder in one, or a bare repository.
        repository: PathBuf,
        /// The folder of it that was indexed; empty for all of it, else it ends with `/`.
        below: String,
    },
    /// At a git server.
    Remote {
        /// Its address.
        url: Url,
        /// What was asked for; empty for the default branch.
        requested_ref: String,
        /// What holds git to where it may go.
        settings: Vec<String>,
        /// The folder for the history, a bare repository of our own.
        copy: PathBuf,
    },
}

impl HistoryOrigin {
    /// What tells it from others.
    pub fn key(&self) -> [String; 2] {
        match self {
            Self::Local { repository, below } => [repository.display().to_string(), below.clone()],
            Self::Remote { url, requested_ref, .. } => [url.to_string(), requested_ref.clone()],
        }
    }
}

/// A repository whose commits can be read.
#[derive(Debug)]
pub(crate) struct Commits {
    git: Git,
    below: String,
    /// Whether only files that moved unchanged are known as renamed: the contents of others are not
    /// there.
    has_exact_renames_only: bool,
    /// Whether the oldest commits are cut off from their parents, and seem to add all that they
    /// hold.
    is_shallow: bool,
    deadline: Instant,
}

impl Commits {
    /// Opens the history of `sha`, and fetches what of it is not here, within the limits.
    pub async fn open(
        origin: &HistoryOrigin,
        sha: &str,
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let deadline = Instant::now() + limits.time;
        let (folder, below) = match origin {
            HistoryOrigin::Local { repository, below } => (repository, below.clone()),
            HistoryOrigin::Remote { url, requested_ref, settings, copy } => {
                let fetch = Fetch { url, requested_ref, settings, copy, limits, deadline };
                let fetched = fetch.run(sha, cancel).await;
                if let Err(Error::Timeout(_)) = fetched
                    && copy.exists()
                {
                    // What git leaves when it is stopped may be half of anything.
                    fetch.clear()?;
                }
                fetched?;
                (copy, String::new())
            }
        };
        let git = Git::in_folder(folder).offline();
        let mut commits =
            Self { git, below, has_exact_renames_only: false, is_shallow: false, deadline };
        commits.is_shallow =
            commits.run(&["rev-parse", "--is-shallow-repository"], cancel).await? == "true";
        commits.has_exact_renames_only = match origin {
            // A partial clone of somebody's own lacks files as ours does.
            HistoryOrigin::Local { .. } => commits.is_partial(cancel).await?,
            HistoryOrigin::Remote { copy, .. } => !copy.join(UNFILTERED).exists(),
        };
        Ok(commits)
    }

    /// Whether `older` is `newer` or one of its ancestors, as far as is known here.
    pub async fn is_ancestor(
        &self,
        older: &str,
        newer: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        let asked = ["merge-base", "--is-ancestor", older, newer];
        match self.run(&asked, cancel).await {
            Ok(_) => Ok(true),
            Err(error @ (Error::Cancelled | Error::Timeout(_) | Error::NoGit(_))) => Err(error),
            // Not, or one of them is not here.
            Err(_) => Ok(false),
        }
    }

    /// Whether one of the commits that are read of `newest` touched one of these files, as they are
    /// called there. Of more than can be asked it is taken for granted.
    pub async fn has_touched(
        &self,
        newest: &str,
        paths: &[String],
        limits: Limits,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        let bytes: usize = paths.iter().map(|path| path.len() + self.below.len()).sum();
        if paths.is_empty() || paths.len() > ASKED || bytes > ASKED_BYTES {
            return Ok(!paths.is_empty());
        }
        let skip = format!("--skip={}", limits.commits);
        let first = ["rev-list", "--max-count=1", "--no-merges", &skip, "--end-of-options", newest];
        let beyond = self.run(&first, cancel).await?;
        let beyond = (!beyond.is_empty()).then(|| format!("^{beyond}"));
        let files: Vec<String> =
            paths.iter().map(|path| format!(":(top,literal){}{path}", self.below)).collect();
        // Not simplified: a branch is told of, too, that left nothing of a file.
        let mut asked =
            vec!["rev-list", "--max-count=1", "--no-merges", "--full-history", "--end-of-options"];
        asked.push(newest);
        asked.extend(beyond.as_deref());
        asked.push("--");
        asked.extend(files.iter().map(String::as_str));
        Ok(!self.run(&asked, cancel).await?.is_empty())
    }

    /// Hands over `git log` of `range`, newest first and without merges, as [`crate::history::log`]
    /// reads it.
    pub async fn log(
        &self,
        range: &str,
        limits: Limits,
        cancel: &CancellationToken,
        take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let most = format!("--max-count={}", limits.commits);
        let relative = format!("--relative={}", self.below);
        let renames =
            if self.has_exact_renames_only { "--find-renames=100%" } else { "--find-renames=50%" };
        let mut log = vec![
            "-c",
            "diff.renameLimit=2000",
            "-c",
            "log.showSignature=false",
            "-c",
            "log.showRoot=true",
            "log",
            "-z",
            "--date-order",
            "--no-merges",
            &most,
            "--name-status",
            renames,
            "--no-color",
            "--no-decorate",
            "--no-ext-diff",
            "--no-mailmap",
            "--no-notes",
            "--no-show-signature",
            "--no-textconv",
            "--encoding=UTF-8",
            crate::history::log::FORMAT,
        ];
        log.push(if self.below.is_empty() { "--no-relative" } else { &relative });
        log.extend(["--end-of-options", range, "--"]);
        self.git.fields(&log, self.left(), cancel, take).await
    }

    /// Whether the oldest commits are cut off from their parents.
    pub fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    async fn is_partial(&self, cancel: &CancellationToken) -> Result<bool, Error> {
        let asked = [
            "config",
            "--local",
            "--get-regexp",
            r"^(remote\..*\.promisor|extensions\.partialclone)$",
        ];
        match self.run(&asked, cancel).await {
            Ok(told) => Ok(!told.is_empty()),
            Err(error @ (Error::Cancelled | Error::Timeout(_) | Error::NoGit(_))) => Err(error),
            Err(_) => Ok(false),
        }
    }

    async fn run(&self, arguments: &[&str], cancel: &CancellationToken) -> Result<String, Error> {
        self.git.run(arguments, self.left(), cancel).await
    }

    fn left(&self) -> Duration {
        left(self.deadline)
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Fetching of a history.
struct Fetch<'a> {
    url: &'a Url,
    requested_ref: &'a str,
    settings: &'a [String],
    copy: &'a Path,
    limits: Limits,
    deadline: Instant,
}

impl Fetch<'_> {
    /// Brings the copy up to `sha`. The lock of the checkout keeps others away from it.
    async fn run(&self, sha: &str, cancel: &CancellationToken) -> Result<(), Error> {
        cache::create(self.copy)?;
        let git = Git::in_folder(self.copy).on_the_way_to(self.url, self.settings.to_vec());
        git.check_version(left(self.deadline), cancel).await?;
        if !self.copy.join("HEAD").exists() {
            let init = ["init", "--quiet", "--bare", "--template="];
            git.run(&init, left(self.deadline), cancel).await?;
        }
        self.remove_leftovers()?;
        if self.has(sha, cancel).await? {
            return Ok(());
        }
        match self.fetch(&git, sha, cancel).await {
            Ok(()) => {}
            // A server may give out commits by their branches alone; what is newer than the commit
            // is not read.
            Err(Error::Unreachable(_) | Error::NoRepository(_)) => {
                let wanted =
                    if self.requested_ref.is_empty() { "HEAD" } else { self.requested_ref };
                self.fetch(&git, wanted, cancel).await?;
            }
            Err(error) => return Err(error),
        }
        if self.has(sha, cancel).await? {
            return Ok(());
        }
        Err(Error::Unreachable(format!("the server does not give out the history of {sha}")))
    }

    async fn has(&self, sha: &str, cancel: &CancellationToken) -> Result<bool, Error> {
        let commit = format!("{sha}^{{commit}}");
        let git = Git::in_folder(self.copy).offline();
        match git.run(&["cat-file", "-e", &commit], left(self.deadline), cancel).await {
            Ok(_) => Ok(true),
            Err(error @ (Error::Cancelled | Error::Timeout(_) | Error::NoGit(_))) => Err(error),
            Err(_) => Ok(false),
        }
    }

    async fn fetch(
        &self,
        git: &Git,
        wanted: &str,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let depth = format!("--depth={}", self.limits.commits);
        let refspec = format!("+{wanted}:{KEPT}");
        let fetch = [
            "fetch",
            "--quiet",
            "--force",
            "--filter=blob:none",
            cache::upload_pack(self.url),
            &depth,
            "--no-tags",
            "--no-write-fetch-head",
            "--end-of-options",
            self.url.as_str(),
            &refspec,
        ];
        let stop = cancel.child_token();
        let fetched = git.run_with_warnings(&fetch, left(self.deadline), &stop);
        tokio::pin!(fetched);
        let mut is_too_large = false;
        let warnings = loop {
            tokio::select! {
                warnings = &mut fetched => break warnings,
                () = tokio::time::sleep(POLL_INTERVAL), if !is_too_large => {
                    is_too_large = self.size() > self.limits.bytes;
                    if is_too_large {
                        stop.cancel();
                    }
                }
            }
        };
        // A fetch may be over before its size was looked at.
        if is_too_large || (warnings.is_ok() && self.size() > self.limits.bytes) {
            self.clear()?;
            return Err(Error::HistoryTooLarge(self.limits.bytes));
        }
        if warnings?.contains(NO_FILTER) {
            std::fs::write(self.copy.join(UNFILTERED), "").map_err(|cause| self.io(cause))?;
        }
        Ok(())
    }

    /// Bytes of the packs, those under way among them.
    fn size(&self) -> u64 {
        let files = std::fs::read_dir(self.copy.join("objects/pack")).into_iter().flatten();
        files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }

    /// Deletes all that was fetched.
    fn clear(&self) -> Result<(), Error> {
        std::fs::remove_dir_all(self.copy).map_err(|cause| self.io(cause))
    }

    /// Deletes what a killed git left behind.
    fn remove_leftovers(&self) -> Result<(), Error> {
        for lock in ["shallow.lock", "HEAD.lock", "config.lock", "refs/history/newest.lock"] {
            match std::fs::remove_file(self.copy.join(lock)) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(self.io(cause));
                }
                _ => {}
            }
        }
        let packs =
            std::fs::read_dir(self.copy.join("objects/pack")).into_iter().flatten().flatten();
        for pack in packs.filter(|pack| pack.file_name().to_string_lossy().starts_with("tmp_")) {
            std::fs::remove_file(pack.path()).map_err(|cause| self.io(cause))?;
        }
        Ok(())
    }

    fn io(&self, cause: std::io::Error) -> Error {
        Error::Io { path: self.copy.display().to_string(), cause }
    }
}
