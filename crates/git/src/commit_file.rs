//! Commits of single files to a local checkout, for copies of data that the service owns. Nothing
//! is pushed, no hook or filter of the repository runs, and changes of other files, staged or not,
//! stay as they are. A change of the file itself is overwritten.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mc_files::Root;
use mc_privileges::UnprivilegedUser;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::copy::file_failed;
use crate::program::Git;

/// Timeout of one command of git.
const LIMIT: Duration = Duration::from_secs(30);
/// Author and committer.
const IDENTITY: [&str; 2] = ["user.name=Memory Copilot", "user.email=memory-copilot@localhost"];
/// Mode of a committed file.
const FILE_MODE: &str = "100644";

/// A file to commit.
#[derive(Debug, Clone, Copy)]
pub struct CommittedFile<'a> {
    /// Directory at the top of the checkout.
    pub directory: &'a str,
    /// Name in the directory.
    pub name: &'a str,
    /// Content.
    pub content: &'a str,
    /// Message of the commit.
    pub message: &'a str,
}

impl CommittedFile<'_> {
    fn path(&self) -> String {
        format!("{}/{}", self.directory, self.name)
    }
}

/// Writes a file into the checkout and commits it to the branch that is checked out. Returns the
/// commit. If the branch has the same content already, nothing is committed, and the last commit of
/// the file is returned.
///
/// The branch moves only if it is still at the commit that was read: a commit of somebody else in
/// between is [`Error::Unreachable`], and a later attempt succeeds.
pub async fn commit_file(
    checkout: &Path,
    file: CommittedFile<'_>,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let git = Git::as_owner(checkout)?.with_settings(IDENTITY.map(str::to_owned).to_vec());
    let repository = Repository { git, cancel, checkout };
    let branch = repository.branch().await?;
    let parent = repository.head().await?;
    repository.write(&file).await?;
    let path = file.path();
    let blob = repository.run(&["hash-object", "-w", "--no-filters", "--", &path]).await?;
    let committed = repository.run(&["ls-tree", "--object-only", "HEAD", "--", &path]).await?;
    if committed == blob {
        return repository.run(&["log", "-1", "--format=%H", "--", &path]).await;
    }
    let tree = repository.tree(&parent, &path, &blob).await?;
    let commit = repository.run(&["commit-tree", &tree, "-p", &parent, "-m", file.message]).await?;
    repository.run(&["update-ref", "-m", file.message, &branch, &commit, &parent]).await?;
    // So that the file does not count as changed. A locked index is no reason to fail: the commit
    // exists.
    if let Err(error) = repository.add_to_index(&repository.git, &path, &blob).await {
        tracing::warn!(error = %error, path, "the index of the checkout was not updated");
    }
    Ok(commit)
}

struct Repository<'a> {
    git: Git,
    cancel: &'a CancellationToken,
    checkout: &'a Path,
}

impl Repository<'_> {
    async fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        self.git.run(arguments, LIMIT, self.cancel).await
    }

    /// Returns the branch that is checked out at the top of the directory.
    async fn branch(&self) -> Result<String, Error> {
        let found = self.run(&["rev-parse", "--is-inside-work-tree", "--show-prefix"]).await?;
        if found != "true" {
            let reason = "it is not the top directory of a checkout; configure that directory";
            return Err(Error::InvalidLocation(reason.into()));
        }
        let detached = |_| {
            let reason = "the checkout has no branch checked out; run `git switch <branch>` there";
            Error::InvalidLocation(reason.into())
        };
        self.run(&["symbolic-ref", "--quiet", "HEAD"]).await.map_err(detached)
    }

    /// Returns the commit that is checked out.
    async fn head(&self) -> Result<String, Error> {
        let head = self.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await;
        head.map_err(|_| {
            let reason = "the branch of the checkout has no commit yet; commit something there";
            Error::InvalidLocation(reason.into())
        })
    }

    /// Writes the file. Its directory is opened by a handle, so no symbolic link leads elsewhere.
    async fn write(&self, file: &CommittedFile<'_>) -> Result<(), Error> {
        let path = self.checkout.join(file.path());
        let checkout = self.checkout.to_owned();
        let [directory, below, content] =
            [file.directory, &file.path(), file.content].map(str::to_owned);
        let write = move || {
            let root = Root::open(&checkout)?;
            let written = root.create_directories(&directory);
            let written = written.and_then(|()| root.replace(&below, content.as_bytes(), 0o644));
            written.map_err(|error| file_failed(&path, error))
        };
        // The runtime is shutting down.
        tokio::task::spawn_blocking(write).await.unwrap_or(Err(Error::Cancelled))
    }

    /// Returns the tree of a commit with another version of one file. It is made in an index of its
    /// own, so that what others have staged is not committed.
    async fn tree(&self, commit: &str, path: &str, blob: &str) -> Result<String, Error> {
        let name = format!("memory-copilot-{}.index", Uuid::now_v7().simple());
        let index = self.run(&["rev-parse", "--path-format=absolute", "--git-path", &name]).await?;
        let git = Git::as_owner(self.checkout)?.with_index(PathBuf::from(index));
        let in_index = async {
            git.run(&["read-tree", commit], LIMIT, self.cancel).await?;
            self.add_to_index(&git, path, blob).await?;
            git.run(&["write-tree"], LIMIT, self.cancel).await
        };
        let tree = in_index.await;
        if let Some(index) = git.index() {
            let index = index.to_owned();
            // One that stays is small, and git never reads it.
            let _ = as_user(&git, move || std::fs::remove_file(index)).await;
        }
        tree
    }

    async fn add_to_index(&self, git: &Git, path: &str, blob: &str) -> Result<(), Error> {
        let entry = format!("{FILE_MODE},{blob},{path}");
        let arguments = ["update-index", "--add", "--cacheinfo", &entry];
        git.run(&arguments, LIMIT, self.cancel).await.map(drop)
    }
}

/// Runs `access` to files on a blocking thread, with the rights of the user who runs `git`.
async fn as_user<T: Send + 'static>(
    git: &Git,
    access: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    let user = git.user();
    let access = move || {
        let _access = user.map(UnprivilegedUser::access_files).transpose()?;
        access()
    };
    tokio::task::spawn_blocking(access).await.map_err(std::io::Error::other)?
}
