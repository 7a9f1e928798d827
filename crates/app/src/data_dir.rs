//! The folder of the service's state.

use std::fs::{DirBuilder, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result};

/// Makes the folder. Private to the service; root's must be passable, since the database runs as another user.
pub fn make(dir: &Path) -> Result<()> {
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        .and_then(|()| set_permissions(dir, Permissions::from_mode(mode)))
        .with_context(|| format!("data_dir {} can't be made; set another", dir.display()))
}
