//! Where a system is, and as whom it is asked.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::Error;

/// What a system may be asked for.
pub use mc_domain::Capability;
/// Which system it is: the six that send webhooks can be asked as well.
pub use mc_domain::Provider;

/// A system that the operator has named.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// The operator's name for it; messages speak of it by that.
    pub name: String,
    /// Which one it is.
    pub kind: Provider,
    /// Where people open it, such as `https://git.example.org`; for GitHub itself `https://github.com`.
    pub url: Url,
    /// Whose token it is, where the system wants to know: Jira and Confluence in Atlassian's cloud.
    pub user: Option<String>,
    /// The credential; without one only what everybody may see is asked for.
    pub token: Option<Token>,
    /// How long and how much.
    pub limits: Limits,
}

impl ConnectorConfig {
    pub(super) fn check(&self) -> Result<(), Error> {
        let url = &self.url;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if is_web && is_bare {
            return Ok(());
        }
        // The address itself is not shown: it may hold a password.
        let reason =
            "base_url must be http(s)://host/path, without a user, password, query or fragment";
        Err(Error::Settings { system: self.name.clone(), reason: reason.to_owned() })
    }
}

/// Bounds of what a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long one try of a request may take, its answer read.
    pub request_timeout: Duration,
    /// How often a request that failed for a moment is tried again.
    pub retries: usize,
    /// The first wait between two tries; each later one is longer.
    pub retry_delay: Duration,
    /// The longest wait that is waited for; for a longer one `Error::RateLimited` says until when.
    pub longest_wait: Duration,
    /// Issues or pages in one answer.
    pub page_size: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            retries: 2,
            retry_delay: Duration::from_millis(500),
            longest_wait: Duration::from_secs(5),
            page_size: 50,
        }
    }
}

/// A credential. It is never shown, and wiped from memory when it is dropped.
#[derive(Clone)]
pub struct Token(SecretString);

impl Token {
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<String> for Token {
    fn from(token: String) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}
