//! Messages to `/mcp`, before they are parsed. Answers may be streams without an end; what is sent
//! may not.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::request_limits::refuse_declared;
use crate::json_depth;
use crate::limits::MESSAGE_BYTES;
use crate::problem::Problem;

/// Reads the message whole: within `limit`, not above [`MESSAGE_BYTES`], and not too deep.
pub async fn read_message(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let request = refuse_declared(request, MESSAGE_BYTES).await?;
    let (parts, body) = request.into_parts();
    let message = tokio::time::timeout(limit, read(body)).await.map_err(|_elapsed| {
        tracing::warn!(limit_ms = limit.as_millis(), "a message did not arrive in time");
        Problem::timeout()
    })??;
    json_depth::check(&message)?;
    Ok(next.run(Request::from_parts(parts, Body::from(message))).await)
}

async fn read(body: Body) -> Result<Bytes, Problem> {
    match Limited::new(body, MESSAGE_BYTES).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large(MESSAGE_BYTES)),
        Err(_) => Err(Problem::invalid("the body broke off")),
    }
}
