//! The same server at `/mcp`: streamable HTTP, with each caller's own bearer token.

use axum::Router;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

/// Largest request body, in bytes; the layers around must not set a lower one. Far above what a
/// tool accepts, so that an oversized argument is answered with its field's name.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// A router to nest at `/mcp`, behind the API's own layers for `Host` and `Origin` (against DNS
/// rebinding) and for bearer tokens, so that either is decided in one place: by itself it answers
/// to any name and any page. `shutdown` ends all sessions.
///
/// `server` is a [`MemoryServer`](crate::MemoryServer) over
/// [`CoreClient::in_process`](crate::CoreClient::in_process): each tool is then a call of the API
/// in this process, with the token of its caller, and what gets past the layer around this router
/// is still refused there. Any other handler does as well, which is how the conformance suite's
/// fixtures are served by the very stack that ships.
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
