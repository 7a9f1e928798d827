//! Stdio server that an IDE starts: a stateless proxy for one client.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::core::{CoreClient, TokenSource};
use crate::{Error, MemoryServer, ServerSettings};

/// Maximum length of a message, in bytes. It is far above the limits of tools, so that an oversized
/// argument gets an error with its field's name instead of being dropped.
const MAX_LINE: usize = 64 * 1024 * 1024;

/// Settings of a stdio server.
#[derive(Clone)]
pub struct StdioSettings {
    /// Settings of every transport.
    pub server: ServerSettings,
    /// URL of the Core API, as in `http://127.0.0.1:7391`.
    pub core_url: String,
    /// Source of the bearer token, which is read before each call, so the token may appear later.
    pub tokens: Arc<dyn TokenSource>,
    /// Certificates to trust in addition to those of the system, in PEM.
    pub ca_pem: Option<Vec<u8>>,
}

/// Serves stdin and stdout of this process until the client disconnects or `shutdown` is cancelled.
///
/// Nothing else may write to stdout meanwhile: logs belong on stderr.
pub async fn stdio(settings: StdioSettings, shutdown: CancellationToken) -> Result<(), Error> {
    let core =
        CoreClient::over_http(&settings.core_url, settings.tokens, settings.ca_pem.as_deref())?;
    let (stdin, stdout) = stdio_pipes();
    serve_on(stdin, stdout, MemoryServer::new(core, settings.server), shutdown).await
}

/// Serves one client on a pair of streams, with one JSON-RPC message per line. All its calls are
/// one session.
pub async fn serve_on(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    server: MemoryServer,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let transport =
        AsyncRwTransport::<RoleServer, _, _>::new(read, write).with_max_line_length(MAX_LINE);
    let server = server.for_one_client();
    let running = match server.serve_with_ct(transport, shutdown).await {
        Ok(running) => running,
        // A client that disconnects before the handshake, and a shutdown meanwhile, are no errors.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(Error::Handshake(error.to_string())),
    };
    match running.waiting().await? {
        QuitReason::JoinError(error) => Err(error.into()),
        _ => Ok(()),
    }
}
