//! The interface between the crate and the code of each provider.

use std::sync::Arc;

use ::http::HeaderMap;
use mc_domain::Provider;
use url::Url;

use crate::client::ConnectorConfig;
use crate::delivery::ParseError;
use crate::error::Error;
use crate::event::Event;
use crate::http::{Http, RequestDefaults};
use crate::signature::{SignatureError, SignedRequest};
use crate::traits::{GitHost, PullRequestHost, ResponseFuture, Tracker, Wiki};
use crate::{confluence, github, gitlab, jira, redmine, youtrack};

/// The event type of a delivery, in the provider's words, and its event.
pub(crate) type ParsedEvent = (String, Event);

/// Opens a resource by its name.
type Open<T> = fn(Http, &str) -> Result<Arc<T>, Error>;

/// The code of one provider: its webhooks and its API.
pub(crate) struct Adapter {
    /// Verifies the signature, or the token, of a delivery.
    pub(crate) verify: fn(&SignedRequest<'_>) -> Result<(), SignatureError>,
    /// Parses a delivery.
    pub(crate) parse: fn(&HeaderMap, &[u8]) -> Result<ParsedEvent, ParseError>,
    /// The headers that may hold the id of a delivery, the preferred one first.
    pub(crate) delivery_id_headers: &'static [&'static str],
    /// Whether the signature covers the body and nothing else, such as the id.
    pub(crate) signs_only_the_body: bool,
    /// Whether an issue can be deleted, restored under its id, and deleted again.
    pub(crate) can_restore_issues: bool,
    /// The permissions that a token needs, for error messages.
    pub(crate) permissions: &'static str,
    /// Returns the address of the API from that of the pages.
    pub(crate) api_url: fn(&Url) -> Url,
    /// Returns the headers of each request, with the credential.
    pub(crate) request_defaults: fn(&ConnectorConfig) -> Result<RequestDefaults, Error>,
    /// Returns the user of the credential, as [`crate::client::Connector::check_access`] does.
    pub(crate) check_access: fn(Http) -> ResponseFuture<'static, String>,
    /// Returns the issues of a resource, if the provider has issues.
    pub(crate) tracker: Option<Open<dyn Tracker>>,
    /// Returns the pages of a resource, if the provider has pages.
    pub(crate) wiki: Option<Open<dyn Wiki>>,
    /// Returns the refs of a resource, if the provider has refs.
    pub(crate) git_host: Option<Open<dyn GitHost>>,
    /// Returns the pull requests of a resource, if this crate can change the provider's.
    pub(crate) pull_request_host: Option<Open<dyn PullRequestHost>>,
}

/// Returns the code of a provider. A new provider is registered here.
pub(crate) fn adapter(provider: Provider) -> &'static Adapter {
    match provider {
        Provider::Github => &github::ADAPTER,
        Provider::Gitlab => &gitlab::ADAPTER,
        Provider::Jira => &jira::ADAPTER,
        Provider::Youtrack => &youtrack::ADAPTER,
        Provider::Redmine => &redmine::ADAPTER,
        Provider::Confluence => &confluence::ADAPTER,
    }
}
