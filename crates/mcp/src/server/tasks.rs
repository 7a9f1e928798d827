//! Calls that take long, as tasks of the protocol (extension `io.modelcontextprotocol/tasks`,
//! SEP-2663), for clients that declare it.
//!
//! The server stores no task. The id of a task names an object of the Core: a workspace that is
//! fetched, or a command of a navigation. So any server of any node can be asked, and the Core
//! decides who may ask.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use http::Method;
use mc_domain::{
    Classified as _, CommandId, CommandState, ErrorKind, NavigationId, UntrustedText, WorkspaceId,
    WorkspaceState,
};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::errors::{CallError, protocol_error};
use super::lookups::CoreCaller;
use super::navigating::flat;
use crate::core::{CoreCall, CoreError};
use crate::render::{ModelText, failure};
use crate::tools::{self, Tool};

/// Milliseconds after which a client should ask again.
const POLL_INTERVAL_MS: u64 = 1_000;
/// Maximum length of an unknown id in the message about it, in characters.
const MAX_ID: usize = 120;
/// Milliseconds for which the service keeps the result of a command.
const COMMAND_TTL_MS: u64 = 30 * 60 * 1_000;

/// The subject of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskId {
    /// The fetch of a workspace.
    Fetch(WorkspaceId),
    /// A command.
    Command(NavigationId, CommandId),
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(workspace) => write!(f, "fetch.{workspace}"),
            Self::Command(navigation, command) => write!(f, "command.{navigation}.{command}"),
        }
    }
}

impl FromStr for TaskId {
    type Err = ErrorData;

    fn from_str(id: &str) -> Result<Self, ErrorData> {
        let parts: Vec<&str> = id.split('.').collect();
        let parsed = match parts.as_slice() {
            ["fetch", workspace] => workspace.parse().ok().map(Self::Fetch),
            ["command", navigation, command] => navigation
                .parse()
                .ok()
                .zip(command.parse().ok())
                .map(|(navigation, command)| Self::Command(navigation, command)),
            _ => None,
        };
        parsed.ok_or_else(|| {
            let mut message = ModelText::from_constant("there is no task \"");
            message.add_untrusted(&UntrustedText::new(id), MAX_ID).add("\"; call the tool again");
            message.into_invalid_params()
        })
    }
}

impl TaskId {
    /// Returns the id of the task if the work continues after this response of a tool.
    fn of_unfinished(tool: &Tool, response: &Value) -> Option<Self> {
        let id = |field: &str| response[field].as_str();
        match tool.name() {
            name if name == tools::FETCH && is_fetching(response) => {
                id("workspaceId")?.parse().ok().map(Self::Fetch)
            }
            name if name == tools::BASH && response["state"] == CommandState::Running.as_str() => {
                let (navigation, command) = (id("handle")?.parse(), id("command_id")?.parse());
                Some(Self::Command(navigation.ok()?, command.ok()?))
            }
            _ => None,
        }
    }

    fn tool(self) -> &'static Tool {
        let name = match self {
            Self::Fetch(_) => tools::FETCH,
            Self::Command(..) => tools::BASH,
        };
        tools::from_name(name).expect("the tool is in the list")
    }

    fn path(self) -> String {
        match self {
            Self::Fetch(workspace) => format!("/workspaces/{workspace}"),
            Self::Command(navigation, command) => {
                format!("/navigations/{navigation}/commands/{command}")
            }
        }
    }

    /// Returns the call for its present state, which responds at once.
    fn state_call(self) -> CoreCall {
        let query = match self {
            Self::Fetch(_) => Vec::new(),
            Self::Command(..) => vec![("wait_seconds", "0".to_owned())],
        };
        CoreCall::get(self.path(), query)
    }

    /// Returns the task in the state of a response.
    fn task(self, response: &Value) -> Task {
        let time = |field: &str| {
            response[field].as_str().and_then(|time| time.parse::<DateTime<Utc>>().ok())
        };
        let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let started = time("createdAt").or_else(|| time("started_at")).unwrap_or_else(Utc::now);
        let updated = time("fetchedAt").or_else(|| time("fetchStartedAt"));
        let updated = updated.unwrap_or(started);
        let mut task =
            Task::new(self.to_string(), TaskStatus::Working, text(started), text(updated))
                .with_poll_interval_ms(POLL_INTERVAL_MS);
        let lifetime = time("expiresAt").map(|end| end - started);
        let lifetime = lifetime.and_then(|lifetime| lifetime.num_milliseconds().try_into().ok());
        match self {
            Self::Fetch(_) => {
                task.ttl_ms = lifetime;
                task.status_message = response["state"].as_str().map(str::to_owned);
            }
            Self::Command(..) => task.ttl_ms = Some(COMMAND_TTL_MS),
        }
        task
    }

    /// Returns the task of a command that could not run; `None` if the error is one of the request.
    fn failed(self, error: &CoreError) -> Option<DetailedTask> {
        let is_of_command = matches!(self, Self::Command(..))
            && matches!(error, CoreError::Refused { .. })
            && matches!(
                error.kind(),
                ErrorKind::Invalid | ErrorKind::Conflict | ErrorKind::Internal
            );
        let error = is_of_command.then(|| json!(protocol_error(error, None)))?;
        let Value::Object(error) = error else { return None };
        Some(DetailedTask::new(self.task(&Value::Null), TaskPayload::Failed { error }))
    }

    /// Returns the task with the result of the tool if it has ended.
    fn detailed(self, response: Value) -> Result<DetailedTask, CallError> {
        let task = self.task(&response);
        let (is_unfinished, is_cancelled, is_error) = match self {
            Self::Fetch(_) => (
                is_fetching(&response),
                false,
                response["state"] == WorkspaceState::Failed.as_str(),
            ),
            Self::Command(..) => {
                let is_cancelled = response["state"] == CommandState::Cancelled.as_str();
                (response["state"] == CommandState::Running.as_str(), is_cancelled, false)
            }
        };
        let payload = if is_unfinished {
            TaskPayload::Working
        } else if is_cancelled {
            TaskPayload::Cancelled
        } else {
            let response = match self {
                Self::Fetch(_) => response,
                Self::Command(navigation, _) => flat(response, &navigation.to_string()),
            };
            let mut result = self.tool().result(&JsonObject::new(), response)?;
            if is_error {
                result.is_error = Some(true);
            }
            TaskPayload::Completed { result: as_object(&result) }
        };
        Ok(DetailedTask::new(task, payload))
    }
}

/// Returns whether a workspace is not fetched yet.
fn is_fetching(workspace: &Value) -> bool {
    WorkspaceState::UNFETCHED.iter().any(|state| workspace["state"] == state.as_str())
}

fn as_object(result: &CallToolResult) -> JsonObject {
    match json!(result) {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Returns whether the client declares tasks.
pub(super) fn are_declared(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Returns whether the work of a tool may continue after the call returns.
pub(super) fn may_take_long(tool: &Tool) -> bool {
    [tools::FETCH, tools::BASH].contains(&tool.name())
}

/// Returns the task of a call whose work continues after this result; `None` if it has ended.
pub(super) fn started(tool: &Tool, result: &CallToolResult) -> Option<CreateTaskResult> {
    let response = result.structured_content.as_ref()?;
    let id = TaskId::of_unfinished(tool, response)?;
    Some(CreateTaskResult::new(id.task(response)))
}

/// Returns the state of a task.
pub(super) async fn get(caller: &CoreCaller<'_>, id: &str) -> Result<DetailedTask, ErrorData> {
    state(caller, id.parse()?).await
}

async fn state(caller: &CoreCaller<'_>, id: TaskId) -> Result<DetailedTask, ErrorData> {
    let response = match caller.send(id.state_call()).await {
        Ok(response) => response,
        Err(error) => return id.failed(&error).ok_or_else(|| protocol_error(&error, None)),
    };
    id.detailed(response).map_err(|error| {
        failure(ModelText::default(), &error.message(), None).into_internal_error()
    })
}

/// Cancels a task: a command ends, and a workspace that is not fetched yet is deleted. A task that
/// has ended stays as it is.
pub(super) async fn cancel(caller: &CoreCaller<'_>, id: &str) -> Result<(), ErrorData> {
    let id: TaskId = id.parse()?;
    if state(caller, id).await?.status().is_terminal() {
        return Ok(());
    }
    let query = match id {
        // It may be fetched meanwhile, and then it is kept.
        TaskId::Fetch(_) => vec![("unless_fetched", "true".to_owned())],
        TaskId::Command(..) => Vec::new(),
    };
    let call = CoreCall { method: Method::DELETE, ..CoreCall::get(id.path(), query) };
    caller.send(call).await.map(|_| ()).map_err(|error| protocol_error(&error, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019a0000-0000-7000-8000-000000000021";

    fn fetched(state: &str) -> Value {
        json!({
            "workspaceId": ID, "owner": "acme", "name": "shop", "ref": "main", "commit": "",
            "state": state, "createdAt": "2026-11-20T10:00:00Z",
            "fetchStartedAt": "2026-11-20T10:00:01Z", "expiresAt": "2026-11-20T11:00:00Z",
        })
    }

    fn task_status(id: TaskId, response: Value) -> TaskStatus {
        id.detailed(response).expect("a task").status()
    }

    #[test]
    fn id_is_read_as_it_was_written() {
        let (navigation, command) = (NavigationId::generate(), CommandId::generate());
        let workspace = WorkspaceId::generate();
        for id in [TaskId::Fetch(workspace), TaskId::Command(navigation, command)] {
            assert_eq!(id.to_string().parse::<TaskId>().expect("its id"), id);
        }
        for id in ["", "fetch", "fetch.x", "command.x", "job.1", &format!("fetch.{ID}.{ID}")] {
            let error = id.parse::<TaskId>().expect_err("no id");
            assert_eq!(error.code, rmcp::model::ErrorCode::INVALID_PARAMS, "{id}");
        }
    }

    #[test]
    fn fetch_is_a_task_until_it_ends() {
        let tool = tools::from_name(tools::FETCH).expect("the tool");
        let result = |state| tool.result(&JsonObject::new(), fetched(state)).expect("a result");
        let task = started(tool, &result("queued")).expect("a task").task;
        assert_eq!(task.task_id, format!("fetch.{ID}"));
        assert_eq!((task.status, task.ttl_ms), (TaskStatus::Working, Some(3_600_000)));
        assert_eq!(task.created_at, "2026-11-20T10:00:00.000Z");
        assert!(started(tool, &result("ready")).is_none());
        let id: TaskId = task.task_id.parse().expect("its id");
        for (state, status, is_error) in [
            ("fetching", TaskStatus::Working, None),
            ("ready", TaskStatus::Completed, Some(false)),
            ("failed", TaskStatus::Completed, Some(true)),
        ] {
            let task = id.detailed(fetched(state)).expect("a task");
            assert_eq!(task.status(), status, "{state}");
            let TaskPayload::Completed { result } = task.payload else { continue };
            let has_error = result.get("isError").and_then(Value::as_bool);
            assert_eq!(has_error.or(Some(false)), is_error, "{state}");
            assert_eq!(result["structuredContent"]["workspaceId"], ID);
        }
    }

    #[test]
    fn command_is_a_task_while_it_runs() {
        let tool = tools::from_name(tools::BASH).expect("the tool");
        let running = json!({
            "handle": ID, "command_id": ID, "state": "running",
            "started_at": "2026-11-20T10:00:00Z", "stdout_bytes": 0, "stderr_bytes": 0,
        });
        let result = tool.result(&JsonObject::new(), running).expect("a result");
        let task = started(tool, &result).expect("a task").task;
        let id: TaskId = task.task_id.parse().expect("its id");
        let ended = |state: &str, error_code: i64| {
            json!({
                "command_id": ID, "state": state, "started_at": "2026-11-20T10:00:00Z",
                "stdout_bytes": 3, "stderr_bytes": 0,
                "result": {
                    "output": "one", "error": "", "error_code": error_code, "cwd": "/workspace",
                    "phase": "edit", "is_truncated": false, "notes": [],
                },
            })
        };
        assert_eq!(task_status(id, ended("cancelled", 130)), TaskStatus::Cancelled);
        assert_eq!(task_status(id, ended("completed", 130)), TaskStatus::Completed);
        let task = id.detailed(ended("completed", 1)).expect("a task");
        let TaskPayload::Completed { result } = task.payload else { panic!("it has ended") };
        assert_eq!(result["structuredContent"]["error_code"], 1);
        assert_eq!(result["structuredContent"]["handle"], ID);
    }
}
