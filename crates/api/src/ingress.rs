//! Checks of every request from the network before authentication, one concern a file.
//! [`ingress_layers`] has their order.

mod address_rate_limit;
mod auth_throttle;
mod authority;
mod client_info;
mod fetch_site;
pub(crate) mod forwarded;
mod host_origin;
mod origin;
mod target;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use http::{HeaderName, HeaderValue, Method, header};
use ipnet::IpNet;
use mc_domain::ClientSession;
use mc_redis::SharedRateLimits;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::rate_limit::processor_time::ProcessorTimeLimit;
use crate::rate_limit::shared::SharedLimiter;
pub use address_rate_limit::AuthFailed;
use address_rate_limit::limit_address;
pub use address_rate_limit::limit_unauthenticated;
use auth_throttle::AuthThrottle;
pub use authority::{Authority, InvalidAuthority};
use client_info::resolve_client;
pub use client_info::{ClientInfo, ClientNetwork, ConnectInfo};
pub use forwarded::{X_FORWARDED_FOR, X_FORWARDED_PROTO};
use host_origin::check_host_and_origin;
pub use origin::{InvalidOrigin, Origin};
use target::check_target;

/// How long a browser may cache the response to a preflight request.
const PREFLIGHT_AGE: Duration = Duration::from_hours(1);

/// Settings of ingress.
#[derive(Debug, Clone)]
pub struct IngressConfig {
    /// Hosts of the service besides loopback and the address of the connection. Without a port,
    /// any port is allowed.
    pub allowed_hosts: Vec<Authority>,
    /// Other origins whose pages may call the service.
    pub allowed_origins: Vec<Origin>,
    /// Proxies whose headers about the client are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Requests per minute from one address; 0 is no limit.
    pub requests_per_minute_per_address: u32,
    /// Failed authentications per minute from one address, and as many started logins; 0 is no
    /// limit.
    pub auth_failures_per_minute_per_address: u32,
    /// Processor time per minute for the requests of one address, before authentication and on
    /// routes without it; zero is no limit.
    pub processor_time_per_minute_per_address: Duration,
}

impl Default for IngressConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            requests_per_minute_per_address: 60_000,
            auth_failures_per_minute_per_address: 60,
            processor_time_per_minute_per_address: Duration::from_mins(1),
        }
    }
}

/// The checks before authentication, with their counters; cheap to clone.
#[derive(Clone)]
pub struct Ingress(Arc<Inner>);

struct Inner {
    settings: IngressConfig,
    requests: Option<SharedLimiter<ClientNetwork>>,
    auth_failures: Option<AuthThrottle>,
    /// Started logins.
    logins: Option<SharedLimiter<ClientNetwork>>,
    /// Of work before authentication, and on routes without it.
    processor_time: Option<Arc<ProcessorTimeLimit<ClientNetwork>>>,
}

impl Ingress {
    /// Returns an ingress that counts for this node alone.
    pub fn new(settings: IngressConfig) -> Self {
        Self::sharing(settings, None)
    }

    /// Returns an ingress that counts together with those of other nodes, if they share `rates`.
    /// Open connections (`server::connection_limit`) and processor time are counted by each node
    /// alone.
    pub fn sharing(settings: IngressConfig, rates: Option<&SharedRateLimits>) -> Self {
        let requests = settings.requests_per_minute_per_address;
        let failures = settings.auth_failures_per_minute_per_address;
        let requests = SharedLimiter::per_minute("rates.addresses", requests, rates);
        let auth_failures = SharedLimiter::per_minute("rates.guesses", failures, rates);
        let logins = SharedLimiter::per_minute("rates.logins", failures, rates);
        let auth_failures = auth_failures.map(AuthThrottle::new);
        let processor_time =
            ProcessorTimeLimit::per_minute(settings.processor_time_per_minute_per_address)
                .map(Arc::new);
        Self(Arc::new(Inner { settings, requests, auth_failures, logins, processor_time }))
    }

    /// Returns the CORS layer for the allowed origins; `None` if there are none, as by default.
    fn cors(&self) -> Option<CorsLayer> {
        if self.0.settings.allowed_origins.is_empty() {
            return None;
        }
        let ingress = self.clone();
        let allowed =
            AllowOrigin::predicate(move |origin: &HeaderValue, _| ingress.allows_origin(origin));
        let headers = [
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("mcp-session-id"),
            HeaderName::from_static("mcp-protocol-version"),
            HeaderName::from_static("mcp-method"),
            HeaderName::from_static("mcp-name"),
            HeaderName::from_static("x-memory-copilot-project"),
            HeaderName::from_static(ClientSession::HEADER),
            HeaderName::from_static("x-request-id"),
        ];
        let exposed = [
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
            HeaderName::from_static("mcp-session-id"),
            HeaderName::from_static("x-request-id"),
        ];
        let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let cors = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods(methods)
            .allow_headers(headers)
            .expose_headers(exposed)
            .max_age(PREFLIGHT_AGE);
        Some(cors)
    }
}

/// Puts the checks around `router`, outermost last. Layers inside of CORS respond with its headers,
/// so browsers of allowed origins can read their errors, such as 429.
pub fn ingress_layers(router: Router, ingress: &Ingress) -> Router {
    let limited = router
        .layer(from_fn_with_state(ingress.clone(), limit_address))
        .layer(from_fn(check_target));
    let with_cors = match ingress.cors() {
        Some(cors) => limited.layer(cors),
        None => limited,
    };
    with_cors
        .layer(from_fn_with_state(ingress.clone(), check_host_and_origin))
        .layer(from_fn_with_state(ingress.clone(), resolve_client))
}
