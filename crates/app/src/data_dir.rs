//! The data directory of the service.

pub mod permissions;

use std::fs::{DirBuilder, Permissions, set_permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use mc_postgres::embedded::DataDirLock;
use mc_privileges::{UnprivilegedUser, is_root, raise_privileges};
use uuid::Uuid;

use crate::private_file;

/// A data directory, locked until the value is dropped.
#[derive(Debug)]
pub struct LockedDataDir {
    _lock: DataDirLock,
    /// Whether the content of its directories was closed to other users as well. Otherwise, only
    /// its directories are closed, and a background service checks their content.
    pub is_content_closed: bool,
}

/// Creates the directory, and locks it. Two processes in one directory would treat each other's
/// jobs as their own unfinished jobs. Closes to other users what an earlier version, or another
/// program, left open to them.
pub fn create_locked(dir: &Path) -> Result<LockedDataDir> {
    let raised = raise_privileges();
    create(dir)?;
    let lock = DataDirLock::acquire(dir)?;
    drop(raised);
    if is_root() {
        give_to_service(dir)?;
    }
    let is_content_closed = permissions::close(dir).with_context(|| {
        format!(
            "data_dir {} can't be listed; set data_dir to a directory that the service's user can \
             read and write",
            dir.display()
        )
    })?;
    Ok(LockedDataDir { _lock: lock, is_content_closed })
}

/// Makes the user as which a service of root works the owner of its directories.
fn give_to_service(dir: &Path) -> Result<()> {
    if let Some(closed) = UnprivilegedUser::SERVICE.first_closed_directory(dir) {
        bail!(
            "data_dir {} can't be used: as root, the service works as another user, which can't \
             enter {}; run `chmod a+x` on it, or set another data_dir, such as \
             /var/lib/memory-copilot",
            dir.display(),
            closed.display()
        );
    }
    permissions::give_to_service(dir).with_context(|| {
        format!(
            "a directory of the service in data_dir {} can't be given to user {}, as which a \
             service of root works; see that it is a directory of root or of this user, and that \
             the service has the capability CAP_CHOWN",
            dir.display(),
            UnprivilegedUser::SERVICE.uid
        )
    })
}

/// Creates the directory, private to the service.
fn create(dir: &Path) -> Result<()> {
    let mode = permissions::of_data_dir(is_root());
    create_parents(dir, mode)
        .and_then(|()| DirBuilder::new().recursive(true).mode(mode).create(dir))
        .and_then(|()| set_permissions(dir, Permissions::from_mode(mode)))
        .with_context(|| format!("data_dir {} can't be created; set another", dir.display()))
}

/// Creates the missing parents with exactly this mode: the umask would close them to PostgreSQL's
/// user.
fn create_parents(dir: &Path, mode: u32) -> io::Result<()> {
    let parents = dir.ancestors().skip(1);
    let missing: Vec<&Path> =
        parents.take_while(|each| !each.as_os_str().is_empty() && !each.exists()).collect();
    for parent in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(parent) {
            Ok(()) => set_permissions(parent, Permissions::from_mode(mode))?,
            // Another process created it, or the path ends with `..`.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the id of the node, generated at the first start. It is unique even if hosts and
/// directories have the same names.
pub fn node(dir: &Path) -> Result<Uuid> {
    const NAME: &str = "the id of the node";
    let path = dir.join("node");
    if !private_file::exists(&path)? {
        private_file::write(&path, NAME, Uuid::now_v7().to_string().as_bytes())?;
    }
    let bytes = private_file::read(&path, NAME)?;
    Uuid::try_parse_ascii(bytes.trim_ascii())
        .with_context(|| format!("{} holds no node id; delete it and restart", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_tells_whether_it_closed_the_content() {
        let dir = tempfile::tempdir().expect("a directory");
        let (index, file) = (dir.path().join("index"), dir.path().join("index/file"));
        std::fs::create_dir(&index).expect("a directory");
        std::fs::write(&file, "").expect("a file");
        for path in [&index, &file] {
            set_permissions(path, Permissions::from_mode(0o755)).expect("permissions");
        }
        let locked = create_locked(dir.path()).expect("a data directory");
        assert!(locked.is_content_closed, "no background service lists it again");
        assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o700);
        drop(locked);
        let locked = create_locked(dir.path()).expect("a data directory");
        assert!(!locked.is_content_closed, "a background service lists it");
    }

    #[test]
    fn each_directory_has_a_stable_unique_id() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let id = node(one.path()).expect("an id");
        assert_eq!(node(one.path()).expect("the same"), id);
        assert_ne!(node(other.path()).expect("another"), id);
        std::fs::write(one.path().join("node"), "x").expect("a file");
        assert!(node(one.path()).expect_err("none").to_string().contains("delete it"));
    }
}
