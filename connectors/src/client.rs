//! Clients of the providers' APIs.

use std::sync::Arc;

use url::Url;

use crate::http::Http;
use crate::provider::adapter;
use crate::traits::{GitHost, Tracker, Wiki};

pub use crate::config::{Capability, ConnectorConfig, Limits, Provider, Token};
pub use crate::error::Error;

/// The configured access to one provider. Cheap to clone. Clones share connections, cached
/// responses and rate limits.
#[derive(Debug, Clone)]
pub struct Connector {
    http: Http,
}

impl Connector {
    /// Checks the configuration and creates the connector. Sends no request.
    pub fn new(config: ConnectorConfig) -> Result<Self, Error> {
        config.check()?;
        let http = adapter(config.kind).http(Arc::new(config))?;
        Ok(Self { http })
    }

    /// Returns the operator's name for the connector.
    pub fn name(&self) -> &str {
        self.http.connector()
    }

    /// Returns the provider.
    pub fn kind(&self) -> Provider {
        self.http.config().kind
    }

    /// Returns the provider's address for people (not that of its API).
    pub fn url(&self) -> &Url {
        &self.http.config().url
    }

    /// Returns the issues of a repository (`owner/name`, `group/sub/project`) or of a project, by
    /// its key or identifier.
    pub fn tracker(&self, resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        adapter(self.kind()).tracker(self.http.clone(), resource)
    }

    /// Returns the client for the pages of a space, by its key.
    pub fn wiki(&self, resource: &str) -> Result<Arc<dyn Wiki>, Error> {
        adapter(self.kind()).wiki(self.http.clone(), resource)
    }

    /// Returns the client for the refs of a repository (`owner/name`, `group/sub/project`).
    pub fn git_host(&self, resource: &str) -> Result<Arc<dyn GitHost>, Error> {
        adapter(self.kind()).git_host(self.http.clone(), resource)
    }

    /// Returns the credential's user, as the provider names it. Returns the same errors as a sync.
    pub async fn check_access(&self) -> Result<String, Error> {
        adapter(self.kind()).check_access(self.http.clone()).await
    }
}
