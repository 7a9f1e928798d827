//! Commits of a checkout: their origin, and fetching them without the contents of files.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::Error;
use crate::copy::CopyDirectory;
use crate::fetch;
use crate::program::{self, Credential, Git};
use crate::size::Objects;

/// Message of git if the server cannot omit the contents of files.
const NO_FILTER: &str = "filtering not recognized by server";
/// Marker file in a copy that includes the contents of files, because its server did not omit them.
const UNFILTERED: &str = "unfiltered";
/// Ref of the newest fetched commit, so that the next fetch requests only newer ones.
const NEWEST_REF: &str = "refs/history/newest";

/// Maximum number of paths on a command line of git.
const MAX_PATHS: usize = 500;
/// Maximum bytes of the paths on a command line of git.
const MAX_PATH_BYTES: usize = 64 * 1024;

/// Object name, parents, time and message of a commit, in [`Commits::log`].
const FORMAT: &str = "--format=tformat:%H%x00%P%x00%ct%x00%B";

/// Limits of reading a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Maximum number of the newest commits; 0 disables the history.
    pub commits: usize,
    /// Maximum time to fetch and read.
    pub time: Duration,
    /// Maximum bytes to fetch.
    pub bytes: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { commits: 20_000, time: Duration::from_mins(5), bytes: 512 << 20 }
    }
}

impl HistoryLimits {
    /// Returns the limits for the newest part of a history that exceeds these limits.
    pub fn newest_part(self) -> Self {
        Self { commits: self.commits.div_ceil(10), ..self }
    }
}

/// Origin of the history of a checkout.
#[derive(Debug, Clone)]
pub enum HistoryOrigin {
    /// A repository on this disk, which is only read.
    Local {
        /// A work tree, a directory in one, or a bare repository.
        repository: PathBuf,
        /// The indexed directory in it; empty for the root, else it ends with `/`.
        below: String,
    },
    /// A repository on a git server.
    Remote {
        /// URL of the repository.
        url: Url,
        /// Requested ref; empty for the default branch.
        requested_ref: String,
        /// Settings that restrict the hosts that git may reach.
        settings: Vec<String>,
        /// Credential for the URL.
        credential: Option<Credential>,
        /// Directory of the history: a bare repository in the cache.
        copy: PathBuf,
    },
}

impl HistoryOrigin {
    /// Returns the strings that identify the origin.
    pub fn key(&self) -> [String; 2] {
        match self {
            Self::Local { repository, below } => [repository.display().to_string(), below.clone()],
            Self::Remote { url, requested_ref, .. } => [url.to_string(), requested_ref.clone()],
        }
    }
}

/// Repository whose commits can be read.
#[derive(Debug)]
pub struct Commits {
    git: Git,
    below: String,
    /// Whether only renames of unchanged files are found, because file contents are missing.
    has_exact_renames_only: bool,
    /// Whether the oldest commits lack their parents, and so seem to add all their files.
    is_shallow: bool,
    deadline: Instant,
}

impl Commits {
    /// Opens the history of `sha`, and fetches its missing commits within the limits.
    pub async fn open(
        origin: &HistoryOrigin,
        sha: &str,
        limits: HistoryLimits,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let deadline = Instant::now() + limits.time;
        let (git, below, copy) = match origin {
            HistoryOrigin::Local { repository, below } => {
                (Git::in_place(repository)?, below.clone(), None)
            }
            HistoryOrigin::Remote { url, requested_ref, settings, credential, copy } => {
                let copy = CopyDirectory::create(copy, program::user_of(url))?;
                let git = Git::in_copy(&copy).with_remote(url, settings.clone());
                let git = git.with_credential(credential.clone());
                let git = git.with_max_file_bytes(limits.bytes);
                let fetch = Fetch { git, requested_ref, copy: &copy, limits, deadline };
                let fetched = fetch.run(sha, cancel).await;
                if let Err(Error::Timeout(_)) = fetched
                    && copy.path().exists()
                {
                    // A killed git may leave an incomplete copy.
                    copy.clear()?;
                }
                fetched?;
                (Git::in_copy(&copy), String::new(), Some(copy))
            }
        };
        let mut commits =
            Self { git, below, has_exact_renames_only: false, is_shallow: false, deadline };
        commits.is_shallow =
            commits.run(&["rev-parse", "--is-shallow-repository"], cancel).await? == "true";
        commits.has_exact_renames_only = match copy {
            // A partial clone lacks the contents of files, like the copies in the cache.
            None => commits.is_partial(cancel).await?,
            Some(copy) => !copy.contains(UNFILTERED),
        };
        Ok(commits)
    }

    /// Returns whether `older` is `newer` or one of its ancestors, among the fetched commits.
    pub async fn is_ancestor(
        &self,
        older: &str,
        newer: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        // Git fails if it is no ancestor, or if one of them was not fetched.
        let output = self.run(&["merge-base", "--is-ancestor", older, newer], cancel).await;
        Ok(if_successful(output)?.is_some())
    }

    /// Returns whether a commit of the history of `newest`, within the limits, touched one of these
    /// files. Too many paths for a command line count as touched.
    pub async fn has_touched(
        &self,
        newest: &str,
        paths: &[String],
        limits: HistoryLimits,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        let bytes: usize = paths.iter().map(|path| path.len() + self.below.len()).sum();
        if paths.is_empty() || paths.len() > MAX_PATHS || bytes > MAX_PATH_BYTES {
            return Ok(!paths.is_empty());
        }
        let skip = format!("--skip={}", limits.commits);
        let first = ["rev-list", "--max-count=1", "--no-merges", &skip, "--end-of-options", newest];
        let beyond = self.run(&first, cancel).await?;
        let beyond = (!beyond.is_empty()).then(|| format!("^{beyond}"));
        let files: Vec<String> =
            paths.iter().map(|path| format!(":(top,literal){}{path}", self.below)).collect();
        // Full history: includes merged branches whose changes to a file were discarded.
        let mut arguments =
            vec!["rev-list", "--max-count=1", "--no-merges", "--full-history", "--end-of-options"];
        arguments.push(newest);
        arguments.extend(beyond.as_deref());
        arguments.push("--");
        arguments.extend(files.iter().map(String::as_str));
        Ok(!self.run(&arguments, cancel).await?.is_empty())
    }

    /// Runs `git log` of `range`, newest first and without merges, and passes each field to
    /// `on_field`, without the NUL at its end: for each commit its object name, the names of its
    /// parents, its time in seconds since 1970 and its message, then for each file the status, and
    /// the path or, for a rename, both paths. A commit's first field may start with a line end.
    pub async fn log(
        &self,
        range: &str,
        limits: HistoryLimits,
        cancel: &CancellationToken,
        on_field: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let max_count = format!("--max-count={}", limits.commits);
        let relative = format!("--relative={}", self.below);
        let renames =
            if self.has_exact_renames_only { "--find-renames=100%" } else { "--find-renames=50%" };
        let relative = if self.below.is_empty() { "--no-relative" } else { relative.as_str() };
        let options = "-c diff.renameLimit=2000 -c log.showSignature=false -c log.showRoot=true \
            log -z --date-order --no-merges --name-status --no-color --no-decorate --no-ext-diff \
            --no-mailmap --no-notes --no-show-signature --no-textconv --encoding=UTF-8";
        let mut log: Vec<&str> = options.split(' ').collect();
        log.extend([renames, &max_count, FORMAT, relative, "--end-of-options", range, "--"]);
        self.git.fields(&log, self.remaining(), cancel, on_field).await
    }

    /// Returns whether the parents of the oldest commits are missing.
    pub fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    async fn is_partial(&self, cancel: &CancellationToken) -> Result<bool, Error> {
        let names = r"^(remote\..*\.promisor|extensions\.partialclone)$";
        let output = self.run(&["config", "--local", "--get-regexp", names], cancel).await;
        Ok(if_successful(output)?.is_some_and(|output| !output.is_empty()))
    }

    async fn run(&self, arguments: &[&str], cancel: &CancellationToken) -> Result<String, Error> {
        self.git.run(arguments, self.remaining(), cancel).await
    }

    fn remaining(&self) -> Duration {
        remaining(self.deadline)
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Returns the output of git, or `None` if git itself reports a failure.
fn if_successful(output: Result<String, Error>) -> Result<Option<String>, Error> {
    match output {
        Ok(output) => Ok(Some(output)),
        Err(error @ (Error::Cancelled | Error::Timeout(_) | Error::GitNotFound(_))) => Err(error),
        Err(_) => Ok(None),
    }
}

struct Fetch<'a> {
    git: Git,
    requested_ref: &'a str,
    copy: &'a CopyDirectory,
    limits: HistoryLimits,
    deadline: Instant,
}

impl Fetch<'_> {
    /// Fetches the history of `sha` into the copy. The lock of the checkout protects the copy.
    async fn run(&self, sha: &str, cancel: &CancellationToken) -> Result<(), Error> {
        let git = &self.git;
        git.check_version(remaining(self.deadline), cancel).await?;
        if !self.copy.contains("HEAD") {
            let init = ["init", "--quiet", "--bare", "--template="];
            git.run(&init, remaining(self.deadline), cancel).await?;
        }
        self.remove_leftovers()?;
        if self.has(sha, cancel).await? {
            return Ok(());
        }
        match self.fetch(sha, cancel).await {
            Ok(()) => {}
            // Some servers do not serve a commit by its name. Newer commits are not read.
            Err(Error::Unreachable(_) | Error::RepositoryNotFound(_)) => {
                let name = if self.requested_ref.is_empty() { "HEAD" } else { self.requested_ref };
                self.fetch(name, cancel).await?;
            }
            Err(error) => return Err(error),
        }
        if self.has(sha, cancel).await? {
            return Ok(());
        }
        Err(Error::Unreachable(format!("the server does not serve the history of {sha}")))
    }

    async fn has(&self, sha: &str, cancel: &CancellationToken) -> Result<bool, Error> {
        let commit = format!("{sha}^{{commit}}");
        let git = Git::in_copy(self.copy);
        let arguments = ["cat-file", "-e", &commit];
        let output = git.run(&arguments, remaining(self.deadline), cancel).await;
        Ok(if_successful(output)?.is_some())
    }

    async fn fetch(&self, name: &str, cancel: &CancellationToken) -> Result<(), Error> {
        let git = &self.git;
        let depth = format!("--depth={}", self.limits.commits);
        let refspec = format!("+{name}:{NEWEST_REF}");
        let options = "fetch --quiet --force --filter=blob:none --no-tags --no-write-fetch-head";
        let mut fetch: Vec<&str> = options.split(' ').collect();
        fetch.extend([&depth, "--end-of-options", git.remote(), &refspec]);
        let time = remaining(self.deadline);
        let fetched = self.objects().fetch(git, &fetch, self.limits.bytes, time, cancel).await?;
        let Some(warnings) = fetched else {
            self.copy.clear()?;
            return Err(Error::HistoryTooLarge(self.limits.bytes));
        };
        if warnings.contains(NO_FILTER) {
            self.copy.write(UNFILTERED, b"")?;
        }
        Ok(())
    }

    fn objects(&self) -> Objects {
        Objects::of(self.copy.path())
    }

    /// Deletes temporary files and locks of a killed git.
    fn remove_leftovers(&self) -> Result<(), Error> {
        let locks = ["shallow.lock", "HEAD.lock", "config.lock", "refs/history/newest.lock"];
        self.copy.remove(&locks)?;
        self.copy.remove_with_prefix("objects/pack", fetch::INCOMPLETE_PACK)
    }
}
