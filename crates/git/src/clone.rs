//! Fetching a repository into a directory of its own, to be read and changed.

use std::path::Path;
use std::time::Duration;

use mc_files::ProtectedDirectories;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::checkout::{CheckoutPlan, check_access, plan};
use crate::copy::CopyDirectory;
use crate::fetch::{STEP_LIMIT, Update};
use crate::location::invalid;
use crate::program::{self, Credential, Git};
use crate::{Depth, Error, Limits, Location, NetworkAccess, Origin, WorkTree, network_policy};

/// Directory of git in the directory of a clone. It is beside the work tree and not in it, so no
/// command that changes the tree changes what git does.
pub(crate) const GIT_DIRECTORY: &str = "git";
/// Directory of the work tree.
pub(crate) const TREE: &str = "tree";

/// File beside them that marks a complete clone.
const COMPLETE: &str = "complete";

/// A repository to clone.
#[derive(Debug)]
pub struct CloneRequest<'a> {
    /// Where it is.
    pub origin: &'a Origin,
    /// Branch, tag or commit; empty for the default branch.
    pub requested_ref: &'a str,
    /// How many commits are fetched.
    pub depth: Depth,
    /// Hosts that git may reach, and whether a directory of this disk may be read.
    pub access: NetworkAccess<'a>,
    /// Directories that are never read.
    pub protected: &'a ProtectedDirectories,
    /// Credential for the host of an https URL.
    pub credential: Option<Credential>,
    /// Limits of the objects, and of the files of the commit.
    pub limits: Limits,
    /// Timeout of the fetch.
    pub time: Duration,
}

/// A cloned repository.
#[derive(Debug)]
pub struct Cloned {
    /// Its work tree.
    pub work_tree: WorkTree,
    /// Commit of the tree; empty for an empty repository.
    pub commit: String,
    /// Requested ref, or the default branch; empty if the host does not name it.
    pub git_ref: String,
}

/// Clones a repository into `directory`, which the service owns and the user of git may pass
/// through. Submodules are not fetched, and files of Git LFS stay pointers.
///
/// A fetch that exceeds the limits is stopped, and its objects are deleted. A later call continues
/// where an interrupted one ended. A complete clone is rejected, since somebody may have changed
/// it. The caller lets nobody else clone into the directory meanwhile.
pub async fn clone(
    directory: &Path,
    request: CloneRequest<'_>,
    cancel: &CancellationToken,
) -> Result<Cloned, Error> {
    let url = url(&request, cancel).await?;
    let settings = match &request.origin.location {
        Location::Url(_) => network_policy::settings(&url, request.access).await?,
        Location::Directory(_) => Vec::new(),
    };
    clone_url(directory, &url, settings, request, cancel).await
}

/// Clones from a URL that was checked, with these settings of git.
pub(crate) async fn clone_url(
    directory: &Path,
    url: &Url,
    settings: Vec<String>,
    request: CloneRequest<'_>,
    cancel: &CancellationToken,
) -> Result<Cloned, Error> {
    let complete = directory.join(COMPLETE);
    if complete.exists() {
        return Err(Error::Rejected(
            "the directory has a clone already; clone into another".into(),
        ));
    }
    let user = program::user_of(url);
    let copy = CopyDirectory::create(&directory.join(GIT_DIRECTORY), user)?;
    let tree = CopyDirectory::create(&directory.join(TREE), user)?;
    let git = Git::in_copy(&tree).with_git_directory(copy.path().to_owned());
    let git = git.with_remote(url, settings).with_credential(request.credential);
    let git = git.with_max_file_bytes(request.limits.bytes);
    git.check_version(STEP_LIMIT, cancel).await?;
    let update = Update {
        git: &git,
        requested_ref: request.requested_ref,
        copy: &copy,
        git_directory: "",
        depth: request.depth,
        limits: request.limits,
        time: request.time,
    };
    let sha = update.run(cancel).await?;
    update.write_files(sha.as_deref(), cancel).await?;
    let git_ref = match request.requested_ref {
        "" => default_branch(&git, cancel).await?,
        requested => requested.to_owned(),
    };
    std::fs::write(&complete, sha.as_deref().unwrap_or_default()).map_err(Error::io(&complete))?;
    let work_tree = WorkTree::beside(directory, user)?;
    Ok(Cloned { work_tree, commit: sha.unwrap_or_default(), git_ref })
}

/// Returns the URL to fetch from, after every check of the location.
async fn url(request: &CloneRequest<'_>, cancel: &CancellationToken) -> Result<Url, Error> {
    let CloneRequest { origin, requested_ref, access, protected, .. } = request;
    let protected = check_access(origin, requested_ref, *access, protected, cancel).await?;
    let directory = match &origin.location {
        Location::Url(url) => return Ok(url.clone()),
        Location::Directory(directory) => directory,
    };
    // Without a ref, a directory is read in place, which is no clone.
    let requested_ref = if requested_ref.is_empty() { "HEAD" } else { requested_ref };
    match plan(directory, requested_ref, &protected, cancel).await? {
        CheckoutPlan::Fetched { repository, below } if below.is_empty() => Ok(repository),
        _ => Err(invalid("the directory is not the top of a git repository; give that directory")),
    }
}

/// Asks the host for the name of its default branch; empty if it names none.
async fn default_branch(git: &Git, cancel: &CancellationToken) -> Result<String, Error> {
    let remote = git.remote();
    let list = ["ls-remote", "--quiet", "--symref", "--end-of-options", remote, "HEAD"];
    let listed = git.list(&list, STEP_LIMIT, cancel).await?;
    let branch = listed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/"));
    Ok(branch.and_then(|line| line.split('\t').next()).unwrap_or_default().to_owned())
}
