//! Limits of messages to `/mcp`, before they are parsed. Responses may be endless streams, requests
//! may not.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::request_limits::reject_declared;
use crate::json_depth;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::problem::Problem;

/// Reads the whole message within `limit`, and rejects one that is too large or too deep.
pub async fn read_message(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let request = reject_declared(request, MAX_MESSAGE_BYTES).await?;
    let (parts, body) = request.into_parts();
    let message = tokio::time::timeout(limit, read(body)).await.map_err(|_elapsed| {
        tracing::warn!(limit_ms = limit.as_millis(), "MCP message not received in time");
        Problem::timeout()
    })??;
    json_depth::check(&message)?;
    Ok(next.run(Request::from_parts(parts, Body::from(message))).await)
}

async fn read(body: Body) -> Result<Bytes, Problem> {
    match Limited::new(body, MAX_MESSAGE_BYTES).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large(MAX_MESSAGE_BYTES)),
        Err(_) => Err(Problem::invalid("the body is incomplete")),
    }
}
