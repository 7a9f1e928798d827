//! The folder of the service's state.

use std::fs::{DirBuilder, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use uuid::Uuid;

use crate::private_file;

/// Makes the folder. Private to the service; root's must be passable, since the database runs as
/// another user.
pub fn make(dir: &Path) -> Result<()> {
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        .and_then(|()| set_permissions(dir, Permissions::from_mode(mode)))
        .with_context(|| format!("data_dir {} can't be made; set another", dir.display()))
}

/// What tells the process that has this folder from those of all others, however alike their hosts
/// and folders are called; made at the first start.
pub fn node(dir: &Path) -> Result<Uuid> {
    const WHAT: &str = "the node's id";
    let path = dir.join("node");
    if !path.exists() {
        private_file::write(&path, WHAT, Uuid::now_v7().to_string().as_bytes())?;
    }
    let bytes = private_file::read(&path, WHAT)?;
    Uuid::try_parse_ascii(bytes.trim_ascii())
        .with_context(|| format!("{} is no id; delete it and start again", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_id_and_no_other_has_it() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let id = node(one.path()).expect("an id");
        assert_eq!(node(one.path()).expect("the same"), id);
        assert_ne!(node(other.path()).expect("another"), id);
        std::fs::write(one.path().join("node"), "x").expect("a file");
        assert!(node(one.path()).expect_err("none").to_string().contains("delete it"));
    }
}
