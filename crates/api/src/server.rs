//! Serving until told to stop.

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
use crate::limits::{DRAIN_TIME, HEAD_TIME, IDLE_TIME};
use connection::{ConnectionConfig, serve_connection};
use connection_limit::ConnectionLimiter;
pub use tls::{Tls, TlsError, TlsFiles};

/// How long to wait when the system has no more connections to give.
const RECOVERY: Duration = Duration::from_secs(1);
/// How often to look for a renewed certificate.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(10);

/// How connections are held.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The certificate; without one, nothing is encrypted.
    pub tls: Option<Tls>,
    /// Connections that are open at once; the next wait unaccepted. 0 for any number.
    pub connections: usize,
    /// Connections of one address; what is more is closed at once. 0 for any number.
    pub connections_per_address: usize,
    /// Proxies, which the limit by address is not for.
    pub trusted_proxies: Vec<IpNet>,
    /// How long the head of a request may take.
    pub head_time: Duration,
    /// How long a connection may be without a byte either way.
    pub idle_time: Duration,
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            tls: None,
            connections: 768,
            connections_per_address: 256,
            trusted_proxies: Vec::new(),
            head_time: HEAD_TIME,
            idle_time: IDLE_TIME,
        }
    }
}

/// Answers on `listener` until `shutdown` is cancelled; then takes no more connections and lets
/// open requests end, for [`DRAIN_TIME`] at most.
pub async fn run(
    listener: TcpListener,
    router: Router,
    serving: Serving,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let conversations = TaskTracker::new();
    if let Some(tls) = serving.tls.clone() {
        let stop = shutdown.clone();
        tokio::spawn(async move { tls.keep_fresh(CERTIFICATE_LOOK, &stop).await });
    }
    let accepting = accept(listener, router, serving, &conversations, &shutdown);
    shutdown.run_until_cancelled(accepting).await;
    conversations.close();
    if tokio::time::timeout(DRAIN_TIME, conversations.wait()).await.is_err() {
        let limit_ms = DRAIN_TIME.as_millis();
        tracing::warn!(limit_ms, "requests still open at shutdown were cut off");
    }
    Ok(())
}

async fn accept(
    listener: TcpListener,
    router: Router,
    serving: Serving,
    conversations: &TaskTracker,
    shutdown: &CancellationToken,
) {
    let most = if serving.connections == 0 { Semaphore::MAX_PERMITS } else { serving.connections };
    let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    let crowd = ConnectionLimiter::new(serving.connections_per_address, &serving.trusted_proxies);
    let serving = Arc::new(serving);
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let (stream, connection) = next(&listener, serving.tls.is_some()).await;
        let Some(own_place) = crowd.acquire(connection.peer.ip()) else {
            tracing::debug!("an address has too many connections; closed another");
            continue;
        };
        let way = ConnectionConfig { router: router.clone(), serving: serving.clone(), connection };
        let shutdown = shutdown.clone();
        conversations.spawn(async move {
            serve_connection(stream, way, &shutdown).await;
            drop((place, own_place));
        });
    }
}

/// The next connection. What fails with it alone is its own affair.
async fn next(listener: &TcpListener, is_tls: bool) -> (TcpStream, ConnectInfo) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Ok(local) = stream.local_addr() else { continue };
                send_at_once(&stream);
                return (stream, ConnectInfo { peer, local, is_tls });
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted; trying again");
                tokio::time::sleep(RECOVERY).await;
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

/// A streamed answer leaves in several small writes; with Nagle's algorithm the second of them waits
/// for the client's delayed acknowledgement, some 40 ms with every call of `/mcp`.
fn send_at_once(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        // The peer is gone already, or the answers are slow; neither is worth refusing it.
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
}
