//! One connection, from its first byte to its last.

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
use crate::limits::{HANDSHAKE_TIME, HEAD_BYTES, HEADERS, STREAMS_PER_CONNECTION};

/// What a connection leads to.
pub struct ConnectionConfig {
    pub router: Router,
    pub serving: Arc<Serving>,
    pub connection: ConnectInfo,
}

/// Answers on `stream` until either side is done with it.
pub async fn serve_connection(
    stream: TcpStream,
    way: ConnectionConfig,
    shutdown: &CancellationToken,
) {
    let stream = IdleTimeout::new(stream, way.serving.idle_time);
    let Some(tls) = &way.serving.tls else { return answer(stream, &way, shutdown).await };
    let handshake = tokio::time::timeout(HANDSHAKE_TIME, tls.acceptor().accept(stream));
    match shutdown.run_until_cancelled(handshake).await {
        Some(Ok(Ok(stream))) => answer(stream, &way, shutdown).await,
        Some(Ok(Err(error))) => note(&error),
        Some(Err(_elapsed)) => note(&io::ErrorKind::TimedOut.into()),
        None => {}
    }
}

/// Clients go away at any moment, so this is no news.
fn note(error: &io::Error) {
    tracing::debug!(%error, "no encrypted connection came about");
}

async fn answer<S>(stream: S, way: &ConnectionConfig, shutdown: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = way.connection;
    let service = way.router.clone().map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection);
        request
    });
    let builder = builder(&way.serving);
    let mut conversation =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        () = shutdown.cancelled() => {
            conversation.as_mut().graceful_shutdown();
            conversation.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// HTTP/1 and HTTP/2 with their limits. The number of streams that a client may reset before they
/// were taken is hyper's own.
fn builder(serving: &Serving) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(serving.head_time)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX));
    builder
}
