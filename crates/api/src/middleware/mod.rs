//! What happens around every handler, one concern a file. [`guarded`] and
//! [`around_everything`] are the order.

mod limits;
mod observe;
mod panics;
mod request_id;

use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use http::{HeaderValue, header};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::auth::{Token, require_bearer};
use crate::problem::Problem;
use limits::limit_time;
pub use limits::{drain_stranger, limit_body};

/// Puts `router` behind the bearer token, the body limit and the time limit.
pub fn guarded(router: Router, token: Token, limit: Duration) -> Router {
    router
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(from_fn_with_state(limit, limit_time))
        .layer(from_fn(limit_body))
        .layer(from_fn_with_state(token, require_bearer))
}

/// Wraps `router`, outermost last: an id for the request, a span with it, panics as problems,
/// answers that no cache keeps.
pub fn around_everything(router: Router) -> Router {
    router
        .layer(CatchPanicLayer::custom(panics::as_problem))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .layer(from_fn(observe::trace_request))
        .layer(from_fn(request_id::assign))
}
