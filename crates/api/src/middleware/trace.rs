//! A span and a log line for each request, with method, route, status and duration: at debug, or as
//! a warning if the service failed and nothing else says so. Query strings, headers and bodies are
//! not logged.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, Span, field};

use super::request_id::RequestId;
use crate::problem::Problem;

/// Runs a request inside a span with its id.
pub async fn trace_request(request: Request, next: Next) -> Response {
    let span = span_of(&request);
    let started = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;

    let status = response.status();
    span.record("http.status", status.as_u16());
    let duration_ms = started.elapsed().as_millis();
    let is_unexplained = status.is_server_error()
        && !response.extensions().get::<Problem>().is_some_and(Problem::is_logged);
    span.in_scope(|| {
        if is_unexplained {
            tracing::warn!(http.duration_ms = duration_ms, "request failed");
        } else {
            tracing::debug!(http.duration_ms = duration_ms, "request completed");
        }
    });
    response
}

fn span_of(request: &Request) -> Span {
    // The pattern of the route, not the path: paths contain titles and ids of tasks.
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str);
    let id = request.extensions().get::<RequestId>().map(|id| field::display(id.0));
    tracing::info_span!(
        "request",
        http.request_id = id,
        http.method = %request.method(),
        http.route = route,
        http.status = field::Empty,
    )
}
