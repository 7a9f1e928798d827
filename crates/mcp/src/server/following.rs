//! Waiting for the end of an index run, with its progress.

use std::time::Duration;

use mc_contract::number::WaitSeconds;
use mc_domain::IngestStatus;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::time::Instant;

use super::errors::CallError;
use super::lookups::CoreCaller;
use crate::core::CoreCall;
use crate::progress::Watch;
use crate::tools::{self, Tool};

/// Interval between requests.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Sends a call. The one for the state of an index run is repeated while the run is open, as long
/// as its argument says. A client that receives no progress waits no longer than for a command.
pub(super) async fn send(
    caller: &CoreCaller<'_>,
    tool: &Tool,
    arguments: &JsonObject,
    call: CoreCall,
    watch: &Watch,
) -> Result<Value, CallError> {
    let end = Instant::now() + waiting_time(tool, arguments, watch);
    loop {
        let sent = caller.send(call.clone()).await;
        let response = sent.map_err(|error| tool.explain(error))?;
        if Instant::now() >= end || !is_open(&response) {
            return Ok(response);
        }
        let number = |field: &str| response[field].as_u64().unwrap_or_default();
        let (done, total) = (number("files_done"), number("files_total"));
        watch.report(format!("{done} of {total} files are checked"));
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn waiting_time(tool: &Tool, arguments: &JsonObject, watch: &Watch) -> Duration {
    let requested = arguments.get(tools::WAIT).filter(|_| tool.name() == tools::INDEX_STATUS);
    let seconds = requested.and_then(Value::as_u64).unwrap_or_default();
    let most = if watch.is_followed { u64::MAX } else { WaitSeconds::default().get() };
    Duration::from_secs(seconds.min(most))
}

fn is_open(run: &Value) -> bool {
    let open = [IngestStatus::Queued, IngestStatus::Running];
    open.iter().any(|status| run["status"] == status.as_str())
}
