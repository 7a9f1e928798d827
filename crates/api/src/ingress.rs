//! What every request from the network passes before its credential is looked at, one concern a
//! file. [`behind`] is the order.

mod address_rate_limit;
mod auth_throttle;
mod authority;
mod client_info;
mod forwarded;
mod host_origin;
mod origin;
mod target;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use http::{HeaderName, HeaderValue, Method, header};
use ipnet::IpNet;
use mc_redis::SharedRateLimits;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::rate_limit::shared::SharedLimiter;
pub use address_rate_limit::AuthFailed;
use address_rate_limit::limit_address;
use auth_throttle::AuthThrottle;
pub use authority::{Authority, InvalidAuthority};
use client_info::resolve_client;
pub use client_info::{ClientNetwork, ConnectInfo};
use host_origin::check_host_and_origin;
pub use origin::{InvalidOrigin, Origin};
use target::check_target;

/// How long a browser may remember what it was allowed.
const PREFLIGHT_AGE: Duration = Duration::from_hours(1);

/// Who may come to the door, and how often.
#[derive(Debug, Clone)]
pub struct IngressConfig {
    /// Names of the service beside its loopback and its own address; without a port, any.
    pub allowed_hosts: Vec<Authority>,
    /// Pages of other origins that may call.
    pub allowed_origins: Vec<Origin>,
    /// Peers whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// Requests a minute from one address; 0 for any number.
    pub requests_per_address: u32,
    /// Failed authentications a minute from one address, and as many logins that are begun; 0 for any number.
    pub failures_per_address: u32,
}

impl Default for IngressConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            requests_per_address: 60_000,
            failures_per_address: 60,
        }
    }
}

/// The door of one service; cheap to clone.
#[derive(Clone)]
pub struct Ingress(Arc<Inner>);

struct Inner {
    settings: IngressConfig,
    requests: Option<SharedLimiter<ClientNetwork>>,
    guesses: Option<AuthThrottle>,
    /// Logins that are begun.
    logins: Option<SharedLimiter<ClientNetwork>>,
}

impl Ingress {
    /// A door that nobody has come to yet.
    pub fn new(settings: IngressConfig) -> Self {
        Self::sharing(settings, None)
    }

    /// One of several that count together whoever comes to any, where they share `rates`. Connections are counted at
    /// each by itself (`server::crowd`): what is open at one takes nothing of another's.
    pub fn sharing(settings: IngressConfig, rates: Option<&SharedRateLimits>) -> Self {
        let (asked, failed) = (settings.requests_per_address, settings.failures_per_address);
        let requests = SharedLimiter::per_minute("rates.addresses", asked, rates);
        let guesses =
            SharedLimiter::per_minute("rates.guesses", failed, rates).map(AuthThrottle::new);
        let logins = SharedLimiter::per_minute("rates.logins", failed, rates);
        Self(Arc::new(Inner { settings, requests, guesses, logins }))
    }

    /// Permission for the allowed origins; `None` where there are none, as by default.
    fn cors(&self) -> Option<CorsLayer> {
        if self.0.settings.allowed_origins.is_empty() {
            return None;
        }
        let door = self.clone();
        let allowed =
            AllowOrigin::predicate(move |origin: &HeaderValue, _| door.names_origin(origin));
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

/// Puts `router` behind the door, outermost last. Browsers of allowed origins can read what is
/// refused inside of the permission given to them, such as a 429.
pub fn ingress_layers(router: Router, door: &Ingress) -> Router {
    let limited =
        router.layer(from_fn_with_state(door.clone(), limit_address)).layer(from_fn(check_target));
    let permitted = match door.cors() {
        Some(cors) => limited.layer(cors),
        None => limited,
    };
    permitted
        .layer(from_fn_with_state(door.clone(), check_host_and_origin))
        .layer(from_fn_with_state(door.clone(), resolve_client))
}
