//! What can be done with the folder of a server that this process did not start.

use std::fs;
use std::path::Path;

use super::cluster::Places;
use super::lock::DataDirLock;
use super::{EmbeddedError, stale_server};

/// Whether there is a server's data in the folder.
pub fn is_initialised(data_dir: &Path) -> bool {
    Places(data_dir.to_owned()).cluster().exists()
}

/// The connection URL of the server that another process runs there, as its user alone may know it: it holds
/// the password.
pub fn url_of_running(data_dir: &Path) -> Result<String, EmbeddedError> {
    let data_dir = std::path::absolute(data_dir).map_err(EmbeddedError::io("find", data_dir))?;
    let places = Places(data_dir);
    let path = places.password();
    let password = fs::read_to_string(&path).map_err(EmbeddedError::io("read", &path))?;
    places.url(&password)
}

/// Removes a folder with all that is in it, unless somebody works on it; ends a server that was left behind.
pub async fn remove(data_dir: &Path) -> Result<(), EmbeddedError> {
    if !data_dir.exists() {
        return Ok(());
    }
    let lock = DataDirLock::acquire(data_dir)?;
    stale_server::clear(&Places(data_dir.to_owned()).cluster()).await?;
    fs::remove_dir_all(data_dir).map_err(EmbeddedError::io("remove", data_dir))?;
    drop(lock);
    Ok(())
}

/// Gives a folder whose server was stopped the name by which the service looks for it.
pub fn rename(from: &Path, to: &Path) -> Result<(), EmbeddedError> {
    fs::rename(from, to).map_err(EmbeddedError::io("create", to))?;
    let parent = to.parent().unwrap_or(Path::new("."));
    fs::File::open(parent)
        .and_then(|folder| folder.sync_all())
        .map_err(EmbeddedError::io("write", parent))
}
