//! How much a request may send and how long it may take.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, Limited};

use crate::problem::Problem;

/// What is read and thrown away of a body that is refused. A connection that is closed while its
/// client still sends is reset, and the client never sees the refusal.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// And for how long.
const DRAINED_TIME: Duration = Duration::from_secs(10);

/// What is read, and for how long, of a body that nobody vouches for.
const STRANGERS_BYTES: usize = 64 * 1024;
const STRANGERS_TIME: Duration = Duration::from_secs(1);

/// Refuses bodies above `limit`: without keeping them where the length is declared, else while
/// reading.
pub async fn limit_body(
    State(limit): State<usize>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let request = refuse_declared(request, limit).await?;
    let request = request.map(|body| Body::new(Limited::new(body, limit)));
    Ok(next.run(request).await)
}

/// Gives a request back unless it declares a body above `limit`.
pub async fn refuse_declared(request: Request, limit: usize) -> Result<Request, Problem> {
    if declared_length(request.headers()).is_none_or(|length| length <= limit) {
        return Ok(request);
    }
    drain(request.into_body(), DRAINED_BYTES, DRAINED_TIME).await;
    Err(Problem::too_large(limit))
}

/// Reads a little of a stranger's body. The connection of a request that is answered before its
/// body has come is closed behind the answer, and the client's next request on it is lost.
pub async fn drain_unauthenticated(body: Body) {
    drain(body, STRANGERS_BYTES, STRANGERS_TIME).await;
}

/// Reads a body that nobody wants. Who sends more, or slowly, loses the connection after all.
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

/// How long a body is said to be.
pub fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Gives a request up after `limit`. Dropping the handler rolls its transaction back.
pub async fn limit_time(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    tokio::time::timeout(limit, next.run(request)).await.map_err(|_elapsed| {
        tracing::warn!(limit_ms = limit.as_millis(), "request ran out of time");
        Problem::timeout()
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Without an end of its own this would wait for ever.
    #[tokio::test]
    async fn a_refused_body_that_never_comes_is_given_up() {
        let never = futures::stream::pending::<Result<bytes::Bytes, Infallible>>();
        drain(Body::from_stream(never), DRAINED_BYTES, Duration::ZERO).await;
    }
}
