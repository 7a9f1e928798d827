//! The same server at `/mcp`: streamable HTTP, with each caller's own bearer token.

use axum::Router;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

/// Largest request body, in bytes; the layers around must not set a lower one. Far above what a tool accepts, so that an oversized argument is
/// answered with its field's name.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// Settings of the HTTP mount.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// `Host` values that are served (`memory.example.org`, with or without a port), against DNS
    /// rebinding.
    pub allowed_hosts: Vec<String>,
    /// `Origin` values that are served (`https://app.example.org:443`, `http://localhost:*`). A
    /// request without `Origin`, as every client but a browser sends, passes; an empty list
    /// refuses every browser.
    pub allowed_origins: Vec<String>,
}

impl Default for HttpSettings {
    /// This machine only.
    fn default() -> Self {
        let owned = |values: [&str; 3]| values.map(ToOwned::to_owned).to_vec();
        Self {
            allowed_hosts: owned(["localhost", "127.0.0.1", "[::1]"]),
            allowed_origins: owned(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]),
        }
    }
}

/// A router to nest at `/mcp`, behind the API's own layer for bearer tokens, so that there is one
/// authorisation point. `shutdown` ends all sessions.
///
/// `server` is a [`MemoryServer`](crate::MemoryServer) over
/// [`CoreClient::in_process`](crate::CoreClient::in_process): each tool is then a call of the API in
/// this process, with the token of its caller, and what gets past the layer around this router is
/// still refused there. Any other handler does as well, which is how the conformance suite's
/// fixtures are served by the very stack that ships.
pub fn http_router<H>(server: H, settings: HttpSettings, shutdown: CancellationToken) -> Router
where
    H: ServerHandler + Clone,
{
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(settings.allowed_hosts)
        .with_allowed_origins(settings.allowed_origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(shutdown);
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    Router::new().fallback_service(service)
}

#[cfg(test)]
mod tests;
