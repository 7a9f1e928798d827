//! Serving until told to stop.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::limits::DRAIN_TIME;

/// Answers on `listener` until `shutdown` is cancelled; then takes no more connections and lets
/// open requests end, for [`DRAIN_TIME`] at most.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = axum::serve(listener.tap_io(send_at_once), router)
        .with_graceful_shutdown(shutdown.clone().cancelled_owned())
        .into_future();
    let drained = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_TIME).await;
    };
    tokio::select! {
        ended = server => ended,
        () = drained => {
            tracing::warn!(limit_ms = DRAIN_TIME.as_millis(), "requests still open at shutdown were cut off");
            Ok(())
        }
    }
}

/// A streamed answer leaves in several small writes; with Nagle's algorithm the second of them waits
/// for the client's delayed acknowledgement, some 40 ms with every call of `/mcp`.
fn send_at_once(stream: &mut TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        // The peer is gone already, or the answers are slow; neither is worth refusing it.
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
}
