//! Layers around every handler, one concern a file. [`with_auth`], [`with_auth_streaming`] and
//! [`common_layers`] have their order.

mod body;
mod body_memory;
mod caller_rate_limit;
mod client_key;
mod concurrency_limit;
mod delivery_limits;
mod metered_body;
mod panics;
mod request_id;
mod request_limits;
mod security_headers;
mod trace;

use std::num::NonZeroU32;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use mc_redis::SharedRateLimits;
use tower_http::catch_panic::CatchPanicLayer;

use crate::ApiSettings;
use crate::authenticate::{Authenticator, count_denials, require_bearer};
use crate::limits::MAX_BODY_BYTES;
use crate::problem::Problem;
use body::{BodyReader, read_body, read_message};
use caller_rate_limit::{CallerRateLimit, limit_caller};
use concurrency_limit::{ConcurrencyLimit, limit_requests, limit_streams};
pub use delivery_limits::Admitted;
use delivery_limits::DeliveryLimits;
pub use request_limits::drain_unauthenticated;
use request_limits::limit_time;
pub use security_headers::is_api_page;

/// Rate and concurrency limits; cheap to clone, and shared by all routers of a service.
#[derive(Clone)]
pub struct Admission {
    callers: CallerRateLimit,
    requests: ConcurrencyLimit,
    streams: ConcurrencyLimit,
    /// Limits of reading the bodies of requests and messages.
    reader: BodyReader,
    /// Webhook deliveries have limits of their own, so that they do not block other requests.
    pub deliveries: DeliveryLimits,
}

impl Admission {
    /// Creates the limits of the settings. Rate limits of callers are shared by all nodes with
    /// `rates`.
    pub fn new(settings: &ApiSettings, rates: Option<&SharedRateLimits>) -> Self {
        Self {
            callers: CallerRateLimit::new(settings, rates),
            requests: ConcurrencyLimit::new(settings.max_concurrent_requests),
            streams: ConcurrencyLimit::new(settings.max_mcp_streams),
            reader: BodyReader::new(settings.request_timeout),
            deliveries: DeliveryLimits::new(settings),
        }
    }

    /// Takes one unit from the rate limit of a caller that a handler has authenticated.
    pub async fn count_caller(&self, caller: &mc_accounts::Principal) -> Result<(), Problem> {
        self.callers.spend(caller, NonZeroU32::MIN).await
    }
}

/// Puts the limits of body, concurrency and time around `router`, with bodies of at most `max`
/// bytes. A request gets a permit once its
/// body is received.
pub fn with_limits(
    router: Router,
    max: usize,
    settings: &ApiSettings,
    admission: &Admission,
) -> Router {
    with_time_limit(router, settings)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(admission.requests.clone(), limit_requests))
        .layer(from_fn_with_state((admission.reader.clone(), max), read_body))
}

/// Puts the limit of time around `router`. For webhook deliveries it is the only one: their
/// handlers take the others from [`DeliveryLimits`], since the lookup of the webhook precedes the
/// body.
pub fn with_time_limit(router: Router, settings: &ApiSettings) -> Router {
    router
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(from_fn_with_state(settings.request_timeout, limit_time))
}

/// Puts authentication, the caller's rate limit and [`with_limits`] around `router`.
pub fn with_auth(
    router: Router,
    authenticator: Authenticator,
    settings: &ApiSettings,
    admission: &Admission,
) -> Router {
    with_limits(router, MAX_BODY_BYTES, settings, admission)
        .layer(from_fn_with_state(authenticator.clone(), count_denials))
        .layer(from_fn_with_state(admission.callers.clone(), limit_caller))
        .layer(from_fn_with_state(authenticator, require_bearer))
}

/// Puts the same around a `router` of streams, without a time limit on responses. Streams have a
/// concurrency limit of their own: idle streams would use up the one of requests, which the calls
/// in streams need.
pub fn with_auth_streaming(
    router: Router,
    authenticator: Authenticator,
    admission: &Admission,
) -> Router {
    router
        .layer(from_fn_with_state(admission.streams.clone(), limit_streams))
        .layer(from_fn_with_state(admission.reader.clone(), read_message))
        .layer(from_fn_with_state(admission.callers.for_messages(), limit_caller))
        .layer(from_fn_with_state(authenticator, require_bearer))
}

/// Puts the layers of all routes around `router`, outermost last: panics as problems, security
/// headers, a span, and the request id.
pub fn common_layers(router: Router) -> Router {
    router
        .layer(CatchPanicLayer::custom(panics::as_problem))
        .layer(from_fn(security_headers::set_security_headers))
        .layer(from_fn(trace::trace_request))
        .layer(from_fn(request_id::assign))
}

#[cfg(test)]
mod tests;
