//! Makes a tree available: a directory that is read in place, or a copy that git fetches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mc_files::{ProtectedDirectories, Root, Snapshot};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::cache::{self, Lock, Source};
use crate::clone::GIT_DIRECTORY;
use crate::history::HistoryOrigin;
use crate::location::invalid;
use crate::program::{Credential, Git};
use crate::refs::check_ref;
use crate::{Error, Limits, Location, NetworkAccess, Origin, local, network_policy};

/// Timeout of git for a repository on this disk.
pub(crate) const LOCAL_LIMIT: Duration = Duration::from_mins(1);

/// Directory with copies of repositories.
#[derive(Debug, Clone, Copy)]
pub struct Cache<'a> {
    /// Path of the directory.
    pub directory: &'a Path,
    /// Limits of each copy.
    pub limits: Limits,
}

/// A tree to make available.
#[derive(Debug, Clone, Copy)]
pub struct CheckoutRequest<'a> {
    /// The repository or directory.
    pub origin: &'a Origin,
    /// Branch, tag or commit. Empty for the default branch, or for the files of a directory.
    pub requested_ref: &'a str,
    /// Restricts the hosts, and whether a directory may be read.
    pub access: NetworkAccess<'a>,
    /// Credential for an https URL.
    pub credential: Option<&'a Credential>,
    /// Directory of the copy.
    pub cache: Cache<'a>,
}

/// Tree that is ready to be walked. It locks its copy in the cache until it is dropped.
#[derive(Debug)]
pub struct Checkout {
    /// Directory of the tree.
    pub root: Arc<Root>,
    /// Commit of the tree; empty for a directory outside of git and for an empty repository. A work
    /// tree may have uncommitted changes.
    pub source_ref: String,
    /// Origin of the history of that commit; `None` without a commit.
    pub history: Option<HistoryOrigin>,
    pub(crate) _lock: Option<Lock>,
}

/// Makes a tree available. A directory without a ref is read in place; any other origin, including
/// a bare repository, is copied by git into the cache.
///
/// Work trees and repositories of users are never changed. A location in one of the `protected`
/// directories is rejected.
pub async fn checkout(
    request: CheckoutRequest<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    let CheckoutRequest { origin, requested_ref, access, credential, cache } = request;
    let protected = check_access(origin, requested_ref, access, protected, cancel).await?;
    match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, access).await?;
            let source = Source { settings: settings.clone(), credential, ..Source::new(url) };
            let source = Source { requested_ref, ..source };
            let mut checkout = cache::checkout(source, "", cache, cancel).await?;
            checkout.history = Some(request.remote_history(url, settings));
            Ok(checkout)
        }
        Location::Directory(directory) => {
            checkout_directory(directory, requested_ref, &protected, cache, cancel).await
        }
    }
}

/// Makes the tree of the requested commit available from a clone of its repository on this disk
/// ([`crate::clone`]): the copy in the cache is updated from the clone, and no host is asked. The
/// history is still that of the host. `None` if the origin is a directory, which is no slower to
/// read than a clone of it.
pub async fn checkout_from_clone(
    request: CheckoutRequest<'_>,
    clone: &Path,
    cancel: &CancellationToken,
) -> Result<Option<Checkout>, Error> {
    let CheckoutRequest { origin, requested_ref, access, cache, .. } = request;
    check_ref(requested_ref)?;
    let Location::Url(url) = &origin.location else { return Ok(None) };
    let of_clone = Url::from_file_path(clone.join(GIT_DIRECTORY))
        .map_err(|()| invalid("the path of the clone cannot be written as a URL"))?;
    let source = Source { clone: Some(&of_clone), requested_ref, ..Source::new(url) };
    let mut checkout = cache::checkout(source, "", cache, cancel).await?;
    let settings = network_policy::settings(url, access).await?;
    checkout.history = Some(request.remote_history(url, settings));
    Ok(Some(checkout))
}

impl CheckoutRequest<'_> {
    /// Returns the history on the host.
    fn remote_history(&self, url: &Url, settings: Vec<String>) -> HistoryOrigin {
        HistoryOrigin::Remote {
            url: url.clone(),
            requested_ref: self.requested_ref.to_owned(),
            settings,
            credential: self.credential.cloned(),
            copy: cache::copy(url, self.cache.directory).with_extension("history"),
        }
    }
}

/// Checks that an origin may be read at a ref, before anything of it is read. Returns the protected
/// directories, which the origin is not in.
pub(crate) async fn check_access(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<Arc<Snapshot>, Error> {
    check_ref(requested_ref)?;
    network_policy::check_directory(&origin.location, access)?;
    let protected = Arc::new(protected.snapshot()?);
    if let Some(path) = origin.location.local_path()? {
        protected.check(&path)?;
    }
    local::check(&origin.location, &protected, cancel).await?;
    Ok(protected)
}

async fn checkout_directory(
    directory: &Path,
    requested_ref: &str,
    protected: &Snapshot,
    cache: Cache<'_>,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    match plan(directory, requested_ref, protected, cancel).await? {
        CheckoutPlan::InPlace(root) => {
            let git = Git::in_place(&root)?;
            let source_ref = head(&git, cancel).await?;
            let opened = Root::open(&root)?;
            let history = if source_ref.is_empty() {
                None
            } else {
                let below = git.run(&["rev-parse", "--show-prefix"], LOCAL_LIMIT, cancel).await?;
                Some(HistoryOrigin::Local { repository: root, below })
            };
            Ok(Checkout { root: Arc::new(opened), source_ref, history, _lock: None })
        }
        CheckoutPlan::Fetched { repository, below } => {
            let source = Source { requested_ref, ..Source::new(&repository) };
            let mut checkout = cache::checkout(source, &below, cache, cancel).await?;
            // The copy has only one commit; the repository on this disk has all of them.
            let repository = repository.to_file_path().ok();
            checkout.history =
                repository.map(|repository| HistoryOrigin::Local { repository, below });
            Ok(checkout)
        }
    }
}

pub(crate) enum CheckoutPlan {
    /// The directory itself.
    InPlace(PathBuf),
    /// A copy of the repository, and the directory `below` in it.
    Fetched { repository: Url, below: String },
}

pub(crate) async fn plan(
    directory: &Path,
    requested_ref: &str,
    protected: &Snapshot,
    cancel: &CancellationToken,
) -> Result<CheckoutPlan, Error> {
    let root = mc_files::resolve(directory)?;
    let git = Git::in_place(&root)?;
    let bare = bare_repository(&git, cancel).await?;
    let is_bare = bare.as_deref() == Some(&root);
    if requested_ref.is_empty() && !is_bare {
        return Ok(CheckoutPlan::InPlace(root));
    }
    // The directory may be the parent of a bare repository and its work trees.
    let (repository, below) = match bare {
        Some(repository) if is_bare || repository.parent() == Some(&root) => {
            (repository, String::new())
        }
        _ => work_tree(&git, &root, requested_ref, cancel).await?,
    };
    // The configuration of the repository may name another work tree.
    protected.check_inside(&repository)?;
    let repository = Url::from_file_path(&repository)
        .map_err(|()| invalid("the path of the repository cannot be written as a URL"))?;
    Ok(CheckoutPlan::Fetched { repository, below })
}

/// Returns the bare repository that contains the directory, if there is one.
async fn bare_repository(git: &Git, cancel: &CancellationToken) -> Result<Option<PathBuf>, Error> {
    let arguments = ["rev-parse", "--is-bare-repository", "--absolute-git-dir"];
    match git.run(&arguments, LOCAL_LIMIT, cancel).await {
        Ok(output) => Ok(output.strip_prefix("true\n").map(PathBuf::from)),
        // Not a repository.
        Err(Error::Unreachable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the commit that is checked out; empty without a repository or commit.
pub(crate) async fn head(git: &Git, cancel: &CancellationToken) -> Result<String, Error> {
    match git.run(&["rev-parse", "--verify", "--quiet", "HEAD"], LOCAL_LIMIT, cancel).await {
        Err(Error::Unreachable(_)) => Ok(String::new()),
        sha => sha,
    }
}

/// Returns the work tree that contains the directory, and the path of the directory in it.
async fn work_tree(
    git: &Git,
    directory: &Path,
    requested_ref: &str,
    cancel: &CancellationToken,
) -> Result<(PathBuf, String), Error> {
    let top = git.run(&["rev-parse", "--show-toplevel"], LOCAL_LIMIT, cancel).await;
    let top = top.map_err(|error| match error {
        Error::Unreachable(_) => Error::InvalidLocation(format!(
            "{} is not a git repository, so it has no ref \"{requested_ref}\"; omit the ref to \
            index the directory in place",
            directory.display()
        )),
        error => error,
    })?;
    let below = git.run(&["rev-parse", "--show-prefix"], LOCAL_LIMIT, cancel).await?;
    Ok((PathBuf::from(top), below))
}
