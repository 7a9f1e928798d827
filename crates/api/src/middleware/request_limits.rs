//! Limits of body and time of a request.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;

use crate::problem::Problem;

/// Bytes that are read and discarded of a rejected body. A connection that is closed while its
/// client still sends is reset, and the client never sees the response.
const MAX_DRAIN_BYTES: usize = 32 * 1024 * 1024;
/// How long a rejected body is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that are read and discarded of the body of an unauthenticated request.
const MAX_UNAUTHENTICATED_DRAIN_BYTES: usize = 64 * 1024;
/// How long the body of an unauthenticated request is read.
const UNAUTHENTICATED_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Rejects a request that declares a body above `limit`.
pub async fn reject_declared(request: Request, limit: usize) -> Result<Request, Problem> {
    if declared_length(request.headers()).is_none_or(|length| length <= limit) {
        return Ok(request);
    }
    drain(request.into_body(), MAX_DRAIN_BYTES, DRAIN_TIMEOUT).await;
    Err(Problem::too_large(limit))
}

/// Reads a little of an unauthenticated body. A connection is closed after a response that precedes
/// the end of the request's body, and the client's next request on it is lost.
pub async fn drain_unauthenticated(body: Body) {
    drain(body, MAX_UNAUTHENTICATED_DRAIN_BYTES, UNAUTHENTICATED_DRAIN_TIMEOUT).await;
}

/// Reads and discards a body. A client that sends more, or too slowly, loses the connection.
async fn drain(mut body: Body, mut left: usize, time: Duration) {
    let reading = async {
        while left > 0
            && let Some(Ok(frame)) = body.frame().await
        {
            left = left.saturating_sub(frame.data_ref().map_or(0, bytes::Bytes::len));
        }
    };
    let _: Result<(), tokio::time::error::Elapsed> = tokio::time::timeout(time, reading).await;
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Aborts a request after `limit`. Dropping the handler rolls its transaction back.
pub async fn limit_time(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    tokio::time::timeout(limit, next.run(request)).await.map_err(|_elapsed| {
        tracing::warn!(limit_ms = limit.as_millis(), "request timed out");
        Problem::timeout()
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test]
    async fn draining_a_stalled_body_times_out() {
        let never = futures::stream::pending::<Result<bytes::Bytes, Infallible>>();
        drain(Body::from_stream(never), MAX_DRAIN_BYTES, Duration::ZERO).await;
    }
}
