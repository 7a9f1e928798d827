//! Streamable HTTP server at `/mcp`, with the bearer token of each caller.

mod guarded_body;
mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use rmcp::ServerHandler;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use sessions::{CallerSessions, run_as_caller};

/// Maximum request body, in bytes; outer layers must not set a lower limit. It is far above the
/// limits of tools, so that an oversized argument gets an error with its field's name.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Creates the router to nest at `/mcp`. `shutdown` ends all sessions.
///
/// It has to be behind the layers of the API that check `Host` and `Origin` (against DNS rebinding)
/// and bearer tokens, because it accepts any host and origin itself.
///
/// A session belongs to the [`Caller`](mc_domain::Caller) that those layers add to the extensions
/// of a request. Without it, all requests are of one caller.
///
/// The server is a [`MemoryServer`](crate::MemoryServer) over
/// [`CoreClient::in_process`](crate::CoreClient::in_process): each tool then calls the API in this
/// process with the token of its caller, so the API checks the token again. `for_session` returns
/// the one of a session. Any other handler can be served as well, such as the fixtures of the
/// conformance suite.
pub fn http_router<H: ServerHandler>(
    for_session: impl Fn() -> H + Send + Sync + 'static,
    shutdown: CancellationToken,
) -> Router {
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(shutdown);
    let sessions = Arc::new(CallerSessions::default());
    let service =
        StreamableHttpService::new(move || Ok(for_session()), Arc::clone(&sessions), config);
    Router::new().fallback_service(service).layer(from_fn_with_state(sessions, run_as_caller))
}

#[cfg(test)]
mod tests;
