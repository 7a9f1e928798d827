//! Operations on the data directory of a server that this process did not start.

use std::fs;
use std::path::Path;

use super::cluster::Paths;
use super::lock::DataDirLock;
use super::{EmbeddedError, Result, stale_server};

/// Returns whether the directory has a cluster.
pub fn is_initialized(data_dir: &Path) -> bool {
    Paths(data_dir.to_owned()).cluster().exists()
}

/// Returns the connection URL of the server that another process runs on the directory. It holds
/// the password, which only the directory's user can read.
pub fn url_of_running(data_dir: &Path) -> Result<String> {
    let data_dir = std::path::absolute(data_dir).map_err(EmbeddedError::io("find", data_dir))?;
    let paths = Paths(data_dir);
    let path = paths.password();
    let password = fs::read_to_string(&path).map_err(EmbeddedError::io("read", &path))?;
    paths.url(&password)
}

/// Deletes the data directory and ends a server that an earlier run left behind. Fails if another
/// process has locked the directory.
pub async fn remove(data_dir: &Path) -> Result<()> {
    if !data_dir.exists() {
        return Ok(());
    }
    let lock = DataDirLock::acquire(data_dir)?;
    stale_server::clear(&Paths(data_dir.to_owned()).cluster()).await?;
    fs::remove_dir_all(data_dir).map_err(EmbeddedError::io("remove", data_dir))?;
    drop(lock);
    Ok(())
}

/// Renames the data directory of a stopped server, and syncs the new parent to disk.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(EmbeddedError::io("create", to))?;
    let parent = to.parent().unwrap_or(Path::new("."));
    fs::File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(EmbeddedError::io("write", parent))
}
