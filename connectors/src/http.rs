//! The HTTP client of all providers, with limits and retries. Credentials stay at their host.

pub(crate) mod credential;
mod error_response;
mod etag_cache;
mod rate_limit;
mod response;

use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use chrono::Utc;
use mc_domain::{Capability, is_loopback};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use error_response::remedy;
use etag_cache::EtagCache;
use rate_limit::RateLimit;
use response::{Response, parse};

use crate::client::ConnectorConfig;
use crate::error::Error;
use crate::provider::adapter;

const USER_AGENT: &str = concat!("memory-copilot/", env!("CARGO_PKG_VERSION"));
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Redirects of one request.
const MAX_REDIRECTS: usize = 3;
/// The name of the user of a connector without a token.
pub(crate) const ANONYMOUS: &str = "anonymous (no token)";

/// The headers of each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestDefaults {
    /// The header with the credential.
    pub(crate) credential: Option<(HeaderName, HeaderValue)>,
    /// Other headers.
    pub(crate) headers: HeaderMap,
}

/// The API of one connector. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Http(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    config: ConnectorConfig,
    base: Url,
    defaults: RequestDefaults,
    rate_limit: RateLimit,
    etags: EtagCache,
}

/// The part of the response to a write that is parsed. The write is done, so it must not fail
/// because of another field.
#[derive(Deserialize)]
pub(crate) struct Written<Id> {
    pub(crate) id: Id,
}

/// A request, and its purpose as messages name it: "to list the issues of CS".
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Bytes>,
    pub(crate) action: &'a str,
}

impl Http {
    /// Creates the client of an API. Sends no request.
    pub(crate) fn new(config: ConnectorConfig) -> Result<Self, Error> {
        let base = (adapter(config.kind).api_url)(&config.url);
        let defaults = (adapter(config.kind).request_defaults)(&config)?;
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(config.limits.connect_timeout)
            .timeout(config.limits.request_timeout)
            // `redirect_target` follows redirects, and rejects those to another host.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if is_loopback(&base) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| Error::InvalidConfig {
            connector: config.name.clone(),
            reason: format!("the HTTP client cannot be created: {error}"),
        })?;
        let (rate_limit, etags) = (RateLimit::default(), EtagCache::new());
        Ok(Self(Arc::new(Inner { client, config, base, defaults, rate_limit, etags })))
    }

    /// Returns the operator's name for the connector.
    pub(crate) fn connector(&self) -> &str {
        &self.0.config.name
    }

    pub(crate) fn config(&self) -> &ConnectorConfig {
        &self.0.config
    }

    pub(crate) fn has_token(&self) -> bool {
        self.0.config.token.is_some()
    }

    /// Returns the configured page size, up to the provider's maximum.
    pub(crate) fn page_size(&self, max: u16) -> u64 {
        u64::from(self.0.config.limits.page_size.clamp(1, max))
    }

    /// Returns an address below the API's. No segment can leave it.
    pub(crate) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.0.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Returns the address of an encoded path and query below the API's.
    pub(crate) fn encoded_url(&self, path: &str, query: Option<&str>) -> Url {
        let mut url = self.0.base.clone();
        url.set_path(&format!("{}{path}", self.0.base.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }

    /// Reads a resource.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
        action: &str,
    ) -> Result<T, Error> {
        let url = self.url(segments, query);
        let response = self.send(&Request { method: Method::GET, url, body: None, action }).await?;
        parse(self, action, &response.body)
    }

    /// Reads a resource, and returns it with the headers of the response.
    pub(crate) async fn get_with_headers<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        action: &str,
    ) -> Result<(HeaderMap, T), Error> {
        let url = self.url(segments, &[]);
        let response = self.send(&Request { method: Method::GET, url, body: None, action }).await?;
        let body = parse(self, action, &response.body)?;
        Ok((response.headers, body))
    }

    /// Writes a resource, and ignores the body of the response.
    pub(crate) async fn write(
        &self,
        method: Method,
        segments: &[&str],
        body: &impl Serialize,
        action: &str,
    ) -> Result<Response, Error> {
        let body = serde_json::to_vec(body)
            .map_err(|error| self.unexpected_response(action, error.to_string()))?;
        let url = self.url(segments, &[]);
        self.send(&Request { method, url, body: Some(body.into()), action }).await
    }

    /// Writes a resource, and returns it as the provider has it then.
    pub(crate) async fn write_and_read<T: DeserializeOwned>(
        &self,
        method: Method,
        segments: &[&str],
        body: &impl Serialize,
        action: &str,
    ) -> Result<T, Error> {
        let response = self.write(method, segments, body, action).await?;
        parse(self, action, &response.body)
    }

    /// Sends a request. Reads that fail temporarily are retried.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Response, Error> {
        let limits = self.0.config.limits;
        let backoff = ExponentialBuilder::default()
            .with_min_delay(limits.retry_delay)
            .with_max_delay(limits.longest_wait)
            .with_max_times(limits.retries)
            .with_jitter();
        (|| self.send_once(request))
            .retry(backoff)
            .when(|error| can_retry(request, error))
            .adjust(|error, wait| retry_delay(error, wait, limits.longest_wait))
            .await
    }

    /// Sends a request, and follows redirects on the same host.
    async fn send_once(&self, request: &Request<'_>) -> Result<Response, Error> {
        self.0.rate_limit.check(self.connector())?;
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(request, &url).await?;
            match redirect_target(self, &response, request, &url)? {
                Some(target) => url = target,
                None => return self.check(response, request, &url).await,
            }
        }
        Err(self.unexpected_response(request.action, "a redirect loop".to_owned()))
    }

    async fn exchange(&self, request: &Request<'_>, url: &Url) -> Result<Response, Error> {
        let inner = &self.0;
        let mut builder = inner.client.request(request.method.clone(), url.clone());
        builder = builder.header(ACCEPT, JSON).headers(inner.defaults.headers.clone());
        if let Some((name, value)) = &inner.defaults.credential {
            builder = builder.header(name, value);
        }
        if request.method == Method::GET {
            builder = builder.headers(inner.etags.condition(url).await);
        }
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, JSON).body(body.clone());
        }
        let response = builder.send().await.map_err(|error| self.connection_error(&error))?;
        response::read(self, request.action, response).await
    }

    /// Turns unsuccessful responses and HTML pages into errors, and unchanged ones into the cached.
    async fn check(
        &self,
        response: Response,
        request: &Request<'_>,
        url: &Url,
    ) -> Result<Response, Error> {
        let is_unchanged = response.status == StatusCode::NOT_MODIFIED;
        if is_unchanged && let Some(cached) = self.0.etags.get(url).await {
            return Ok(cached);
        }
        if !response.status.is_success() {
            return Err(self.error_response(&response, request.action));
        }
        if response.body.trim_ascii_start().first() == Some(&b'<') {
            return Err(self.unexpected_response(request.action, "an HTML page".to_owned()));
        }
        if request.method == Method::GET {
            self.0.etags.insert(url, &response).await;
        }
        Ok(response)
    }

    fn error_response(&self, response: &Response, action: &str) -> Error {
        if let Some(retry_at) = rate_limit::retry_at(response, Utc::now()) {
            self.0.rate_limit.block_until(retry_at);
            return Error::RateLimited { connector: self.connector().to_owned(), retry_at };
        }
        error_response::error(&self.0.config, response, action)
    }

    fn connection_error(&self, error: &reqwest::Error) -> Error {
        if error.is_connect() {
            return Error::Unreachable { connector: self.connector().to_owned() };
        }
        self.unavailable(if error.is_timeout() {
            "it did not respond in time"
        } else {
            "the connection broke"
        })
    }

    pub(crate) fn unavailable(&self, reason: &str) -> Error {
        Error::Unavailable { connector: self.connector().to_owned(), reason: reason.to_owned() }
    }

    /// Returns the error of a write. Without a response that can be read, it may have been carried
    /// out.
    pub(crate) fn write_error(&self, error: Error, action: &str) -> Error {
        let reason = match error {
            Error::Unavailable { reason, .. } => reason,
            Error::UnexpectedResponse { reason, .. } => format!("it responded with {reason}"),
            other => return other,
        };
        let (connector, action) = (self.connector().to_owned(), action.to_owned());
        Error::OutcomeUnknown { connector, action, reason }
    }

    pub(crate) fn not_found(&self, action: &str, status: u16) -> Error {
        let (connector, action) = (self.connector().to_owned(), action.to_owned());
        Error::NotFound { connector, action, status }
    }

    pub(crate) fn resource_moved(&self, action: &str) -> Error {
        let (connector, action) = (self.connector().to_owned(), action.to_owned());
        Error::ResourceMoved { connector, action }
    }

    pub(crate) fn unexpected_response(&self, action: &str, reason: String) -> Error {
        let (connector, action) = (self.connector().to_owned(), action.to_owned());
        Error::UnexpectedResponse { connector, action, reason }
    }

    pub(crate) fn unsupported(&self, capability: Capability) -> Error {
        Error::UnsupportedCapability(self.connector().to_owned(), self.config().kind, capability)
    }
}

/// Returns whether to retry a request. A write that failed may have been carried out.
fn can_retry(request: &Request<'_>, error: &Error) -> bool {
    let is_temporary = matches!(
        error,
        Error::Unreachable { .. } | Error::Unavailable { .. } | Error::RateLimited { .. }
    );
    request.method == Method::GET && is_temporary
}

/// Returns the delay before the next attempt; `None` if the provider wants a longer one.
fn retry_delay(error: &Error, delay: Option<Duration>, max: Duration) -> Option<Duration> {
    let Error::RateLimited { retry_at, .. } = error else { return delay };
    let requested = (*retry_at - Utc::now()).to_std().unwrap_or_default();
    (requested <= max).then(|| delay.map(|delay| delay.max(requested))).flatten()
}

/// Returns the target of a redirect, if there is one. Only reads follow it, on the same host: the
/// credential stays there.
fn redirect_target(
    http: &Http,
    response: &Response,
    request: &Request<'_>,
    from: &Url,
) -> Result<Option<Url>, Error> {
    let status = response.status;
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    // A write was approved for one resource and for no other.
    if request.method != Method::GET {
        return Err(http.resource_moved(request.action));
    }
    let reason = match response.header(LOCATION).and_then(|location| from.join(location).ok()) {
        Some(to) if to.origin() == from.origin() => return Ok(Some(to)),
        Some(to) => {
            let host = to.host_str().unwrap_or("unnamed").chars().take(100);
            format!("a redirect to another host, {}", host.collect::<String>())
        }
        None => "a redirect without a target".to_owned(),
    };
    Err(http.unexpected_response(request.action, reason))
}

/// Encodes a name as one segment of a path.
pub(crate) fn encode_segment(name: &str) -> String {
    let Ok(mut url) = Url::parse("https://name.invalid") else { return String::new() };
    if let Ok(mut path) = url.path_segments_mut() {
        path.clear().push(name);
    }
    url.path().trim_start_matches('/').to_owned()
}
