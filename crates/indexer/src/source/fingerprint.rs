//! Fingerprint of the tree that a run would read: if unchanged, a run has nothing to do.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::git::Git;
use super::{
    CheckoutPlan, Location, NetworkAccess, Origin, check_access, head, network_policy, plan,
};
use crate::protected::ProtectedDirectories;
use crate::walk::{self, Root};
use crate::{Error, hash};
use mc_privileges::raise_privileges;

/// Timeout to list the refs of a host.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// Working directory of git if no local repository is used.
const NO_DIRECTORY: &str = "/";
/// Option that prevents git from finding a repository around the working directory.
const NO_REPOSITORY: &str = "--git-dir=/dev/null";

/// Returns the commit that a run at this ref (empty: the default branch) would read. For a
/// directory indexed in place, it is a digest of commit, names, sizes and times.
///
/// Returns `None` if there is no such branch or tag. A ref that is a commit id never changes, so it
/// needs no fingerprint. `access` restricts the hosts that git may reach, and whether a directory
/// may be read. A location in one of the `protected` directories is rejected, as is a repository
/// that leads into one.
pub async fn state(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    let listed = check_access(origin, requested_ref, access, protected, cancel).await?;
    let directory = match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, access).await?;
            return resolve_ref(url, requested_ref, settings, cancel).await;
        }
        Location::Directory(directory) => directory,
    };
    match plan(directory, requested_ref, &listed, cancel).await? {
        CheckoutPlan::InPlace(root) => Ok(Some(fingerprint_dir(root, protected, cancel).await?)),
        CheckoutPlan::Fetched { repository, .. } => {
            resolve_ref(&repository, requested_ref, Vec::new(), cancel).await
        }
    }
}

/// Returns whether the origin is an empty directory, such as a mount point without a mounted disk.
pub async fn is_empty_directory(origin: &Origin) -> Result<bool, Error> {
    let Location::Directory(directory) = &origin.location else { return Ok(false) };
    let directory = directory.clone();
    let is_empty = move || {
        let _raised = raise_privileges();
        let entries = directory.read_dir().and_then(|mut entries| entries.next().transpose());
        entries.map(|first| first.is_none()).map_err(Error::io(&directory))
    };
    // The runtime is shutting down.
    tokio::task::spawn_blocking(is_empty).await.unwrap_or(Err(Error::Cancelled))
}

/// Requests the commit of a ref from the host.
pub(super) async fn resolve_ref(
    url: &Url,
    requested_ref: &str,
    settings: Vec<String>,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    let git = Git::in_directory(Path::new(NO_DIRECTORY)).with_remote(url, settings);
    git.check_version(LIST_TIMEOUT, cancel).await?;
    let names = names(requested_ref);
    let mut list = vec![NO_REPOSITORY, "ls-remote", "--quiet", "--end-of-options", git.remote()];
    list.extend(names.iter().map(String::as_str));
    let refs = git.list(&list, LIST_TIMEOUT, cancel).await?;
    Ok(names.iter().find_map(|name| commit_of(&refs, name)))
}

/// Returns the full names that a ref may have, in git's order. Before each name comes the one that
/// resolves an annotated tag to its commit, because a run reads that commit.
fn names(requested_ref: &str) -> Vec<String> {
    let plain = match requested_ref {
        "" | "HEAD" => vec!["HEAD".to_owned()],
        full if full.starts_with("refs/") => vec![full.to_owned()],
        short => {
            ["refs/", "refs/tags/", "refs/heads/"].map(|prefix| format!("{prefix}{short}")).into()
        }
    };
    plain.into_iter().flat_map(|name| [format!("{name}^{{}}"), name]).collect()
}

/// Finds the commit of the ref with exactly this name. Git also lists refs that end with the name.
fn commit_of(refs: &str, name: &str) -> Option<String> {
    let mut refs = refs.lines().filter_map(|line| line.split_once('\t'));
    refs.find(|(_, listed)| *listed == name).map(|(commit, _)| commit.to_owned())
}

/// Returns a digest of the directory by the sizes and times of files, which are not read.
async fn fingerprint_dir(
    root: PathBuf,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let commit = head(&Git::in_place(&root)?, cancel).await?;
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
