//! Serving of one connection.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::Serving;
use super::idle_timeout::IdleTimeout;
use crate::ingress::ConnectInfo;
use crate::limits::{HANDSHAKE_TIMEOUT, HEADERS, MAX_HEADER_BYTES, STREAMS_PER_CONNECTION};

/// A connection, with the router and the settings that serve it.
pub struct ConnectionConfig {
    pub router: Router,
    pub serving: Arc<Serving>,
    pub connection: ConnectInfo,
}

/// Serves `stream` until either side closes it.
pub async fn serve_connection(
    stream: TcpStream,
    config: ConnectionConfig,
    shutdown: &CancellationToken,
) {
    let stream = IdleTimeout::new(stream, config.serving.idle_timeout);
    let Some(tls) = &config.serving.tls else { return serve(stream, &config, shutdown).await };
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor().accept(stream));
    match shutdown.run_until_cancelled(handshake).await {
        Some(Ok(Ok(stream))) => serve(stream, &config, shutdown).await,
        Some(Ok(Err(error))) => log_handshake(&error),
        Some(Err(_elapsed)) => log_handshake(&io::ErrorKind::TimedOut.into()),
        None => {}
    }
}

/// Logs a failed handshake at debug level: clients disconnect at any time.
fn log_handshake(error: &io::Error) {
    tracing::debug!(%error, "TLS handshake failed");
}

async fn serve<S>(stream: S, config: &ConnectionConfig, shutdown: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let info = config.connection;
    let service = config.router.clone().map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(info);
        request
    });
    let builder = builder(&config.serving);
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection failed");
    }
}

/// Returns a builder for HTTP/1 and HTTP/2 with their limits. The limit of streams that a client
/// resets before they are accepted is hyper's default.
fn builder(serving: &Serving) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(serving.header_timeout)
        .max_headers(HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_header_list_size(u32::try_from(MAX_HEADER_BYTES).unwrap_or(u32::MAX));
    builder
}
