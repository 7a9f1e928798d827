//! The directories to which git is confined when it works on a tree.
//!
//! They are found by handles, from the open tree on. So it does not matter who replaces the path of
//! the tree, or one of its parents, while git runs: git finds another repository there, and can't
//! open it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use mc_files::{FileError, FileKind, Root, Snapshot};
use mc_privileges::{Confinement, UnprivilegedUser};

use crate::copy::file_failed;
use crate::{Error, local};

/// Maximum size of a file that names a directory, in bytes.
const MAX_NAME_BYTES: u64 = 64 * 1024;
/// Id of the superuser, who may own objects that a repository borrows.
const ROOT: u32 = 0;

/// Reason why a directory is no checkout.
pub(crate) const NOT_THE_TOP: &str =
    "the directory is not the top of a checkout of git; give that directory";

/// Confines git to directories that the service created for `user`.
pub(crate) fn of_own(
    directories: &[&Path],
    user: Option<UnprivilegedUser>,
) -> Result<Confinement, Error> {
    let mut confinement = Confinement::default();
    for directory in directories {
        let opened = Root::open_owned(directory, user).map_err(Error::io(directory))?;
        confinement.add(OwnedFd::from(opened));
    }
    Ok(confinement)
}

/// Confines git to a checkout of this machine and to the directories of its repository, which may
/// be elsewhere. One that is protected, or that belongs neither to the owner of the checkout nor to
/// root, is rejected: the owner of the checkout decides which ones git reads, and may not be
/// allowed to read them.
pub(crate) fn of_checkout(tree: Root, protected: &Snapshot) -> Result<Confinement, Error> {
    let repository = Repository { tree: &tree, protected };
    let git = repository.named(&tree, ".git", "gitdir: ")?;
    let Some(git) = git else { return Err(Error::InvalidLocation(NOT_THE_TOP.into())) };
    let shared = match repository.path_in(&git, "commondir", "")? {
        Some(path) => Some(repository.open(&path)?),
        None => None,
    };
    let objects = shared.as_ref().unwrap_or(&git).path().join("objects");
    let objects = local::check_alternates(&objects, tree.user(), protected)?;
    let mut confinement = Confinement::default();
    for path in objects {
        confinement.add(OwnedFd::from(repository.open(&path)?));
    }
    for each in shared.into_iter().chain([git, tree]) {
        confinement.add(OwnedFd::from(each));
    }
    Ok(confinement)
}

struct Repository<'a> {
    tree: &'a Root,
    protected: &'a Snapshot,
}

impl Repository<'_> {
    /// Opens a directory, or the one that a file or link at its place names.
    fn named(&self, parent: &Root, name: &str, prefix: &str) -> Result<Option<Root>, Error> {
        let failed = |error| file_failed(&parent.path().join(name), error);
        let path = match parent.metadata(name).map(|found| found.kind) {
            Ok(FileKind::Directory) => return parent.open_below(name).map(Some).map_err(failed),
            Ok(FileKind::Link) => Some(parent.read_link(name).map_err(failed)?),
            Ok(FileKind::File) => {
                return match self.path_in(parent, name, prefix)? {
                    Some(path) => self.open(&path).map(Some),
                    None => Ok(None),
                };
            }
            Ok(FileKind::Other) | Err(FileError::Missing) => None,
            Err(error) => return Err(failed(error)),
        };
        path.map(|path| self.open(&parent.path().join(OsStr::from_bytes(&path)))).transpose()
    }

    /// Returns the path in a file, after its prefix; `None` without the file or the prefix.
    fn path_in(&self, parent: &Root, name: &str, prefix: &str) -> Result<Option<PathBuf>, Error> {
        let content = match parent.read(name, MAX_NAME_BYTES) {
            Err(FileError::Missing) => return Ok(None),
            content => content.map_err(|error| file_failed(&parent.path().join(name), error))?,
        };
        let path = content.strip_prefix(prefix.as_bytes());
        let path = path.map(|path| path.trim_ascii_end()).filter(|path| !path.is_empty());
        Ok(path.map(|path| parent.path().join(OsStr::from_bytes(path))))
    }

    /// Opens a directory that the checkout names, with the rights of its owner.
    fn open(&self, path: &Path) -> Result<Root, Error> {
        let failed = |error| file_failed(path, error);
        let opened = self.tree.open_other(path).map_err(failed)?;
        self.protected.check_open(&opened)?;
        let owner_of = |root: &Root| root.metadata("").map(|found| found.owner).map_err(failed);
        let (owner, owner_of_tree) = (owner_of(&opened)?, owner_of(self.tree)?);
        let is_inside = opened.with_parents()?.contains(&self.tree.identity()?);
        if is_inside || owner == owner_of_tree || owner == ROOT {
            return Ok(opened);
        }
        Err(Error::InvalidLocation(format!(
            "git reads {} for this checkout, which belongs to another user of the machine (id \
             {owner}) than the checkout (id {owner_of_tree}); give both to one user with `chown \
             -R`, or fetch the repository into a workspace",
            path.display()
        )))
    }
}
