//! Tools that take long, as tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663).

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult,
    ErrorCode, JsonObject,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::{Value, json};

use crate::dialogs::form_request;

/// The tools.
pub const TOOLS: &[&str] =
    &["slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input"];
/// Tools that do not run without tasks.
const REQUIRED: &[&str] = &["failing_job", "protocol_error_job", "confirm_delete", "multi_input"];
/// Time after which a failing job fails.
const UNTIL_FAILURE: Duration = Duration::from_millis(500);

type Outcome = Result<CallToolResult, TaskExit>;

/// Returns the schema of the arguments of a tool.
pub fn schema(name: &str) -> Value {
    let properties = match name {
        "slow_compute" => json!({"seconds": {"type": "number"}, "label": {"type": "string"}}),
        "confirm_delete" => json!({"filename": {"type": "string"}}),
        _ => json!({}),
    };
    json!({"type": "object", "properties": properties})
}

/// Calls a tool, as a task if the client declares them.
pub async fn call(
    name: &str,
    arguments: JsonObject,
    tasks: &TaskManager,
    capabilities: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    if capabilities.supports_tasks() {
        let name = name.to_owned();
        return Ok(started(tasks, |task| Box::pin(run(name, arguments, task))));
    }
    if REQUIRED.contains(&name) {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    tokio::time::sleep(seconds(&arguments)).await;
    Ok(text("computed").into())
}

/// Starts a task whose result is a text.
pub fn start_with_text(tasks: &TaskManager, result: String) -> CallToolResponse {
    started(tasks, |_| Box::pin(async move { Ok(text(&result)) }))
}

fn started(
    tasks: &TaskManager,
    make: impl FnOnce(TaskContext) -> rmcp::task_manager::TaskFuture,
) -> CallToolResponse {
    CallToolResponse::Task(CreateTaskResult::new(tasks.spawn(TaskOptions::default(), make)))
}

async fn run(name: String, arguments: JsonObject, task: TaskContext) -> Outcome {
    match name.as_str() {
        "slow_compute" => tokio::select! {
            () = tokio::time::sleep(seconds(&arguments)) => Ok(text("computed")),
            () = task.cancelled() => Err(TaskExit::Cancelled),
        },
        "failing_job" => {
            tokio::time::sleep(UNTIL_FAILURE).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("The job failed.")]))
        }
        "protocol_error_job" => {
            tokio::time::sleep(UNTIL_FAILURE).await;
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the job broke", None);
            Err(TaskExit::Error(error))
        }
        "confirm_delete" => {
            let answer = task
                .request_input("confirm", form_request("Please confirm", "confirm", "boolean"))
                .await?;
            Ok(text(&format!("confirmed: {answer}")))
        }
        _ => {
            let (first, second) = tokio::join!(
                task.request_input("first", form_request("Please answer", "name", "string")),
                task.request_input("second", form_request("Please answer", "name", "string")),
            );
            Ok(text(&format!("answers: {} {}", first?, second?)))
        }
    }
}

fn seconds(arguments: &JsonObject) -> Duration {
    let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or_default();
    Duration::from_secs_f64(seconds.clamp(0.0, 600.0))
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
