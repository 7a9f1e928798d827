//! The configuration of a connector.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::error::Error;

pub use mc_domain::{Capability, Provider};

/// The operator's configuration of a connector.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// The operator's name for the connector, which messages use.
    pub name: String,
    /// The provider.
    pub kind: Provider,
    /// The address that people open, such as `https://git.example.org`; for GitHub in the cloud
    /// `https://github.com`.
    pub url: Url,
    /// The user of the token, which Jira and Confluence Cloud require.
    pub user: Option<String>,
    /// The credential. Without one, only public data is read.
    pub token: Option<Token>,
    /// Limits of requests.
    pub limits: Limits,
}

impl ConnectorConfig {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let url = &self.url;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if is_web && is_bare {
            return Ok(());
        }
        // The message omits the address, which may have a password.
        let reason =
            "base_url must be http(s)://host/path, without a user, password, query or fragment";
        Err(Error::InvalidConfig { connector: self.name.clone(), reason: reason.to_owned() })
    }
}

/// Limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The timeout of a connection.
    pub connect_timeout: Duration,
    /// The timeout of one attempt, including the response.
    pub request_timeout: Duration,
    /// How often a read that failed temporarily is retried.
    pub retries: usize,
    /// The delay before the first retry. Later delays are longer.
    pub retry_delay: Duration,
    /// The longest delay of a retry. A rate limit that lasts longer is [`Error::RateLimited`].
    pub longest_wait: Duration,
    /// Issues or wiki pages in one response.
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

/// A credential. `Debug` does not show it, and dropping it wipes it from memory.
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
