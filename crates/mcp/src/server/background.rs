//! Following of work that goes on in the background of the Core after a request.

use std::time::Duration;

use http::Method;
use mc_contract::number::WaitSeconds;
use mc_domain::CommandState;
use serde_json::Value;
use tokio::time::Instant;

use super::lookups::CoreCaller;
use crate::core::{CoreCall, CoreError};
use crate::progress::Watch;

/// Seconds that one request waits for the end of the work. Between them, progress is reported, and
/// a cancelled call ends its work.
const STEP_SECONDS: u64 = 2;

/// The work that a call starts or follows.
pub(super) struct Work<'a> {
    /// Field of a response with the id of the work.
    pub id: &'static str,
    /// The first request: it starts, follows or cancels the work.
    pub first: CoreCall,
    /// Whether the first request starts it.
    pub is_started_here: bool,
    /// Whether the client follows it as a task after the first response.
    pub may_be_task: bool,
    /// Path of the work with this id.
    pub path: &'a (dyn Fn(&str) -> String + Sync),
    /// What a response says about the progress.
    pub progress: fn(&Value) -> String,
}

/// How far some work was followed.
pub(super) struct Followed {
    /// The last response.
    pub response: Value,
    /// Why the work could not be followed longer.
    pub error: Option<CoreError>,
    /// Whether the client has cancelled the call while the work went on.
    pub is_cancelled: bool,
}

/// Returns the query of a request that waits for the end of the work.
pub(super) fn step() -> Vec<(&'static str, String)> {
    vec![("wait_seconds", STEP_SECONDS.to_string())]
}

/// Returns the request that follows the work at a path.
pub(super) fn follow_call(path: String) -> CoreCall {
    CoreCall::get(path, step())
}

/// Returns the request that cancels the work at a path.
pub(super) fn cancel_call(path: String) -> CoreCall {
    CoreCall { method: Method::DELETE, ..CoreCall::get(path, Vec::new()) }
}

/// Sends the first request, and follows the work until it has ended. A client that receives no
/// progress waits only some seconds. If the client cancels the call that has started the work, the
/// work is cancelled.
pub(super) async fn follow(
    caller: &CoreCaller<'_>,
    watch: &Watch,
    work: Work<'_>,
) -> Result<Followed, CoreError> {
    let Work { id, first, is_started_here, may_be_task, path, progress } = work;
    let end = (!may_be_task && !watch.is_followed)
        .then(|| Instant::now() + Duration::from_secs(WaitSeconds::default().get()));
    let mut response = caller.send(first).await?;
    // The states of all work have the same word.
    while response["state"] == CommandState::Running.as_str() {
        let Some(path) = response[id].as_str().map(path) else { break };
        if watch.cancel.is_cancelled() {
            if is_started_here {
                response = caller.send(cancel_call(path)).await?;
            }
            return Ok(Followed { response, error: None, is_cancelled: true });
        }
        if may_be_task || end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        watch.report(progress(&response));
        match caller.send(follow_call(path)).await {
            Ok(followed) => response = followed,
            Err(error) => {
                return Ok(Followed { response, error: Some(error), is_cancelled: false });
            }
        }
    }
    Ok(Followed { response, error: None, is_cancelled: false })
}
