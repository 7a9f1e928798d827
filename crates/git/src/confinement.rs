//! The directories to which git is confined when it works on a tree.
//!
//! They are found by handles, from the open tree on. So it does not matter who replaces the path of
//! the tree, or one of its parents, while git runs: git finds another repository there, and can't
//! open it.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use mc_files::{FileError, FileKind, Identity, Root, Snapshot};
use mc_privileges::{Confinement, UnprivilegedUser};

use crate::Error;
use crate::copy::file_failed;
use crate::local::{
    MAX_LIST_BYTES, MAX_OBJECT_DIRECTORIES, alternates, too_many_object_directories,
};

/// Environment variables with the paths of certificates.
const CERTIFICATE_VARIABLES: [&str; 4] =
    ["GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_DIR", "SSL_CERT_FILE"];

/// Reason why a directory is no checkout.
pub(crate) const NOT_THE_TOP: &str =
    "the directory is not the top of a checkout of git; give that directory";

/// Programs and libraries of git. Git runs filters and other commands with the shell.
static PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let listed = |name| env::var_os(name).map(|list| env::split_paths(&list).collect::<Vec<_>>());
    let directories = listed("PATH").unwrap_or_default();
    let found = |name: &str| {
        let mut paths = directories.iter().map(|directory| directory.join(name));
        paths.find(|path| path.is_absolute() && path.exists())
    };
    let mut programs: Vec<PathBuf> = ["sh", "git"].into_iter().filter_map(found).collect();
    programs.extend(listed("LD_LIBRARY_PATH").unwrap_or_default());
    // The program of the path may start one of another directory.
    let shown = Command::new("git").arg("--exec-path").output();
    let path = shown.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let path = path.map(|path| PathBuf::from(OsStr::from_bytes(path.trim_ascii_end())));
    if let Some(path) = path.filter(|path| path.is_absolute()) {
        let prefix = path.ancestors().nth(2).filter(|prefix| prefix.parent().is_some());
        let parts = ["bin/git", "lib", "share/git-core"];
        programs.extend(prefix.iter().flat_map(|prefix| parts.map(|part| prefix.join(part))));
        programs.push(path);
    }
    programs
});

/// Returns a confinement to git's own files.
fn of_git() -> Confinement {
    let mut confinement = Confinement::default();
    confinement.add_programs(PROGRAMS.iter().cloned());
    confinement.add_files(CERTIFICATE_VARIABLES.iter().filter_map(env::var_os).map(PathBuf::from));
    confinement
}

/// Confines git to directories that the service created for `user`.
pub(crate) fn of_own(
    directories: &[&Path],
    user: Option<UnprivilegedUser>,
) -> Result<Confinement, Error> {
    let mut confinement = of_git();
    for directory in directories {
        let opened = Root::open_owned(directory, user).map_err(Error::io(directory))?;
        confinement.add_writable(opened.into());
    }
    Ok(confinement)
}

/// Confines git to a checkout of this machine and to the directories of its repository, which may
/// be elsewhere. One that is protected, or that belongs to another user than the checkout, is
/// rejected: the owner of the checkout decides which ones git reads, and may not be allowed to read
/// them.
pub(crate) fn of_checkout(tree: Root, protected: &Snapshot) -> Result<Confinement, Error> {
    let repository = Repository { tree: &tree, protected };
    let Some(git) = repository.git_directory()? else {
        return Err(Error::InvalidLocation(NOT_THE_TOP.into()));
    };
    // That of a linked work tree names the one that all work trees share.
    let shared = path_in(&git, "commondir", "")?.map(|path| repository.open(&path)).transpose()?;
    let shared = shared.flatten();
    let mut confinement = of_git();
    for borrowed in repository.borrowed_objects(shared.as_ref().unwrap_or(&git))? {
        confinement.add_readable(borrowed.into());
    }
    for each in shared.into_iter().chain([git, tree]) {
        confinement.add_writable(each.into());
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

    /// Opens the directories of objects that a repository borrows, directly or not. Git does
    /// without those that are missing.
    fn borrowed_objects(&self, git: &Root) -> Result<Vec<Root>, Error> {
        let own = self.open(&git.path().join("objects"))?;
        let mut objects: Vec<Root> = own.into_iter().collect();
        let mut known: HashSet<Identity> = HashSet::new();
        let mut next = 0;
        while let Some(directory) = objects.get(next) {
            next += 1;
            let listed = match directory.read("info/alternates", MAX_LIST_BYTES) {
                Err(FileError::Missing | FileError::NotADirectory) => continue,
                listed => listed.map_err(|error| {
                    file_failed(&directory.path().join("info/alternates"), error)
                })?,
            };
            let paths: Vec<PathBuf> = alternates(&listed)
                .map(|line| directory.path().join(OsStr::from_bytes(line)))
                .collect();
            for path in paths {
                let Some(borrowed) = self.open(&path)? else { continue };
                if known.insert(borrowed.identity()?) {
                    objects.push(borrowed);
                }
            }
            if objects.len() > MAX_OBJECT_DIRECTORIES {
                return Err(too_many_object_directories(git.path()));
            }
        }
        Ok(objects)
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
        if is_inside || owner == owner_of_tree {
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
    let content = match parent.read(name, MAX_LIST_BYTES) {
        Err(FileError::Missing) => return Ok(None),
        content => content.map_err(|error| file_failed(&parent.path().join(name), error))?,
    };
    let path = content.strip_prefix(prefix.as_bytes());
    let path = path.map(<[u8]>::trim_ascii_end).filter(|path| !path.is_empty());
    Ok(path.map(|path| parent.path().join(OsStr::from_bytes(path))))
}
