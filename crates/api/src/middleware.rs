//! What happens around every handler, one concern a file. [`guarded`], [`guarded_streams`] and
//! [`around_everything`] are the order.

mod caller_rate_limit;
mod concurrency_limit;
mod mcp_body;
mod panics;
mod request_id;
mod request_limits;
mod security_headers;
mod trace;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use mc_redis::SharedRateLimits;
use tower_http::catch_panic::CatchPanicLayer;

use crate::ApiSettings;
use crate::authenticate::{Authenticator, count_denials, require_bearer};
use crate::limits::{BODY_BYTES, DELIVERIES_BYTES};
use crate::problem::Problem;
use caller_rate_limit::{CallerRateLimit, limit_caller};
use concurrency_limit::{BodyMemory, ConcurrencyLimit, limit_requests, limit_streams};
use mcp_body::read_message;
pub use request_limits::{declared_length, drain_unauthenticated};
use request_limits::{limit_body, limit_time};

/// How much the service takes on, from each caller and at once; cheap to clone, and shared by all
/// the routers of a service.
#[derive(Clone)]
pub struct Admission {
    callers: CallerRateLimit,
    requests: ConcurrencyLimit,
    streams: ConcurrencyLimit,
    /// Of those who send webhooks, who keep nobody else out.
    deliveries: ConcurrencyLimit,
    /// For their bodies.
    pub bodies: BodyMemory,
}

impl Admission {
    /// As the settings have it, with nothing used up of what is this node's; callers' allowances are all nodes' that
    /// share `rates`.
    pub fn new(settings: &ApiSettings, rates: Option<&SharedRateLimits>) -> Self {
        Self {
            callers: CallerRateLimit::new(settings.units_per_caller, rates),
            requests: ConcurrencyLimit::new(settings.requests_at_once),
            streams: ConcurrencyLimit::new(settings.streams_at_once),
            deliveries: ConcurrencyLimit::new(settings.requests_at_once),
            bodies: BodyMemory::new(DELIVERIES_BYTES),
        }
    }
}

/// Puts a place to run in, the body limit and the time limit around `router`.
pub fn with_limits(router: Router, settings: &ApiSettings, admission: &Admission) -> Router {
    within(router, BODY_BYTES, settings, admission.requests.clone())
}

/// The same for what receives webhooks, with places of their own and bodies of at most `body` bytes.
pub fn with_delivery_limits(
    router: Router,
    body: usize,
    settings: &ApiSettings,
    admission: &Admission,
) -> Router {
    within(router, body, settings, admission.deliveries.clone())
}

fn within(router: Router, body: usize, settings: &ApiSettings, places: ConcurrencyLimit) -> Router {
    router
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(from_fn_with_state(settings.request_timeout, limit_time))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(body, limit_body))
        .layer(from_fn_with_state(places, limit_requests))
}

/// Puts `router` behind the bearer token and its caller's allowance, within its bounds.
pub fn with_auth(
    router: Router,
    authenticator: Authenticator,
    settings: &ApiSettings,
    admission: &Admission,
) -> Router {
    with_limits(router, settings, admission)
        .layer(from_fn_with_state(authenticator.clone(), count_denials))
        .layer(from_fn_with_state(admission.callers.clone(), limit_caller))
        .layer(from_fn_with_state(authenticator, require_bearer))
}

/// The same for `router`'s streams, which have an end of their own choice. They take places of their
/// own: those of requests are for what streams call, and idle ones would fill them.
pub fn with_auth_streaming(
    router: Router,
    authenticator: Authenticator,
    settings: &ApiSettings,
    admission: &Admission,
) -> Router {
    router
        .layer(from_fn_with_state(settings.request_timeout, read_message))
        .layer(from_fn_with_state(admission.streams.clone(), limit_streams))
        .layer(from_fn_with_state(admission.callers.clone(), limit_caller))
        .layer(from_fn_with_state(authenticator, require_bearer))
}

/// Wraps `router`, outermost last: panics as problems, headers for browsers and caches, a span, an
/// id for the request.
pub fn common_layers(router: Router) -> Router {
    router
        .layer(CatchPanicLayer::custom(panics::as_problem))
        .layer(from_fn(security_headers::set_security_headers))
        .layer(from_fn(trace::trace_request))
        .layer(from_fn(request_id::assign))
}

#[cfg(test)]
mod tests;
