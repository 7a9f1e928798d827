//! Where a tree comes from: a folder as it lies there, or a repository that git fetches into a
//! cache.

mod cache;
mod fingerprint;
mod git;
pub(crate) mod history;
mod network_policy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{Error, walk};
use cache::Lock;
use git::Git;
use history::HistoryOrigin;

pub use fingerprint::{is_empty_folder, state};
pub use network_policy::{AllowedPrivateHost, InvalidHost, NetworkAccess, check_public};

/// Longest location that is looked at, in bytes.
const MAX_LOCATION: usize = 4096;
/// Longest ref that is looked at, in bytes.
const MAX_REF: usize = 200;
/// How long git may take to read from a repository on this disk.
const LOCAL_LIMIT: Duration = Duration::from_mins(1);

/// What a user named, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Where it is.
    pub location: Location,
    /// First part of the namespace `repo:<owner>/<name>`.
    pub owner: String,
    /// Second part.
    pub name: String,
}

/// A folder or a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// An existing folder, absolute and without links.
    Folder(PathBuf),
    /// `https`, `ssh` or `file`, without a password.
    Url(Url),
}

impl Location {
    /// The location as it is stored and shown.
    pub fn as_text(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Url(url) => url.to_string(),
        }
    }
}

/// A tree that is ready to be walked; while it lives, nobody else changes the cache below it.
#[derive(Debug)]
pub struct Checkout {
    /// The folder.
    pub root: PathBuf,
    /// The commit of the tree; empty for a folder outside of git, and for a repository without a
    /// commit. A work tree may hold changes on top of it.
    pub source_ref: String,
    /// Where the history of that commit can be had; `None` where there is no commit.
    pub(crate) history: Option<HistoryOrigin>,
    _lock: Option<Lock>,
}

/// Understands a path (absolute, of an existing folder), a URL, or git's short form
/// `user@host:path`.
pub fn parse(location: &str) -> Result<Origin, Error> {
    let location = location.trim();
    if location.is_empty() || location.len() > MAX_LOCATION || location.contains(char::is_control) {
        return Err(bad(
            "give the path of a folder, or the https, ssh or file URL of a git repository",
        ));
    }
    if location.contains("://") {
        return from_url(
            &Url::parse(location).map_err(|error| bad(&format!("not a URL: {error}")))?,
        );
    }
    if let Some(url) = short_form(location) {
        return from_url(&url);
    }
    let path = Path::new(location);
    if !path.is_absolute() {
        return Err(bad(
            "the service needs an absolute path, since it runs in a folder of its own",
        ));
    }
    let folder = walk::resolve(path)?;
    let name = folder.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let name = word(&name);
    Ok(Origin { location: Location::Folder(folder), owner: "local".into(), name })
}

/// Makes the tree available: a folder without a ref as it lies there, all else (a bare repository
/// too) as git's copy in `cache`. The user's own work tree and repository are never changed. Over
/// the network git goes no further than `reach`.
pub async fn checkout(
    origin: &Origin,
    requested_ref: &str,
    reach: NetworkAccess<'_>,
    cache: &Path,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    check_ref(requested_ref)?;
    match &origin.location {
        Location::Url(url) => {
            let settings = network_policy::settings(url, reach).await?;
            let mut checkout =
                cache::checkout(url, requested_ref, "", settings.clone(), cache, cancel).await?;
            checkout.history = Some(HistoryOrigin::Remote {
                url: url.clone(),
                requested_ref: requested_ref.to_owned(),
                settings,
                copy: cache::copy(url, cache).with_extension("history"),
            });
            Ok(checkout)
        }
        Location::Folder(folder) => of_folder(folder, requested_ref, cache, cancel).await,
    }
}

async fn of_folder(
    folder: &Path,
    requested_ref: &str,
    cache: &Path,
    cancel: &CancellationToken,
) -> Result<Checkout, Error> {
    match way(folder, requested_ref, cancel).await? {
        CheckoutPlan::AsItLies(root) => {
            let git = Git::in_folder(&root);
            let source_ref = head(&git, cancel).await?;
            let history = if source_ref.is_empty() {
                None
            } else {
                let below = git.run(&["rev-parse", "--show-prefix"], LOCAL_LIMIT, cancel).await?;
                Some(HistoryOrigin::Local { repository: root.clone(), below })
            };
            Ok(Checkout { root, source_ref, history, _lock: None })
        }
        CheckoutPlan::Fetched { repository, below } => {
            let mut checkout =
                cache::checkout(&repository, requested_ref, &below, Vec::new(), cache, cancel)
                    .await?;
            // It is on this disk: what was fetched has one commit, but there all of them are.
            let repository = repository.to_file_path().ok();
            checkout.history =
                repository.map(|repository| HistoryOrigin::Local { repository, below });
            Ok(checkout)
        }
    }
}

/// How a folder is read.
enum CheckoutPlan {
    /// The folder itself.
    AsItLies(PathBuf),
    /// What git gives out of the repository, and the folder `below` in it.
    Fetched { repository: Url, below: String },
}

async fn way(
    folder: &Path,
    requested_ref: &str,
    cancel: &CancellationToken,
) -> Result<CheckoutPlan, Error> {
    let root = walk::resolve(folder)?;
    let git = Git::in_folder(&root);
    let bare = bare_repository(&git, cancel).await?;
    let is_bare = bare.as_deref() == Some(&root);
    if requested_ref.is_empty() && !is_bare {
        return Ok(CheckoutPlan::AsItLies(root));
    }
    // A folder that holds nothing but the repository and its work trees keeps it in a folder below.
    let (repository, below) = match bare {
        Some(repository) if is_bare || repository.parent() == Some(&root) => {
            (repository, String::new())
        }
        _ => work_tree(&git, &root, requested_ref, cancel).await?,
    };
    let repository = Url::from_file_path(&repository)
        .map_err(|()| bad("the repository's path can't be given to git"))?;
    Ok(CheckoutPlan::Fetched { repository, below })
}

/// The repository without a work tree that the folder is in, if it is in one.
async fn bare_repository(git: &Git, cancel: &CancellationToken) -> Result<Option<PathBuf>, Error> {
    let asked = ["rev-parse", "--is-bare-repository", "--absolute-git-dir"];
    match git.run(&asked, LOCAL_LIMIT, cancel).await {
        Ok(answer) => Ok(answer.strip_prefix("true\n").map(PathBuf::from)),
        // No repository at all.
        Err(Error::Unreachable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The commit that is checked out; empty where there is no repository, or one without a commit.
async fn head(git: &Git, cancel: &CancellationToken) -> Result<String, Error> {
    match git.run(&["rev-parse", "--verify", "--quiet", "HEAD"], LOCAL_LIMIT, cancel).await {
        Err(Error::Unreachable(_)) => Ok(String::new()),
        sha => sha,
    }
}

/// The work tree around the folder, and the folder's path in it.
async fn work_tree(
    git: &Git,
    folder: &Path,
    requested_ref: &str,
    cancel: &CancellationToken,
) -> Result<(PathBuf, String), Error> {
    let top = git.run(&["rev-parse", "--show-toplevel"], LOCAL_LIMIT, cancel).await;
    let top = top.map_err(|error| match error {
        Error::Unreachable(_) => Error::BadLocation(format!(
            "{} is no git repository, so it has no \"{requested_ref}\"; leave the ref out to index \
             the folder as it is",
            folder.display()
        )),
        error => error,
    })?;
    let below = git.run(&["rev-parse", "--show-prefix"], LOCAL_LIMIT, cancel).await?;
    Ok((PathBuf::from(top), below))
}

/// `git@host:owner/name.git`
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
        return Err(bad(&format!(
            "git may fetch by https, ssh or from a file URL, not by \"{}\"",
            url.scheme()
        )));
    }
    let is_ssh = url.scheme() == "ssh";
    if url.password().is_some() || (!url.username().is_empty() && !is_ssh) {
        return Err(bad(
            "the URL holds a user name or a password, which would be stored and shown; leave it \
            out and use ssh \
             with a key for a private repository",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad(
            "the URL of a repository has no query and no fragment; name a branch, tag or commit \
            as ref",
        ));
    }
    let host = url.host_str().unwrap_or_default();
    if host.starts_with('-')
        || url.username().starts_with('-')
        || (host.is_empty() && url.scheme() != "file")
    {
        return Err(bad("the URL names no host"));
    }
    let parts: Vec<&str> =
        url.path_segments().into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let Some(last) = parts.last() else { return Err(bad("the URL names no repository")) };
    let name = word(last.strip_suffix(".git").filter(|name| !name.is_empty()).unwrap_or(last));
    let owner = match parts.as_slice() {
        _ if url.scheme() == "file" => "local".to_owned(),
        [.., owner, _] => word(owner),
        _ => word(host),
    };
    Ok(Origin { location: Location::Url(url.clone()), owner, name })
}

/// A part of a namespace: letters, digits, `.`, `_` and `-`.
fn word(text: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let word: String = text.chars().take(100).map(keep).collect();
    if word.is_empty() { "root".into() } else { word }
}

/// Branches, tags and commits only; nothing that git would read as an option or an expression.
/// Empty is what is checked out, or the default branch.
pub fn check_ref(requested: &str) -> Result<(), Error> {
    const FORBIDDEN: &[char] = &['~', '^', ':', '?', '*', '[', '\\'];
    let is_sound_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    let is_sound = requested.len() <= MAX_REF
        && !requested.starts_with('-')
        && !requested.ends_with('.')
        && !requested.contains("..")
        // `@` alone and `@{` are expressions; elsewhere it is a letter like others.
        && requested != "@"
        && !requested.contains("@{")
        && !requested.contains(FORBIDDEN)
        && !requested.contains(|c: char| c.is_control() || c.is_whitespace())
        && requested.split('/').all(is_sound_part);
    if requested.is_empty() || is_sound {
        Ok(())
    } else {
        Err(Error::BadRef(requested.chars().take(60).collect()))
    }
}

fn bad(message: &str) -> Error {
    Error::BadLocation(message.to_owned())
}

#[cfg(test)]
mod tests;
