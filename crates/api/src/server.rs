//! Serving until told to stop.

use std::io;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::limits::DRAIN_TIME;

/// Answers on `listener` until `shutdown` is cancelled; then takes no more connections and lets
/// open requests end, for [`DRAIN_TIME`] at most.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = axum::serve(listener, router)
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
