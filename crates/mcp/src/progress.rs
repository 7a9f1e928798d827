//! Progress notifications of long calls. Most calls take milliseconds and send none.

use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};

/// Delay before the first notification, and interval between the next ones.
const PERIOD: Duration = Duration::from_secs(1);

/// Runs `call`, notifying a client that requested progress. `None` if the client cancelled.
pub async fn run<T>(
    tool: &'static str,
    context: &RequestContext<RoleServer>,
    call: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(call);
    let mut seconds = 0.0;
    loop {
        tokio::select! {
            outcome = &mut call => return Some(outcome),
            () = context.ct.cancelled() => return None,
            () = tokio::time::sleep(PERIOD) => {
                seconds += PERIOD.as_secs_f64();
                notify(tool, context, seconds).await;
            }
        }
    }
}

async fn notify(tool: &'static str, context: &RequestContext<RoleServer>, seconds: f64) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress = ProgressNotificationParam::new(token, seconds)
        .with_message(format!("{tool}: the service is at work ({seconds:.0} s)"));
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "notifying the client of progress failed");
    }
}
