//! What a run would read now, in a word: whoever compares it with an earlier one knows whether a
//! run has anything to do.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::git::Git;
use super::{
    CheckoutPlan, Location, NetworkAccess, Origin, cache, check_ref, head, network_policy, way,
};
use crate::{Error, hash, walk};

/// How long a host may take to say what its refs point to.
const ASK_LIMIT: Duration = Duration::from_mins(1);
/// Where git is started when no repository of this machine is meant.
const NO_FOLDER: &str = "/";
/// Said in place of a repository, so that none around the folder is read.
const NO_REPOSITORY: &str = "--git-dir=/dev/null";

/// The commit that a run at this ref would read (empty: the default branch); of a folder that is
/// read as it lies there, a digest of its commit and of its files' names, sizes and times. `None`
/// where there is no such branch or tag: a commit that was asked for by its own name never becomes
/// another. Over the network git goes no further than `reach`.
pub async fn state(
    origin: &Origin,
    requested_ref: &str,
    reach: NetworkAccess<'_>,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    check_ref(requested_ref)?;
    let folder = match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, reach).await?;
            return ask(url, requested_ref, settings, cancel).await;
        }
        Location::Folder(folder) => folder,
    };
    match way(folder, requested_ref, cancel).await? {
        CheckoutPlan::AsItLies(root) => Ok(Some(fingerprint_dir(root, cancel).await?)),
        CheckoutPlan::Fetched { repository, .. } => {
            ask(&repository, requested_ref, Vec::new(), cancel).await
        }
    }
}

/// Whether it is a folder with nothing in it, as a place is where nothing is mounted.
pub async fn is_empty_folder(origin: &Origin) -> Result<bool, Error> {
    let Location::Folder(folder) = &origin.location else { return Ok(false) };
    let io = |cause| Error::Io { path: folder.display().to_string(), cause };
    let mut entries = tokio::fs::read_dir(folder).await.map_err(io)?;
    Ok(entries.next_entry().await.map_err(io)?.is_none())
}

/// Asks the host what its ref points to.
pub(super) async fn ask(
    url: &Url,
    requested_ref: &str,
    settings: Vec<String>,
    cancel: &CancellationToken,
) -> Result<Option<String>, Error> {
    let git = Git::in_folder(Path::new(NO_FOLDER)).on_the_way_to(url, settings);
    git.check_version(ASK_LIMIT, cancel).await?;
    let names = names(requested_ref);
    let mut list = vec![
        NO_REPOSITORY,
        "ls-remote",
        "--quiet",
        cache::upload_pack(url),
        "--end-of-options",
        url.as_str(),
    ];
    list.extend(names.iter().map(String::as_str));
    let told = git.list(&list, ASK_LIMIT, cancel).await?;
    Ok(names.iter().find_map(|name| commit_of(&told, name)))
}

/// The full names that a ref may have, in the order in which git looks for them; each first by what
/// an annotated tag stands on, which is what is read of it.
fn names(requested_ref: &str) -> Vec<String> {
    let plain = match requested_ref {
        "" | "HEAD" => vec!["HEAD".to_owned()],
        full if full.starts_with("refs/") => vec![full.to_owned()],
        short => {
            ["refs/", "refs/tags/", "refs/heads/"].map(|place| format!("{place}{short}")).into()
        }
    };
    plain.into_iter().flat_map(|name| [format!("{name}^{{}}"), name]).collect()
}

/// What git says that the ref of exactly this name points to; it lists others that end like it,
/// too.
fn commit_of(told: &str, name: &str) -> Option<String> {
    let mut listed = told.lines().filter_map(|line| line.split_once('\t'));
    listed.find(|(_, known)| *known == name).map(|(commit, _)| commit.to_owned())
}

/// A digest of what stands in the folder. Files whose size and time stay as they are are not looked
/// into.
async fn fingerprint_dir(root: PathBuf, cancel: &CancellationToken) -> Result<String, Error> {
    let commit = head(&Git::in_folder(&root), cancel).await?;
    // The walk ends when nobody waits for it any more.
    let stop = cancel.child_token();
    let _over = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || digest(&root, &commit, &stop)).await {
        Ok(digest) => digest,
        // The runtime is shutting down, or the walk panicked.
        Err(_) => Err(Error::Cancelled),
    }
}

fn digest(root: &Path, commit: &str, stop: &CancellationToken) -> Result<String, Error> {
    let tree = walk::walk(root, walk::Limits::default(), &|| stop.is_cancelled())?;
    let mut fields = vec![commit.as_bytes().to_vec()];
    for file in tree.candidates {
        let seen = root.join(&file.path).symlink_metadata().ok();
        fields.push(file.path.into_bytes());
        fields.push(seen.as_ref().map(stat_digest).unwrap_or_default());
    }
    let digest = hash::of_fields(fields.iter().map(Vec::as_slice));
    Ok(format!("folder:{}", hex::encode(digest)))
}

/// What of a file is another when it was written.
fn stat_digest(seen: &Metadata) -> Vec<u8> {
    format!("{} {} {}", seen.size(), seen.mtime(), seen.mtime_nsec()).into_bytes()
}
