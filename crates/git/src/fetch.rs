//! Fetching one ref into a copy of a repository, within the limits.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::copy::CopyDirectory;
use crate::program::Git;
use crate::size::Objects;
use crate::{Error, Limits};

/// Timeout of any step but the fetch.
pub(crate) const STEP_LIMIT: Duration = Duration::from_mins(5);
/// Lock files that a killed git leaves in its directory. They are safe to delete while our own lock
/// is held.
const STALE_LOCKS: &[&str] = &[
    "index.lock",
    "shallow.lock",
    "HEAD.lock",
    "config.lock",
    "FETCH_HEAD.lock",
    "packed-refs.lock",
];

/// Start of the name of a pack that git has not fetched completely.
pub(crate) const INCOMPLETE_PACK: &str = "tmp_";

/// How many commits of a ref are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The newest one.
    Shallow,
    /// All.
    Full,
}

/// Update of a copy to the newest commit of a ref.
pub(crate) struct Update<'a> {
    pub git: &'a Git,
    /// Requested ref; empty for the default branch.
    pub requested_ref: &'a str,
    pub copy: &'a CopyDirectory,
    /// Git's directory in the copy: `.git`, or empty for the copy itself.
    pub git_directory: &'a str,
    pub depth: Depth,
    pub limits: Limits,
    /// Timeout of a fetch.
    pub time: Duration,
}

impl Update<'_> {
    /// Fetches the commit of the ref; `None` for an empty repository, without branches and tags.
    pub async fn run(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        let is_too_large =
            |newest: &Result<_, Error>| matches!(newest, Err(Error::RepositoryTooLarge { .. }));
        let had_commits = self.has_repository();
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

    /// Writes the files of a commit into the work tree, and deletes all others.
    pub async fn write_files(
        &self,
        sha: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        if let Some(sha) = sha {
            self.limits.check_files(self.git, sha, STEP_LIMIT, cancel).await?;
            let tree = ["checkout", "--quiet", "--force", "--detach", sha, "--"];
            self.git.run(&tree, STEP_LIMIT, cancel).await?;
        } else {
            tracing::info!("the repository has no commits; its tree is empty");
            self.git.run(&["read-tree", "--empty"], STEP_LIMIT, cancel).await?;
        }
        self.git.run(&["clean", "--quiet", "-ffdx"], STEP_LIMIT, cancel).await.map(drop)
    }

    fn has_repository(&self) -> bool {
        self.copy.contains(&self.in_git_directory("HEAD"))
    }

    fn in_git_directory(&self, name: &str) -> String {
        if self.git_directory.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.git_directory)
        }
    }

    async fn newest(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        if !self.has_repository() {
            self.git.run(&["init", "--quiet", "--template="], STEP_LIMIT, cancel).await?;
        }
        self.ignore_conversions()?;
        let locks: Vec<String> =
            STALE_LOCKS.iter().map(|name| self.in_git_directory(name)).collect();
        self.copy.remove(&locks.iter().map(String::as_str).collect::<Vec<_>>())?;
        let packs = self.in_git_directory("objects/pack");
        self.copy.remove_with_prefix(&packs, INCOMPLETE_PACK)?;
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
        let depth: &[&str] = match self.depth {
            Depth::Shallow => &["--depth=1"],
            Depth::Full => &[],
        };
        let failure = match self.fetch(depth, &[name], cancel).await {
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
            return commit(self.git, requested_ref, cancel).await.map_err(|error| match error {
                Error::Unreachable(_) => Error::UnknownRef(requested_ref.into()),
                error => error,
            });
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
        let (bytes, time) = (self.limits.bytes, self.time);
        let fetched = self.objects().fetch(self.git, &fetch, bytes, time, cancel).await?;
        fetched.map(drop).ok_or_else(|| self.limits.exceeded())
    }

    fn objects(&self) -> Objects {
        Objects::of(&self.copy.path().join(self.git_directory))
    }

    /// Makes git write files as they are stored: their sizes were checked, and the repository may
    /// ask for another encoding, which takes four times as many bytes.
    fn ignore_conversions(&self) -> Result<(), Error> {
        let attributes = self.in_git_directory("info/attributes");
        self.copy.write(&attributes, b"* !working-tree-encoding !ident\n")
    }
}

async fn commit(git: &Git, name: &str, cancel: &CancellationToken) -> Result<String, Error> {
    let name = format!("{name}^{{commit}}");
    git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], STEP_LIMIT, cancel)
        .await
}
