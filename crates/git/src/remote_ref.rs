//! The commit that a checkout would have, without fetching it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mc_files::ProtectedDirectories;
use mc_privileges::raise_privileges;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::checkout::{CheckoutPlan, check_access, head, plan};
use crate::plumbing::run_blocking;
use crate::program::Git;
use crate::{Error, Location, NetworkAccess, Origin, network_policy};

/// Timeout to list the refs of a host.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);
/// Working directory of git if no local repository is used.
const NO_DIRECTORY: &str = "/";
/// Option that prevents git from finding a repository around the working directory.
const NO_REPOSITORY: &str = "--git-dir=/dev/null";

/// What [`crate::checkout`] would make available now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A commit; `None` if there is no such branch or tag.
    Commit(Option<String>),
    /// A directory that is read in place.
    InPlace {
        /// Absolute path without symbolic links.
        directory: PathBuf,
        /// Commit that is checked out; empty without one.
        head: String,
    },
}

/// Returns what a checkout at this ref (empty: the default branch) would make available.
///
/// A ref that is a commit id is reported like one that does not exist: it never changes. `access`
/// restricts the hosts that git may reach, and whether a directory may be read. A location in one
/// of the `protected` directories is rejected, as is a repository that leads into one.
pub async fn state(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<State, Error> {
    let listed = check_access(origin, requested_ref, access, protected, cancel).await?;
    let directory = match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, access).await?;
            return resolve_ref(url, requested_ref, settings, cancel).await.map(State::Commit);
        }
        Location::Directory(directory) => directory,
    };
    match plan(directory, requested_ref, &listed, cancel).await? {
        CheckoutPlan::InPlace(directory) => {
            let head = head(&Git::in_place(&directory)?, cancel).await?;
            Ok(State::InPlace { directory, head })
        }
        CheckoutPlan::Fetched { repository, .. } => {
            resolve_ref(&repository, requested_ref, Vec::new(), cancel).await.map(State::Commit)
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
    run_blocking(is_empty).await
}

/// Requests the commit of a ref from the host.
pub(crate) async fn resolve_ref(
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
