//! Origin of a tree: a directory that is indexed in place, or a repository that git fetches.

mod cache;
pub mod checkout;
mod copy;
mod fingerprint;
mod git;
pub(crate) mod history;
mod local;
mod network_policy;
mod size;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::Error;
use crate::protected::{ProtectedDirectories, Snapshot};
use crate::walk::{self, Root};
use cache::Lock;
use git::Git;
use history::HistoryOrigin;

pub use fingerprint::{is_empty_directory, state};
pub use network_policy::{AllowedPrivateHost, InvalidHost, NetworkAccess, check_public};
pub use size::Limits;

/// Maximum length of a location, in bytes.
const MAX_LOCATION: usize = 4096;
/// Error for a `file:` URL with a host.
pub(crate) const FILE_URL_WITH_HOST: &str =
    "a file URL must not contain a host; write it as file:///path";
/// Maximum length of a ref, in bytes.
const MAX_REF: usize = 200;
/// Timeout of git for a repository on this disk.
const LOCAL_LIMIT: Duration = Duration::from_mins(1);

/// Parsed location of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// URL, or existing directory.
    pub location: Location,
    /// Owner in the namespace `repo:<owner>/<name>`.
    pub owner: String,
    /// Name in the namespace `repo:<owner>/<name>`.
    pub name: String,
}

/// Directory or URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// An existing directory: absolute path without symbolic links.
    Directory(PathBuf),
    /// A URL with the scheme `https`, `ssh` or `file`, without a password.
    Url(Url),
}

impl Location {
    /// Returns the location as it is stored and shown.
    pub fn as_text(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::Url(url) => url.to_string(),
        }
    }
}

/// Directory with copies of repositories.
#[derive(Debug, Clone, Copy)]
pub struct Cache<'a> {
    /// Path of the directory.
    pub directory: &'a Path,
    /// Limits of each copy.
    pub limits: Limits,
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
    pub(crate) history: Option<HistoryOrigin>,
    _lock: Option<Lock>,
}

/// Parses a location: the path of a directory, a URL, or git's short form `user@host:path`.
pub fn parse(location: &str) -> Result<Origin, Error> {
    let location = location.trim();
    if location.is_empty() || location.len() > MAX_LOCATION || location.contains(char::is_control) {
        return Err(invalid(
            "give the path of a directory, or the https, ssh or file URL of a git repository",
        ));
    }
    if location.contains("://") {
        return from_url(
            &Url::parse(location).map_err(|error| invalid(&format!("not a URL: {error}")))?,
        );
    }
    if let Some(url) = short_form(location) {
        return from_url(&url);
    }
    let path = Path::new(location);
    if !path.is_absolute() {
        return Err(invalid(
            "the path must be absolute, because the service runs in another directory",
        ));
    }
    let directory = walk::resolve(path)?;
    let name = directory.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let name = slug(&name);
    Ok(Origin { location: Location::Directory(directory), owner: "local".into(), name })
}

/// Makes a tree available. A directory without a ref is read in place; any other origin, including
/// a bare repository, is copied by git into `cache`.
///
/// Work trees and repositories of users are never changed. `access` restricts the hosts, and
/// whether a directory may be read; a location in one of the `protected` directories is rejected.
pub async fn checkout(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cache: Cache<'_>,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    let protected = check_access(origin, requested_ref, access, protected, cancel).await?;
    match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, access).await?;
            let mut checkout =
                cache::checkout(url, requested_ref, "", settings.clone(), cache, cancel).await?;
            checkout.history = Some(HistoryOrigin::Remote {
                url: url.clone(),
                requested_ref: requested_ref.to_owned(),
                settings,
                copy: cache::copy(url, cache.directory).with_extension("history"),
            });
            Ok(checkout)
        }
        Location::Directory(directory) => {
            checkout_directory(directory, requested_ref, &protected, cache, cancel).await
        }
    }
}

/// Checks that an origin may be read at a ref, before anything of it is read. Returns the protected
/// directories, which the origin is not in.
async fn check_access(
    origin: &Origin,
    requested_ref: &str,
    access: NetworkAccess<'_>,
    protected: &ProtectedDirectories,
    cancel: &CancellationToken,
) -> Result<Snapshot, Error> {
    check_ref(requested_ref)?;
    network_policy::check_directory(&origin.location, access)?;
    let protected = protected.snapshot()?;
    protected.check(&origin.location)?;
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
            let mut checkout =
                cache::checkout(&repository, requested_ref, &below, Vec::new(), cache, cancel)
                    .await?;
            // The copy has only one commit; the repository on this disk has all of them.
            let repository = repository.to_file_path().ok();
            checkout.history =
                repository.map(|repository| HistoryOrigin::Local { repository, below });
            Ok(checkout)
        }
    }
}

enum CheckoutPlan {
    /// The directory itself.
    InPlace(PathBuf),
    /// A copy of the repository, and the directory `below` in it.
    Fetched { repository: Url, below: String },
}

async fn plan(
    directory: &Path,
    requested_ref: &str,
    protected: &Snapshot,
    cancel: &CancellationToken,
) -> Result<CheckoutPlan, Error> {
    let root = walk::resolve(directory)?;
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
async fn head(git: &Git, cancel: &CancellationToken) -> Result<String, Error> {
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

/// Parses the short form `git@host:owner/name.git`.
fn short_form(location: &str) -> Option<Url> {
    let (account, path) = location.split_once(':')?;
    let (user, host) = account.split_once('@')?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['/', '\\', '@']);
    (is_plain(user) && is_plain(host))
        .then(|| Url::parse(&format!("ssh://{account}/{path}")).ok())
        .flatten()
}

fn from_url(url: &Url) -> Result<Origin, Error> {
    if !matches!(url.scheme(), "https" | "ssh" | "file") {
        return Err(invalid(&format!(
            "git may fetch by https, ssh or from a file URL, not by \"{}\"",
            url.scheme()
        )));
    }
    let is_ssh = url.scheme() == "ssh";
    if url.password().is_some() || (!url.username().is_empty() && !is_ssh) {
        return Err(invalid(
            "the URL has a user name or password, which would be stored and shown; remove it, and \
            use ssh with a key for a private repository",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(
            "the URL has a query or fragment; remove it, and give a branch, tag or commit as ref",
        ));
    }
    let host = url.host_str().unwrap_or_default();
    // Git takes the host for the first component of the path.
    if url.scheme() == "file" && !host.is_empty() {
        return Err(invalid(FILE_URL_WITH_HOST));
    }
    if host.is_empty() && url.scheme() != "file" {
        return Err(invalid("the URL has no host"));
    }
    check_parts(url, host)?;
    let parts: Vec<&str> =
        url.path_segments().into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let Some(last) = parts.last() else { return Err(invalid("the URL has no repository path")) };
    let name = slug(last.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(last));
    let owner = match parts.as_slice() {
        _ if url.scheme() == "file" => "local".to_owned(),
        [.., owner, _] => slug(owner),
        _ => slug(host),
    };
    Ok(Origin { location: Location::Url(url.clone()), owner, name })
}

/// Rejects parts of a URL that ssh, or a shell that it starts, would take for an option or a
/// command.
fn check_parts(url: &Url, host: &str) -> Result<(), Error> {
    if percent_decode_str(url.path()).any(|byte| byte.is_ascii_control()) {
        return Err(invalid("the path of the URL has an encoded control character; remove it"));
    }
    for part in [url.username(), host] {
        let part: Vec<u8> = percent_decode_str(part).collect();
        let is_valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-+@:[]".contains(byte);
        if part.starts_with(b"-") || !part.iter().all(is_valid) {
            return Err(invalid(
                "the user name or the host of the URL starts with \"-\", or has a character that \
                is neither a letter of English nor a digit nor one of . _ - + @ :",
            ));
        }
    }
    Ok(())
}

/// Converts a text to a part of a namespace: letters, digits, `.`, `_` and `-`.
fn slug(text: &str) -> String {
    let replace =
        |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let slug: String = text.chars().take(100).map(replace).collect();
    if slug.is_empty() { "root".into() } else { slug }
}

/// Checks that a ref is the name of a branch, tag or commit, and not an option or expression of
/// git. An empty ref means the checked out commit or the default branch.
pub fn check_ref(requested: &str) -> Result<(), Error> {
    const FORBIDDEN: &[char] = &['~', '^', ':', '?', '*', '[', '\\'];
    let is_valid_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    let is_valid = requested.len() <= MAX_REF
        && !requested.starts_with('-')
        && !requested.ends_with('.')
        && !requested.contains("..")
        // `@` alone and `@{` are expressions; elsewhere `@` is an ordinary character.
        && requested != "@"
        && !requested.contains("@{")
        && !requested.contains(FORBIDDEN)
        && !requested.contains(|c: char| c.is_control() || c.is_whitespace())
        && requested.split('/').all(is_valid_part);
    if requested.is_empty() || is_valid {
        Ok(())
    } else {
        Err(Error::InvalidRef(requested.chars().take(60).collect()))
    }
}

fn invalid(message: &str) -> Error {
    Error::InvalidLocation(message.to_owned())
}

#[cfg(test)]
mod tests;
