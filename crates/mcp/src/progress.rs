//! Progress notifications of long calls. Most calls take milliseconds and send none.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

/// Delay before the first notification, and interval between the next ones.
const PERIOD: Duration = Duration::from_secs(1);

/// How the client of a call waits for its result.
#[derive(Debug)]
pub struct Watch {
    /// Whether it waits as long as the call takes: it receives progress, or is a person.
    pub is_followed: bool,
    /// Whether it has cancelled the call.
    pub cancel: CancellationToken,
    report: Mutex<String>,
}

impl Watch {
    /// Returns how the client of a request waits.
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        let is_followed = context.meta.get_progress_token().is_some();
        Self { is_followed, cancel: context.ct.clone(), report: Mutex::default() }
    }

    /// Returns how a person at a terminal waits.
    pub fn of_person() -> Self {
        Self { is_followed: true, cancel: CancellationToken::new(), report: Mutex::default() }
    }

    /// Sets what the next notifications say: constants and numbers only.
    pub fn report(&self, report: String) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    fn reported(&self) -> String {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs `call`, notifying a client that requested progress. `None` if the client cancelled.
pub async fn run<T>(
    tool: &'static str,
    context: &RequestContext<RoleServer>,
    watch: &Watch,
    call: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        outcome = run_to_end(tool, context, watch, call) => Some(outcome),
        () = watch.cancel.cancelled() => None,
    }
}

/// Runs `call`, which itself ends if the client cancels, notifying a client that requested
/// progress.
pub async fn run_to_end<T>(
    tool: &'static str,
    context: &RequestContext<RoleServer>,
    watch: &Watch,
    call: impl Future<Output = T>,
) -> T {
    tokio::pin!(call);
    let mut seconds = 0.0;
    loop {
        tokio::select! {
            outcome = &mut call => return outcome,
            () = tokio::time::sleep(PERIOD) => {
                seconds += PERIOD.as_secs_f64();
                notify(tool, context, watch, seconds).await;
            }
        }
    }
}

async fn notify(
    tool: &'static str,
    context: &RequestContext<RoleServer>,
    watch: &Watch,
    seconds: f64,
) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let report = watch.reported();
    let report = if report.is_empty() { "the service is at work" } else { &report };
    let progress = ProgressNotificationParam::new(token, seconds)
        .with_message(format!("{tool}: {report} ({seconds:.0} s)"));
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "notifying the client of progress failed");
    }
}
