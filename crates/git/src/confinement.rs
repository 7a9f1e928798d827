//! The directories to which git is confined when it works on a tree.
//!
//! They are found by handles, from the open tree on. So it does not matter who replaces the path of
//! the tree, or one of its parents, while git runs: git finds another repository there, and can't
//! open it.

use std::ffi::OsStr;
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
        confinement.add(opened.into());
    }
    Ok(confinement)
}

/// Confines git to a checkout of this machine and to the directories of its repository, which may
/// be elsewhere. One that is protected, or that belongs neither to the owner of the checkout nor to
/// root, is rejected: the owner of the checkout decides which ones git reads, and may not be
/// allowed to read them.
pub(crate) fn of_checkout(tree: Root, protected: &Snapshot) -> Result<Confinement, Error> {
    let repository = Repository { tree: &tree, protected };
    let Some(git) = repository.git_directory()? else {
        return Err(Error::InvalidLocation(NOT_THE_TOP.into()));
    };
    // That of a linked work tree names the one that all work trees share.
    let shared = path_in(&git, "commondir", "")?.map(|path| repository.open(&path)).transpose()?;
    let shared = shared.flatten();
    let objects = shared.as_ref().unwrap_or(&git).path().join("objects");
    let mut confinement = Confinement::default();
    for path in local::check_alternates(&objects, tree.user(), protected)? {
        // Git does without one that is missing.
        if let Some(objects) = repository.open(&path)? {
            confinement.add(objects.into());
        }
    }
    for each in shared.into_iter().chain([git, tree]) {
        confinement.add(each.into());
    }
    Ok(confinement)
}

struct Repository<'a> {
    tree: &'a Root,
    protected: &'a Snapshot,
}

impl Repository<'_> {
    /// Opens git's directory of the tree, or the one that a file or link at its place names; `None`
    /// if there is none.
    fn git_directory(&self) -> Result<Option<Root>, Error> {
        const NAME: &str = ".git";
        let failed = |error| file_failed(&self.tree.path().join(NAME), error);
        let named = match self.tree.metadata(NAME).map(|found| found.kind) {
            Ok(FileKind::Directory) => {
                return self.tree.open_below(NAME).map(Some).map_err(failed);
            }
            Ok(FileKind::Link) => {
                let target = self.tree.read_link(NAME).map_err(failed)?;
                Some(self.tree.path().join(OsStr::from_bytes(&target)))
            }
            Ok(FileKind::File) => path_in(self.tree, NAME, "gitdir: ")?,
            Ok(FileKind::Other) | Err(FileError::Missing) => None,
            Err(error) => return Err(failed(error)),
        };
        Ok(named.map(|path| self.open(&path)).transpose()?.flatten())
    }

    /// Opens a directory that the checkout names, with the rights of its owner; `None` if it does
    /// not exist.
    fn open(&self, path: &Path) -> Result<Option<Root>, Error> {
        let failed = |error| file_failed(path, error);
        let opened = match self.tree.open_other(path) {
            Err(FileError::Missing) => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        self.protected.check_open(&opened)?;
        let owner_of = |root: &Root| root.metadata("").map(|found| found.owner).map_err(failed);
        let (owner, owner_of_tree) = (owner_of(&opened)?, owner_of(self.tree)?);
        let is_inside = opened.with_parents()?.contains(&self.tree.identity()?);
        if is_inside || owner == owner_of_tree || owner == ROOT {
            return Ok(Some(opened));
        }
        Err(Error::InvalidLocation(format!(
            "git reads {} for this checkout, which belongs to another user of the machine (id \
             {owner}) than the checkout (id {owner_of_tree}); give both to one user with `chown \
             -R`, or fetch the repository into a workspace",
            path.display()
        )))
    }
}

/// Returns the path in a file, after its prefix; `None` without the file or the prefix.
fn path_in(parent: &Root, name: &str, prefix: &str) -> Result<Option<PathBuf>, Error> {
    let content = match parent.read(name, MAX_NAME_BYTES) {
        Err(FileError::Missing) => return Ok(None),
        content => content.map_err(|error| file_failed(&parent.path().join(name), error))?,
    };
    let path = content.strip_prefix(prefix.as_bytes());
    let path = path.map(<[u8]>::trim_ascii_end).filter(|path| !path.is_empty());
    Ok(path.map(|path| parent.path().join(OsStr::from_bytes(path))))
}
