//! Pushes to repositories and to the repositories of wikis.

use serde::{Deserialize, Serialize};
use url::Url;

use super::field;
use crate::delivery::ParseError;

/// Characters of a ref.
const REFERENCE: usize = 512;
/// Commits of a push: more than providers list.
const COMMITS: usize = 2048;

/// A branch or tag that was created, moved or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The repository at its host, such as `octocat/hello` or `group/sub/project`.
    pub path: String,
    /// The clone and web addresses of the repository, as sent.
    pub urls: Vec<String>,
    /// The full ref, such as `refs/heads/main`.
    pub reference: String,
    /// Whether that is the repository's default branch.
    pub is_default: bool,
    /// The object that the ref points to now; `None` if it was deleted.
    pub after: Option<String>,
    /// Whether history was rewritten. GitLab does not say so.
    pub is_forced: bool,
    /// The new commits, as far as the provider lists them.
    pub commits: Vec<String>,
}

/// A push to the repository of a wiki.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WikiPush {
    /// The repository at its host, such as `octocat/hello.wiki`.
    pub path: String,
    /// The clone addresses, as sent.
    pub urls: Vec<String>,
}

impl Push {
    /// Returns whether the push moves a branch or tag, or the default branch if `name` is empty.
    pub fn updates_ref(&self, name: &str) -> bool {
        if name.is_empty() {
            return self.is_default;
        }
        let kinds = ["refs/heads/", "refs/tags/"];
        let mut short_names = kinds.iter().filter_map(|kind| self.reference.strip_prefix(kind));
        self.reference == name || short_names.any(|short_name| short_name == name)
    }

    /// Removes addresses and ids that git would not accept. Fails if the ref is none.
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let path = field::checked_path(self.path)?;
        if !self.reference.starts_with("refs/") || !field::is_line(&self.reference, REFERENCE) {
            return Err(ParseError::InvalidValue(
                "the ref must begin with refs/ and be one line of 512 characters at most",
            ));
        }
        if self.after.as_deref().is_some_and(|id| !field::is_object_id(id)) {
            let rule = "the id in after must have 40 or 64 hexadecimal digits";
            return Err(ParseError::InvalidValue(rule));
        }
        let commits = self.commits.into_iter().filter_map(|id| field::commit(Some(id)));
        let commits = commits.take(COMMITS).collect();
        Ok(Self { path, urls: field::git_urls(self.urls), commits, ..self })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        // The ids are checked, so they hold no secrets. Masked they would name nothing.
        let Self { path, urls, reference, .. } = self;
        for text in [path, reference].into_iter().chain(urls) {
            *text = field::path_masked(text, &mut *mask);
        }
    }
}

impl WikiPush {
    /// Removes addresses that git would not accept.
    pub(crate) fn truncated(self) -> Result<Self, ParseError> {
        let path = field::checked_path(self.path)?;
        Ok(Self { path, urls: field::git_urls(self.urls) })
    }

    pub(super) fn mask(&mut self, mask: &mut impl FnMut(&str) -> String) {
        for text in std::iter::once(&mut self.path).chain(&mut self.urls) {
            *text = field::path_masked(text, &mut *mask);
        }
    }
}

/// Returns whether one of these addresses is that of `location`, over any protocol and in any case.
pub fn contains_repository(urls: &[String], location: &str) -> bool {
    let Some(wanted) = host_and_path(location) else { return false };
    urls.iter().any(|url| host_and_path(url).as_ref() == Some(&wanted))
}

/// Returns host and path of an address in lower case and without `.git`.
fn host_and_path(address: &str) -> Option<(String, String)> {
    let (host, path) = match Url::parse(address) {
        Ok(url) if url.has_host() => (url.host_str()?.to_owned(), url.path().to_owned()),
        _ => {
            // The form of scp: user@host:path.
            let (login, path) = address.split_once(':')?;
            (login.rsplit('@').next()?.to_owned(), path.to_owned())
        }
    };
    let path = path.trim_matches('/').to_ascii_lowercase();
    let path = path.strip_suffix(".git").unwrap_or(&path);
    (!host.is_empty() && !path.is_empty()).then(|| (host.to_ascii_lowercase(), path.to_owned()))
}

#[cfg(test)]
mod tests;
