//! Execution of tools that work on a patch in the background of a node.

use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::background::{Work, cancel_call, follow, follow_call, step};
use super::errors::CallError;
use super::lookups::CoreCaller;
use crate::core::CoreCall;
use crate::progress::Watch;
use crate::tools::{FieldError, Tool};

/// Placeholder of a path for the id of a patch.
const PATCH: &str = "{patchId}";
/// Longest description of what a run does, in characters.
const STAGE: usize = 60;

/// Starts, follows or cancels a patch run. If the client cancels the call that has started a run,
/// the run is cancelled.
pub(super) async fn work(
    caller: &CoreCaller<'_>,
    tool: &Tool,
    path: &'static str,
    arguments: &JsonObject,
    watch: &Watch,
) -> Result<CallToolResult, CallError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let workspace = text("workspaceId").unwrap_or_default();
    let path_of = |run: &str| format!("/workspaces/{workspace}/patch-runs/{run}");
    let first = match text("runId") {
        Some(run) if arguments.get("cancel") == Some(&json!(true)) => cancel_call(path_of(run)),
        Some(run) => follow_call(path_of(run)),
        None => {
            let request = Value::Object(tool.request(arguments)?);
            let id = text("patchId");
            if path.contains(PATCH) && id.is_none() {
                let rule = "is required without runId: send the id of a proposed patch";
                return Err(FieldError::new("patchId", rule).into());
            }
            let path = path.replace(PATCH, id.unwrap_or_default());
            let start = CoreCall::post(format!("/workspaces/{workspace}/{path}"), request);
            CoreCall { query: step(), ..start }
        }
    };
    let work = Work {
        id: "runId",
        first,
        is_started_here: text("runId").is_none(),
        may_be_task: false,
        path: &path_of,
        progress: stage,
    };
    let followed = follow(caller, watch, work).await.map_err(|error| tool.explain(error))?;
    if followed.is_cancelled {
        return Err(CallError::Cancelled);
    }
    match followed.error {
        Some(error) => Err(error.into()),
        None => Ok(tool.result(arguments, flat(followed.response))?),
    }
}

/// Returns what the run does, in plain words.
fn stage(response: &Value) -> String {
    let stage = response["stage"].as_str().unwrap_or_default().chars();
    stage.filter(|c| c.is_ascii_lowercase() || *c == ' ').take(STAGE).collect()
}

/// Returns a run that has ended as its result.
fn flat(mut response: Value) -> Value {
    let results = ["patch", "review", "preview"];
    if let Some(result) = results.into_iter().find(|name| response[*name].is_object()) {
        let run = response["runId"].take();
        response = response[result].take();
        response["runId"] = run;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_run_is_its_patch() {
        let ended = json!({"runId": "r", "state": "completed", "patch": {"patchId": "p"}});
        assert_eq!(flat(ended), json!({"patchId": "p", "runId": "r"}));
        let tried = json!({"runId": "r", "preview": {"patchId": "p", "preview": {}}});
        assert_eq!(flat(tried), json!({"patchId": "p", "preview": {}, "runId": "r"}));
        let running = json!({"runId": "r", "state": "running"});
        assert_eq!(flat(running.clone()), running);
        assert_eq!(stage(&json!({"stage": "asking\n\u{1b}[31m the model"})), "askingm the model");
    }
}
