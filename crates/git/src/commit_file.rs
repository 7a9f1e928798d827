//! Commits of single files to a local checkout, for copies of data that the service owns. Nothing
//! is pushed, no hook or filter of the repository runs, and changes of other files, staged or not,
//! stay as they are. A change of the file itself is overwritten.

use std::path::Path;

use mc_files::Root;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::copy::file_failed;
use crate::location::invalid;
use crate::plumbing::{Identity, IndexEntry, Mode, Plumbing, run_blocking};
use crate::program::Git;

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
    let identity = Identity::of_service();
    let owner =
        Root::open(checkout)?.metadata("").map_err(|error| file_failed(checkout, error))?.owner;
    let git =
        Git::as_owner(checkout, owner)?.with_settings(Identity::settings(&identity, &identity));
    let repository = Plumbing { git: &git, cancel };
    let branch = branch(&repository).await?;
    let parent = head(&repository).await?;
    write(checkout, &file).await?;
    let path = file.path();
    let sha = repository.store(file.content.as_bytes()).await?;
    let committed = repository.run(&["ls-tree", "--object-only", "HEAD", "--", &path]).await?;
    if committed == sha {
        return repository.run(&["log", "-1", "--format=%H", "--", &path]).await;
    }
    let changed = [IndexEntry::Blob { mode: Mode::File, sha, path }];
    let tree = repository.tree(&parent, &changed).await?;
    let commit = repository.commit(&tree, &parent, file.message).await?;
    repository.move_ref(&branch, &parent, &commit, file.message).await?;
    // So that the file does not count as changed. A locked index is no reason to fail: the commit
    // exists.
    if let Err(error) = repository.update_index(&changed).await {
        tracing::warn!(%error, path = file.path(), "the index of the checkout was not updated");
    }
    Ok(commit)
}

/// Returns the branch that is checked out at the top of the directory.
async fn branch(repository: &Plumbing<'_>) -> Result<String, Error> {
    let found = repository.run(&["rev-parse", "--is-inside-work-tree", "--show-prefix"]).await?;
    if found != "true" {
        return Err(invalid("it is not the top directory of a checkout; configure that directory"));
    }
    let branch = repository.run(&["symbolic-ref", "--quiet", "HEAD"]).await;
    branch.map_err(|error| match error {
        Error::Unreachable(_) => {
            invalid("the checkout has no branch checked out; run `git switch <branch>` there")
        }
        error => error,
    })
}

/// Returns the commit that is checked out.
async fn head(repository: &Plumbing<'_>) -> Result<String, Error> {
    let head = repository.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await;
    head.map_err(|error| match error {
        Error::Unreachable(_) => {
            invalid("the branch of the checkout has no commit yet; commit something there")
        }
        error => error,
    })
}

/// Writes the file with the rights of the checkout's owner.
async fn write(checkout: &Path, file: &CommittedFile<'_>) -> Result<(), Error> {
    let (checkout, path) = (checkout.to_owned(), file.path());
    let [directory, content] = [file.directory, file.content].map(str::to_owned);
    let write = move || {
        let root = Root::open(&checkout)?;
        let written = root.create_directories(&directory);
        let written = written.and_then(|()| root.replace(&path, content.as_bytes(), 0o644));
        written.map_err(|error| file_failed(&checkout.join(&path), error))
    };
    run_blocking(write).await
}
