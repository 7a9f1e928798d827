//! The interface between the crate and the code of each provider.

use std::sync::Arc;

use ::http::HeaderMap;
use futures::future::BoxFuture;
use mc_domain::{Capability, Provider};

use crate::config::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::event::Event;
use crate::http::Http;
use crate::signature::{SignatureError, SignedRequest};
use crate::traits::{GitHost, Tracker, Wiki};
use crate::{confluence, github, gitlab, jira, redmine, youtrack};

/// The event type of a delivery, in the provider's words, and its event.
pub(crate) type ParsedEvent = (String, Event);

/// The code of one provider: its webhooks and its API.
pub(crate) trait Adapter: Sync {
    /// Verifies the signature, or the token, of a delivery.
    fn verify(&self, request: &SignedRequest<'_>) -> Result<(), SignatureError>;

    /// Parses a delivery.
    fn parse(&self, headers: &HeaderMap, body: &[u8]) -> Result<ParsedEvent, ParseError>;

    /// Returns the headers that may hold the id of a delivery, the preferred one first.
    fn delivery_id_headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns whether the signature covers the body and nothing else, such as the id.
    fn signs_only_the_body(&self) -> bool {
        true
    }

    /// Returns whether an issue can be deleted, restored under its id, and deleted again.
    fn can_restore_issues(&self) -> bool {
        true
    }

    /// Returns the permissions that a token needs, for error messages.
    fn permissions(&self) -> &'static str;

    /// Creates the client of a connector. Sends no request.
    fn http(&self, config: Arc<ConnectorConfig>) -> Result<Http, Error>;

    /// Returns the user of the credential, as [`crate::client::Connector::check_access`] does.
    fn check_access(&self, http: Http) -> BoxFuture<'static, Result<String, Error>>;

    /// Returns the issues of a resource.
    fn tracker(&self, http: Http, _resource: &str) -> Result<Arc<dyn Tracker>, Error> {
        Err(http.unsupported(Capability::Issues))
    }

    /// Returns the pages of a resource.
    fn wiki(&self, http: Http, _resource: &str) -> Result<Arc<dyn Wiki>, Error> {
        Err(http.unsupported(Capability::Pages))
    }

    /// Returns the refs of a resource.
    fn git_host(&self, http: Http, _resource: &str) -> Result<Arc<dyn GitHost>, Error> {
        Err(http.unsupported(Capability::Refs))
    }
}

/// Returns the code of a provider. A new provider is registered here.
pub(crate) fn adapter(provider: Provider) -> &'static dyn Adapter {
    match provider {
        Provider::Github => &github::Github,
        Provider::Gitlab => &gitlab::Gitlab,
        Provider::Jira => &jira::Jira,
        Provider::Youtrack => &youtrack::Youtrack,
        Provider::Redmine => &redmine::Redmine,
        Provider::Confluence => &confluence::Confluence,
    }
}
