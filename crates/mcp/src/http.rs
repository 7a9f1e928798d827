//! Streamable HTTP server at `/mcp`, with the bearer token of each caller.

use axum::Router;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

/// Maximum request body, in bytes; outer layers must not set a lower limit. It is far above the
/// limits of tools, so that an oversized argument gets an error with its field's name.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Creates the router to nest at `/mcp`. `shutdown` ends all sessions.
///
/// It has to be behind the layers of the API that check `Host` and `Origin` (against DNS rebinding)
/// and bearer tokens, because it accepts any host and origin itself.
///
/// `server` is a [`MemoryServer`](crate::MemoryServer) over
/// [`CoreClient::in_process`](crate::CoreClient::in_process): each tool then calls the API in this
/// process with the token of its caller, so the API checks the token again. Any other handler can
/// be served as well, such as the fixtures of the conformance suite.
pub fn http_router<H>(server: H, shutdown: CancellationToken) -> Router
where
    H: ServerHandler + Clone,
{
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(shutdown);
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    Router::new().fallback_service(service)
}

#[cfg(test)]
mod tests;
