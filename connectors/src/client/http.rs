//! One way to ask for all systems: in bounds, patient for a moment, and never with the credential elsewhere.

mod error_response;
mod etag_cache;
mod rate_limit;
mod redirect;
mod response;

use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use chrono::Utc;
use mc_domain::is_loopback;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

pub(super) use error_response::remedy;
use etag_cache::EtagCache;
use rate_limit::Limit;
use response::{Answer, parsed};

use super::{ConnectorConfig, Error};

const USER_AGENT: &str = concat!("memory-copilot/", env!("CARGO_PKG_VERSION"));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How a system takes its credential, and what it wants to be sent along.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestDefaults {
    /// The credential's header, with the credential.
    pub(super) credential: Option<(HeaderName, HeaderValue)>,
    /// Sent with each request.
    pub(super) headers: HeaderMap,
}

/// A system's API.
#[derive(Debug, Clone)]
pub(super) struct Http(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    settings: Arc<ConnectorConfig>,
    base: Url,
    manners: RequestDefaults,
    limit: Limit,
    remembered: EtagCache,
}

/// A request, and what it is for as messages say it: "to list the issues of CS".
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Bytes>,
    pub(super) action: &'a str,
}

impl Http {
    pub(super) fn new(
        settings: Arc<ConnectorConfig>,
        base: Url,
        manners: RequestDefaults,
    ) -> Result<Self, Error> {
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(settings.limits.connect_timeout)
            .timeout(settings.limits.request_timeout)
            // Followed here, where it is seen whether they lead to another host.
            .redirect(reqwest::redirect::Policy::none());
        let builder = if is_loopback(&base) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| Error::Settings {
            system: settings.name.clone(),
            reason: format!("no HTTP client can be made: {error}"),
        })?;
        let (limit, remembered) = (Limit::default(), EtagCache::new());
        Ok(Self(Arc::new(Inner { client, settings, base, manners, limit, remembered })))
    }

    /// The operator's name for the system.
    pub(super) fn system(&self) -> &str {
        &self.0.settings.name
    }

    pub(super) fn settings(&self) -> &ConnectorConfig {
        &self.0.settings
    }

    /// The address below the system's own; no segment can leave it.
    pub(super) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.0.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// The address of a path with its query, as others have written them, below the system's own.
    pub(super) fn below(&self, path: &str, query: Option<&str>) -> Url {
        let mut url = self.0.base.clone();
        url.set_path(&format!("{}{path}", self.0.base.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }

    /// What stands there, as far as `T` knows it.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
        action: &str,
    ) -> Result<T, Error> {
        let url = self.url(segments, query);
        let answer = self.send(&Request { method: Method::GET, url, body: None, action }).await?;
        parsed(self, action, &answer.body)
    }

    pub(super) async fn write(
        &self,
        method: Method,
        segments: &[&str],
        body: &impl Serialize,
        action: &str,
    ) -> Result<Answer, Error> {
        let body = serde_json::to_vec(body).map_err(|error| self.odd(action, error.to_string()))?;
        let url = self.url(segments, &[]);
        self.send(&Request { method, url, body: Some(body.into()), action }).await
    }

    /// [`Http::write`], and what the answer says as far as `T` knows it.
    pub(super) async fn write_for<T: DeserializeOwned>(
        &self,
        method: Method,
        segments: &[&str],
        body: &impl Serialize,
        action: &str,
    ) -> Result<T, Error> {
        let answer = self.write(method, segments, body, action).await?;
        parsed(self, action, &answer.body)
    }

    /// The answer, where there is one; what fails for a moment is tried again.
    pub(super) async fn send(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let limits = self.0.settings.limits;
        let retries = ExponentialBuilder::default()
            .with_min_delay(limits.retry_delay)
            .with_max_delay(limits.longest_wait)
            .with_max_times(limits.retries)
            .with_jitter();
        (|| self.once(request))
            .retry(retries)
            .when(|error| may_pass(request, error))
            .adjust(|error, wait| adjusted(error, wait, limits.longest_wait))
            .await
    }

    /// One try, with whatever redirects within the system there are.
    async fn once(&self, request: &Request<'_>) -> Result<Answer, Error> {
        self.0.limit.check(self.system())?;
        let mut url = request.url.clone();
        for _ in 0..=redirect::MOST {
            let answer = self.exchange(request, &url).await?;
            match redirect::target(self, &answer, request, &url)? {
                Some(target) => url = target,
                None => return self.judged(answer, request, &url).await,
            }
        }
        Err(self.odd(request.action, "redirects that go round in circles".to_owned()))
    }

    async fn exchange(&self, request: &Request<'_>, url: &Url) -> Result<Answer, Error> {
        let inner = &self.0;
        let mut builder = inner.client.request(request.method.clone(), url.clone());
        builder = builder.header(ACCEPT, JSON).headers(inner.manners.headers.clone());
        if let Some((name, value)) = &inner.manners.credential {
            builder = builder.header(name, value);
        }
        if request.method == Method::GET {
            builder = builder.headers(inner.remembered.condition(url).await);
        }
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, JSON).body(body.clone());
        }
        let response = builder.send().await.map_err(|error| self.lost(&error))?;
        response::read(self, request.action, response).await
    }

    /// What the answer is worth.
    async fn judged(
        &self,
        answer: Answer,
        request: &Request<'_>,
        url: &Url,
    ) -> Result<Answer, Error> {
        let is_known = answer.status == StatusCode::NOT_MODIFIED;
        if is_known && let Some(known) = self.0.remembered.answer(url).await {
            return Ok(known);
        }
        if !answer.status.is_success() {
            return Err(self.refusal(&answer, request.action));
        }
        if answer.body.trim_ascii_start().first() == Some(&b'<') {
            return Err(self.odd(request.action, "a page of HTML".to_owned()));
        }
        if request.method == Method::GET {
            self.0.remembered.keep(url, &answer).await;
        }
        Ok(answer)
    }

    fn refusal(&self, answer: &Answer, action: &str) -> Error {
        if let Some(retry_at) = rate_limit::retry_at(answer, Utc::now()) {
            self.0.limit.hold(retry_at);
            return Error::RateLimited { system: self.system().to_owned(), retry_at };
        }
        error_response::of(&self.0.settings, answer, action)
    }

    fn lost(&self, error: &reqwest::Error) -> Error {
        self.unavailable(if error.is_timeout() {
            "it did not answer in time"
        } else if error.is_connect() {
            "no connection can be made"
        } else {
            "the connection broke"
        })
    }

    pub(super) fn unavailable(&self, reason: &str) -> Error {
        Error::Unavailable { system: self.system().to_owned(), reason: reason.to_owned() }
    }

    /// What was to be written to is elsewhere.
    pub(super) fn moved(&self, action: &str) -> Error {
        Error::Moved { system: self.system().to_owned(), action: action.to_owned() }
    }

    /// An answer that can't be understood.
    pub(super) fn odd(&self, action: &str, reason: String) -> Error {
        Error::NotUnderstood { system: self.system().to_owned(), action: action.to_owned(), reason }
    }
}

/// Whether the same may succeed in a moment. What was written may have come in, so it is not written again.
fn may_pass(request: &Request<'_>, error: &Error) -> bool {
    let is_for_now = matches!(error, Error::Unavailable { .. } | Error::RateLimited { .. });
    request.method == Method::GET && is_for_now
}

/// The wait before the next try; `None` where it is longer than anybody waits for.
fn adjusted(error: &Error, wait: Option<Duration>, longest: Duration) -> Option<Duration> {
    let Error::RateLimited { retry_at, .. } = error else { return wait };
    let asked_for = (*retry_at - Utc::now()).to_std().unwrap_or_default();
    (asked_for <= longest).then(|| wait.map(|wait| wait.max(asked_for))).flatten()
}

/// A name as one segment of an address.
pub(super) fn encoded(name: &str) -> String {
    let Ok(mut url) = Url::parse("https://name.invalid") else { return String::new() };
    if let Ok(mut path) = url.path_segments_mut() {
        path.clear().push(name);
    }
    url.path().trim_start_matches('/').to_owned()
}
