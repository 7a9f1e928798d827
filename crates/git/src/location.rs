//! Location of a repository or directory, and what identifies it.

use std::path::{Path, PathBuf};

use mc_files::ProtectedDirectories;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::Error;

/// Maximum length of a location, in bytes.
const MAX_LOCATION: usize = 4096;
/// Error for a `file:` URL with a host.
const FILE_URL_WITH_HOST: &str = "a file URL must not contain a host; write it as file:///path";

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

    /// Returns the path of a location on this disk; `None` for another machine.
    pub fn local_path(&self) -> Result<Option<PathBuf>, Error> {
        match self {
            Self::Directory(path) => Ok(Some(path.clone())),
            Self::Url(url) if url.scheme() == "file" => file_path(url).map(Some),
            Self::Url(_) => Ok(None),
        }
    }

    /// Rejects a location on this disk that is protected, is in a protected directory, or contains
    /// the data directory of the service.
    pub fn check(&self, protected: &ProtectedDirectories) -> Result<(), Error> {
        // A remote repository needs no list of the directories on this disk.
        let Some(path) = self.local_path()? else { return Ok(()) };
        Ok(protected.check(&path)?)
    }
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
    let directory = mc_files::resolve(path)?;
    let name = directory.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let name = slug(&name);
    Ok(Origin { location: Location::Directory(directory), owner: "local".into(), name })
}

/// Returns the path that git opens for a `file:` URL.
pub(crate) fn file_path(url: &Url) -> Result<PathBuf, Error> {
    url.to_file_path().map_err(|()| invalid(FILE_URL_WITH_HOST))
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

pub(crate) fn invalid(message: &str) -> Error {
    Error::InvalidLocation(message.to_owned())
}
