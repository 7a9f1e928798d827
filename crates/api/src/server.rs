//! The HTTP server: accepts and serves connections until it is stopped.

mod connection;
mod connection_limit;
mod idle_timeout;
mod tls;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::ingress::ConnectInfo;
use crate::limits::{DRAIN_TIMEOUT, HEADER_TIMEOUT, IDLE_TIMEOUT};
use connection::{ConnectionConfig, serve_connection};
use connection_limit::ConnectionLimiter;
pub use tls::{Tls, TlsError, TlsFiles};

/// Delay before accepting again after the system failed to accept a connection.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How often the files of the certificate are checked for a renewal.
const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The certificate; without one, connections are not encrypted.
    pub tls: Option<Tls>,
    /// Maximum of open connections; more wait to be accepted. 0 is no limit.
    pub max_connections: usize,
    /// Maximum of open connections of one address; more are closed at once. 0 is no limit.
    pub max_connections_per_address: usize,
    /// Proxies, which have no limit by address.
    pub trusted_proxies: Vec<IpNet>,
    /// How long the header of a request may take.
    pub header_timeout: Duration,
    /// How long a connection may be without a byte in either direction.
    pub idle_timeout: Duration,
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 768,
            max_connections_per_address: 256,
            trusted_proxies: Vec::new(),
            header_timeout: HEADER_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
        }
    }
}

/// Serves `router` on `listener` until `shutdown` is canceled. Then it accepts no more connections
/// and waits for open requests, for at most [`DRAIN_TIMEOUT`].
pub async fn run(
    listener: TcpListener,
    router: Router,
    serving: Serving,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let connections = TaskTracker::new();
    if let Some(tls) = serving.tls.clone() {
        let stop = shutdown.clone();
        tokio::spawn(async move { tls.reload_renewed(CERTIFICATE_CHECK_INTERVAL, &stop).await });
    }
    let accepting = accept(listener, router, serving, &connections, &shutdown);
    shutdown.run_until_cancelled(accepting).await;
    connections.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.wait()).await.is_err() {
        let limit_ms = DRAIN_TIMEOUT.as_millis();
        tracing::warn!(limit_ms, "open requests aborted at shutdown");
    }
    Ok(())
}

async fn accept(
    listener: TcpListener,
    router: Router,
    serving: Serving,
    connections: &TaskTracker,
    shutdown: &CancellationToken,
) {
    let max = match serving.max_connections {
        0 => Semaphore::MAX_PERMITS,
        max => max.min(Semaphore::MAX_PERMITS),
    };
    let permits = Arc::new(Semaphore::new(max));
    let limiter =
        ConnectionLimiter::new(serving.max_connections_per_address, &serving.trusted_proxies);
    let serving = Arc::new(serving);
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let (stream, connection) = next(&listener, serving.tls.is_some()).await;
        let Some(address_permit) = limiter.acquire(connection.peer.ip()) else {
            tracing::debug!("connection closed: too many connections of its address");
            continue;
        };
        let config =
            ConnectionConfig { router: router.clone(), serving: serving.clone(), connection };
        let shutdown = shutdown.clone();
        connections.spawn(async move {
            serve_connection(stream, config, &shutdown).await;
            drop((permit, address_permit));
        });
    }
}

/// Accepts the next connection. Errors of a single connection are ignored.
async fn next(listener: &TcpListener, is_tls: bool) -> (TcpStream, ConnectInfo) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Ok(local) = stream.local_addr() else { continue };
                disable_nagle(&stream);
                return (stream, ConnectInfo { peer, local, is_tls });
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "connection can't be accepted; retrying");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// Disables Nagle's algorithm. A streamed response is several small writes, of which the second
/// would wait for the client's delayed acknowledgment: some 40 ms with every call of `/mcp`.
fn disable_nagle(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        // The peer has disconnected, or responses are slow: no reason to reject the connection.
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
}
