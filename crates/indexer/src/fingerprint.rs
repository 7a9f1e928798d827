//! Fingerprint of the tree that a run would read: if unchanged, a run has nothing to do.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mc_files::{ProtectedDirectories, Root};
use mc_git::{NetworkAccess, Origin, State};
use mc_privileges::raise_privileges;
use tokio_util::sync::CancellationToken;

use crate::{Error, hash, walk};

/// Returns the commit that a run at this ref (empty: the default branch) would read. For a
/// directory indexed in place, it is a digest of commit, names, sizes and times.
///
/// Returns `None` if there is no such branch or tag. The rest is as in [`mc_git::state`].
pub async fn state(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    match mc_git::state(origin, requested_ref, access, protected, cancel).await? {
        State::Commit(commit) => Ok(commit),
        State::InPlace { directory, head } => {
            fingerprint_dir(directory, head, protected, cancel).await.map(Some)
        }
    }
}

/// Returns a digest of the directory by the sizes and times of files, which are not read.
async fn fingerprint_dir(
    root: PathBuf,
    commit: String,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    // Stops the walk when this function is dropped.
    let stop = cancel.child_token();
    let _stops_walk = stop.clone().drop_guard();
    let protected = protected.clone();
    let digest = move || digest(&root, &commit, &protected, &stop);
    let digest = tokio::task::spawn_blocking(digest).await;
    // The runtime is shutting down, or the walk panicked.
    digest.unwrap_or(Err(Error::Cancelled))
}

fn digest(
    root: &Path,
    commit: &str,
    protected: &ProtectedDirectories,
    stop: &CancellationToken,
) -> Result<String, Error> {
    let opened = Root::open(root)?;
    let is_stopped = || stop.is_cancelled();
    let tree = walk::walk(&opened, walk::Limits::default(), protected, &is_stopped)?;
    let mut fields = vec![commit.as_bytes().to_vec()];
    for file in tree.candidates {
        let raised = raise_privileges();
        let metadata = root.join(&file.path).symlink_metadata().ok();
        drop(raised);
        fields.push(file.path.into_bytes());
        fields.push(metadata.as_ref().map(stat_digest).unwrap_or_default());
    }
    let digest = hash::of_fields(fields.iter().map(Vec::as_slice));
    Ok(format!("folder:{}", hex::encode(digest)))
}

/// Returns the metadata that changes when the file is written.
fn stat_digest(metadata: &Metadata) -> Vec<u8> {
    format!("{} {} {}", metadata.size(), metadata.mtime(), metadata.mtime_nsec()).into_bytes()
}
