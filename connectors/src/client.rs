//! Clients of the providers' APIs.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use crate::http::Http;
use crate::provider::adapter;
use crate::traits::{GitHost, PullRequestHost, Tracker, Wiki};

pub use crate::error::Error;
pub use mc_domain::{Capability, Provider};

/// The configured access to a provider. Clones share connections, cache and rate limits.
#[derive(Debug, Clone)]
pub struct Connector {
    http: Http,
}

impl Connector {
    /// Checks the configuration and creates the connector. Sends no request.
    pub fn new(config: ConnectorConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self { http: Http::new(config)? })
    }

    /// Returns the operator's name for the connector.
    pub fn name(&self) -> &str {
        self.http.connector()
    }

    /// Returns which kind of provider it connects to.
    pub fn kind(&self) -> Provider {
        self.http.config().kind
    }

    /// Returns the provider's address for people (not that of its API).
    pub fn url(&self) -> &Url {
        &self.http.config().url
    }

    /// Returns the issues of a repository (`owner/name`) or of a project (its path or key).
    pub fn tracker(&self, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        let open = adapter(self.kind()).tracker;
        let open = open.ok_or_else(|| self.http.unsupported(Capability::Issues))?;
        open(self.http.clone(), resource)
    }

    /// Returns the client for the pages of a space, by its key.
    pub fn wiki(&self, resource: &str) -> Result<Arc<dyn Wiki>, Error> {
        let open = adapter(self.kind()).wiki;
        let open = open.ok_or_else(|| self.http.unsupported(Capability::Pages))?;
        open(self.http.clone(), resource)
    }

    /// Returns the client for the refs of a repository (`owner/name`, `group/sub/project`).
    pub fn git_host(&self, resource: &str) -> Result<Arc<dyn GitHost>, Error> {
        let open = adapter(self.kind()).git_host;
        let open = open.ok_or_else(|| self.http.unsupported(Capability::Refs))?;
        open(self.http.clone(), resource)
    }

    /// Returns the client that changes the branches, pull requests and statuses of a repository
    /// (`owner/name`). Only GitHub has one.
    pub fn pull_request_host(&self, resource: &str) -> Result<Arc<dyn PullRequestHost>, Error> {
        let open = adapter(self.kind()).pull_request_host;
        let unsupported = || Error::UnsupportedWrites(self.name().to_owned(), self.kind());
        open.ok_or_else(unsupported)?(self.http.clone(), resource)
    }

    /// Returns the credential with which git reads this repository of the provider by https; `None`
    /// if the URL is that of another one, or the connector has no token.
    pub fn git_credential(&self, url: &Url, resource: &str) -> Option<GitCredential> {
        let ConnectorConfig { kind, url: site, user, token, .. } = self.http.config();
        let site = site.as_str().trim_end_matches('/');
        let path = url.as_str().strip_prefix(site)?.strip_prefix('/')?.trim_end_matches('/');
        let is_meant = path.strip_suffix(".git").unwrap_or(path).eq_ignore_ascii_case(resource);
        if !is_meant || url.scheme() != "https" || adapter(*kind).git_host.is_none() {
            return None;
        }
        // Both accept any user with a token that is no personal one.
        let default_user = if *kind == Provider::Gitlab { "oauth2" } else { "x-access-token" };
        let user = user.clone().unwrap_or_else(|| default_user.to_owned());
        Some(GitCredential { user, token: token.clone()? })
    }

    /// Returns the credential's user, as the provider names it. Returns the same errors as a sync.
    pub async fn check_access(&self) -> Result<String, Error> {
        (adapter(self.kind()).check_access)(self.http.clone()).await
    }
}

/// A credential of git for one host.
#[derive(Debug, Clone)]
pub struct GitCredential {
    /// User name.
    pub user: String,
    /// Token.
    pub token: SecretString,
}

/// The operator's configuration of a connector.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// The operator's name for the connector, which messages use.
    pub name: String,
    /// Kind of provider, which decides the API and the signature scheme.
    pub kind: Provider,
    /// The address that people open, such as `https://git.example.org` or `https://github.com`.
    pub url: Url,
    /// The user of the token, which Jira and Confluence Cloud require.
    pub user: Option<String>,
    /// The credential. Without one, only public data is read.
    pub token: Option<SecretString>,
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
