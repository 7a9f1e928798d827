//! A work tree that is read and changed: that of a clone, or a checkout of this machine.
//!
//! Git runs no hook, filter, text conversion, merge driver or diff program, and nothing but a push
//! leaves the machine. Files are staged and restored by handles. Git itself reads the tree to find
//! changes, and a stash lets it write files: meanwhile, the caller must let nobody else change the
//! tree. Paths have names separated by `/`, relative to the top of the tree.

mod change;
mod overrides;
mod push;
mod query;
mod revision;
mod stash;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mc_files::{ProtectedDirectories, Root, Snapshot, is_name_of_git};
use mc_privileges::{Confinement, UnprivilegedUser, is_root};
use tokio_util::sync::CancellationToken;

use crate::clone::{GIT_DIRECTORY, TREE};
use crate::confinement::{self, NOT_THE_TOP};
use crate::copy::{CopyDirectory, file_failed};
use crate::plumbing::{LIMIT, Plumbing, run_blocking};
use crate::program::Git;
use crate::{Error, Identity, Location, local};

pub use change::MAX_FILES;
pub use push::Push;
pub use query::{Blame, Diff, Log, Text};
pub use revision::check_revision;
pub use trial::Trial;

/// Maximum bytes of a file that git writes, such as a pack.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// A work tree, and git's directory of it.
#[derive(Debug)]
pub struct WorkTree {
    git: Git,
    path: PathBuf,
    /// The protected directories, for a checkout of this machine; `None` for the tree of a clone,
    /// where every file belongs to one user.
    protected: Option<Arc<Snapshot>>,
}

impl WorkTree {
    /// Returns the work tree of a clone in `directory`, whose files belong to `user`.
    pub(crate) fn beside(directory: &Path, user: Option<UnprivilegedUser>) -> Result<Self, Error> {
        let (path, of_git) = (directory.join(TREE), directory.join(GIT_DIRECTORY));
        let confinement = confinement::of_own(&[&path, &of_git], user)?;
        let git = Git::as_user(&path, user).with_git_directory(of_git).confined_to(confinement);
        Ok(Self { git: git.with_max_file_bytes(MAX_FILE_BYTES), path, protected: None })
    }

    /// Opens the work tree of an earlier [`crate::clone`] in `directory`.
    pub fn of_clone(directory: &Path) -> Result<Self, Error> {
        let tree = directory.join(TREE);
        let found = Root::open(&tree)?.metadata("");
        let owner = found.map_err(|error| file_failed(&tree, error))?.owner;
        let users = [UnprivilegedUser::GIT, UnprivilegedUser::PRIVATE_GIT];
        let user = users.into_iter().find(|user| user.uid == owner);
        if is_root() && user.is_none() {
            return Err(Error::InvalidLocation(
                "the tree belongs to another user than git's, as a service that ran as another \
                 user left it; fetch the repository again"
                    .into(),
            ));
        }
        Self::beside(directory, user.filter(|_| is_root()))
    }

    /// Opens a checkout of this machine at its top directory, as its owner. The path is absolute,
    /// and has no symbolic links. A checkout that is protected, or whose repository leads into a
    /// protected directory, is rejected.
    pub async fn in_place(
        checkout: &Path,
        protected: &ProtectedDirectories,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let location = Location::Directory(checkout.to_owned());
        let protected = Arc::new(protected.snapshot()?);
        protected.check(checkout)?;
        local::check(&location, &protected, cancel).await?;
        let (confinement, owner) = confine(checkout, &protected).await?;
        let git = Git::as_owner(checkout, owner)?.confined_to(confinement);
        let git = git.with_max_file_bytes(MAX_FILE_BYTES);
        let found =
            git.run(&["rev-parse", "--is-inside-work-tree", "--show-prefix"], LIMIT, cancel);
        match found.await {
            Ok(found) if found == "true" => {}
            Ok(_) | Err(Error::Unreachable(_)) => {
                return Err(Error::InvalidLocation(NOT_THE_TOP.into()));
            }
            Err(error) => return Err(error),
        }
        let overrides = overrides::of(&git, cancel).await?;
        let git = git.with_overrides(overrides);
        Ok(Self { git, path: checkout.to_owned(), protected: Some(protected) })
    }

    /// Returns the top directory of the tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the user to whom the files belong; `None` for the service's own.
    pub fn user(&self) -> Option<UnprivilegedUser> {
        self.git.user()
    }

    /// Returns whether it is the tree of a clone, in which git's own directory is not.
    pub fn is_of_clone(&self) -> bool {
        self.protected.is_none()
    }

    /// Opens the tree, to list, read and write files.
    pub fn root(&self) -> Result<Root, Error> {
        if let Some(protected) = &self.protected {
            return open_checked(&self.path, protected);
        }
        Root::open_owned(&self.path, self.user()).map_err(Error::io(&self.path))
    }

    /// Creates an empty directory for a copy of the tree, which belongs to the user of its files.
    /// The directory around it exists, and that user may pass through it.
    pub fn create_directory(&self, path: &Path) -> Result<Root, Error> {
        CopyDirectory::create(path, self.root()?.user())?.root()
    }

    /// Returns the commit that is checked out; `None` if there is none yet.
    pub async fn head(&self, cancel: &CancellationToken) -> Result<Option<String>, Error> {
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        match self.git.run(&head, LIMIT, cancel).await {
            Ok(sha) => Ok(Some(sha)),
            Err(Error::Unreachable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn plumbing<'a>(&'a self, cancel: &'a CancellationToken) -> Plumbing<'a> {
        Plumbing { git: &self.git, cancel }
    }

    /// Returns git that commits as this author.
    fn git_of(&self, author: &Identity) -> Git {
        let identity = Identity::settings(author, &Identity::of_service());
        self.git.clone().with_more_settings(identity)
    }
}

/// Opens a checkout of this machine that is not protected. A link may have taken the place of the
/// checkout, or of one of its parents, since the path was resolved.
fn open_checked(checkout: &Path, protected: &Snapshot) -> Result<Root, Error> {
    let root = Root::open(checkout)?;
    protected.check_open(&root)?;
    if root.real_path().map_err(Error::io(checkout))? != checkout {
        return Err(Error::InvalidLocation(format!(
            "{} leads to another directory by a link; give the real path",
            checkout.display()
        )));
    }
    Ok(root)
}

/// Confines git to a checkout of this machine. Returns also the id of its owner.
async fn confine(checkout: &Path, protected: &Arc<Snapshot>) -> Result<(Confinement, u32), Error> {
    let (checkout, protected) = (checkout.to_owned(), Arc::clone(protected));
    let confine = move || {
        let tree = open_checked(&checkout, &protected)?;
        let owner = tree.metadata("").map_err(|error| file_failed(&checkout, error))?.owner;
        Ok((confinement::of_checkout(tree, &protected)?, owner))
    };
    run_blocking(confine).await
}

/// Returns the error of an operation that git rejects. Git was asked for nothing that a later
/// attempt could reach.
fn rejected(error: Error) -> Error {
    match error {
        Error::Unreachable(reason) | Error::RepositoryNotFound(reason) => {
            Error::Rejected(format!("{reason}; check the arguments"))
        }
        error => error,
    }
}

/// Checks that a path is one below the tree, and not in git's directory.
pub(crate) fn check_path(path: &str) -> Result<(), Error> {
    let is_bad =
        |part: &str| matches!(part, "" | "." | "..") || part.contains('\0') || is_name_of_git(part);
    if path.split('/').any(is_bad) {
        return Err(Error::Rejected(format!(
            "\"{path}\" is not a path below the tree; write names separated by \"/\", without \
             \".\", \"..\", \".git\" and empty names"
        )));
    }
    Ok(())
}
