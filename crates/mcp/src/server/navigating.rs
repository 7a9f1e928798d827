//! Execution of the tools of a navigation (seed 003), and the navigation of a session.
//!
//! The service keeps the current directory and the phase under a handle. A client without a session
//! sends it with each call. In a session, the server remembers the handle and the phase of the last
//! call, so the handle may be left out, and the list of tools follows the phase.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mc_domain::{Classified as _, ErrorKind, NavigationPhase};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::background::{Followed, Work, cancel_call, follow, follow_call, step};
use super::errors::CallError;
use super::lookups::CoreCaller;
use crate::core::{CoreCall, CoreError};
use crate::progress::Watch;
use crate::tools::{FieldError, Tool};

/// Part of the path of commands.
const COMMANDS: &str = "commands";
/// Field of an error about the handle.
const HANDLE: &str = "handle";

/// The navigation of a session.
#[derive(Debug, Default)]
pub(super) struct SessionNavigation(Mutex<State>);

#[derive(Debug)]
struct State {
    handle: Option<String>,
    /// The workspace, if the navigation was started by its id.
    workspace: Option<String>,
    phase: NavigationPhase,
    phase_changes: u64,
}

impl Default for State {
    fn default() -> Self {
        let phase = NavigationPhase::Discovery;
        Self { handle: None, workspace: None, phase, phase_changes: 0 }
    }
}

impl SessionNavigation {
    /// Returns the phase after the last call.
    pub fn phase(&self) -> NavigationPhase {
        self.state().phase
    }

    /// Returns the handle of the last call, if it is of this workspace; `None`: of any.
    fn handle(&self, workspace: Option<&str>) -> Option<String> {
        let state = self.state();
        let is_meant = workspace.is_none() || state.workspace.as_deref() == workspace;
        state.handle.clone().filter(|_| is_meant)
    }

    /// Remembers the navigation that a call has started.
    fn start(&self, handle: &str, workspace: &str) {
        let (handle, workspace) = (Some(handle.to_owned()), Some(workspace.to_owned()));
        self.change(|state| *state = State { handle, workspace, ..State::default() });
    }

    /// Remembers the navigation of a response.
    fn update(&self, response: &Value) {
        let phase = response["phase"].as_str().and_then(|word| word.parse().ok());
        let (Some(handle), Some(phase)) = (response["handle"].as_str(), phase) else { return };
        self.change(|state| {
            if state.handle.as_deref() != Some(handle) {
                *state = State { handle: Some(handle.to_owned()), ..State::default() };
            }
            state.phase = phase;
        });
    }

    /// Forgets the navigation of this handle, which has ended.
    fn forget(&self, handle: &str) {
        self.change(|state| {
            if state.handle.as_deref() == Some(handle) {
                *state = State::default();
            }
        });
    }

    /// Changes the state, and counts a change of the phase.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        let (before, changes) = (state.phase, state.phase_changes);
        change(&mut state);
        state.phase_changes = changes + u64::from(state.phase != before);
    }

    /// Returns how often the phase has changed. A client is told of its new list of tools by the
    /// call after which this number is higher.
    pub fn phase_changes(&self) -> u64 {
        self.state().phase_changes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call of a tool of a navigation.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub tool: &'a Tool,
    /// Last part of the path of the request.
    pub part: &'static str,
    pub session: Option<&'a SessionNavigation>,
    pub watch: &'a Watch,
    /// Whether the client follows a long command as a task.
    pub may_be_task: bool,
}

/// Runs a tool of a navigation.
pub(super) async fn navigate(
    caller: &CoreCaller<'_>,
    call: Call<'_>,
    mut arguments: JsonObject,
) -> Result<CallToolResult, CallError> {
    let Call { tool, session, .. } = call;
    let command = arguments.get("command_id").and_then(Value::as_str).map(str::to_owned);
    // Checked before a navigation is started for it.
    let request = if command.is_none() { Some(tool.request(&arguments)?) } else { None };
    let request = Request {
        body: request,
        command,
        is_cancelled: arguments.get("cancel") == Some(&Value::Bool(true)),
    };
    let mut handle = self::handle(caller, &arguments, session).await?;
    let mut response = send(caller, call, &handle, &request).await;
    if let Err(error) = &response
        && has_ended(error)
        && let Some(session) = session
    {
        session.forget(&handle);
        // Another navigation of the workspace takes its place.
        if !arguments.contains_key(HANDLE) && arguments.contains_key("workspaceId") {
            handle = self::handle(caller, &arguments, Some(session)).await?;
            response = send(caller, call, &handle, &request).await;
        }
    }
    let response = response.map_err(|error| tool.explain(error))?;
    arguments.insert(HANDLE.into(), json!(handle));
    let response = flat(response, &handle);
    session.inspect(|session| session.update(&response));
    if call.watch.cancel.is_cancelled() {
        return Err(CallError::Cancelled);
    }
    Ok(tool.result(&arguments, response)?)
}

/// What a call asks of its navigation.
struct Request {
    /// The request of the tool; `None` to follow a command.
    body: Option<JsonObject>,
    command: Option<String>,
    is_cancelled: bool,
}

/// Returns whether an error says that there is no such navigation.
fn has_ended(error: &CoreError) -> bool {
    error.kind() == ErrorKind::NotFound && error.field().is_some_and(|field| field == HANDLE)
}

async fn send(
    caller: &CoreCaller<'_>,
    call: Call<'_>,
    handle: &str,
    request: &Request,
) -> Result<Value, CoreError> {
    let path = format!("/navigations/{handle}/{}", call.part);
    if call.part == COMMANDS {
        return run_command(caller, call, &path, request).await;
    }
    let body = request.body.clone().unwrap_or_default();
    caller.send(CoreCall::post(path, Value::Object(body))).await
}

/// Starts, follows or cancels a command, and returns how far it is. If the client cancels the call
/// that has started a command, the command is ended.
async fn run_command(
    caller: &CoreCaller<'_>,
    Call { watch, may_be_task, .. }: Call<'_>,
    path: &str,
    request: &Request,
) -> Result<Value, CoreError> {
    let path_of = |command: &str| format!("{path}/{command}");
    let command = request.command.as_deref().unwrap_or_default();
    let first = match &request.body {
        None if request.is_cancelled => {
            return caller.send(cancel_call(path_of(command))).await;
        }
        None => follow_call(path_of(command)),
        Some(body) => {
            let start = CoreCall::post(path.to_owned(), Value::Object(body.clone()));
            CoreCall { query: step(), ..start }
        }
    };
    let work = Work {
        id: "command_id",
        first,
        is_started_here: request.body.is_some(),
        may_be_task,
        path: &path_of,
        progress: output_so_far,
    };
    match follow(caller, watch, work).await? {
        // The command goes on, and its id is known.
        Followed { error: Some(error), .. } if error.kind() != ErrorKind::Unavailable => Err(error),
        Followed { response, .. } => Ok(response),
    }
}

/// Returns how much a command has written.
fn output_so_far(command: &Value) -> String {
    let bytes = |field: &str| command[field].as_u64().unwrap_or_default();
    let (stdout, stderr) = (bytes("stdout_bytes"), bytes("stderr_bytes"));
    format!("{stdout} bytes of output, {stderr} bytes of errors")
}

/// Returns the handle of a call: its own, or that of a navigation in its workspace, or that of the
/// session. A session has one navigation in a workspace, so that a repeated `workspaceId` does not
/// lose the current directory.
async fn handle(
    caller: &CoreCaller<'_>,
    arguments: &JsonObject,
    session: Option<&SessionNavigation>,
) -> Result<String, CallError> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    if let Some(handle) = argument(HANDLE) {
        return Ok(handle.to_owned());
    }
    let workspace = argument("workspaceId");
    if let Some(handle) = session.and_then(|session| session.handle(workspace)) {
        return Ok(handle);
    }
    let Some(workspace) = workspace else {
        let rule = "is required: call navigator with the workspaceId first, and send the handle \
                    of its result";
        return Err(FieldError::new(HANDLE, rule).into());
    };
    let call = CoreCall::post(format!("/workspaces/{workspace}/navigations"), Value::Null);
    let started = caller.send(call).await?;
    let handle = started[HANDLE].as_str().unwrap_or_default();
    session.inspect(|session| session.start(handle, workspace));
    Ok(handle.to_owned())
}

/// Returns a command that has ended as its result, and any response with the handle.
pub(super) fn flat(mut response: Value, handle: &str) -> Value {
    if response["result"].is_object() {
        let command = response["command_id"].take();
        response = response["result"].take();
        response["command_id"] = command;
    }
    response[HANDLE] = json!(handle);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_follows_the_phase_of_its_calls() {
        let session = SessionNavigation::default();
        session.update(&json!({"state": "running"}));
        assert!(session.handle(None).is_none());
        session.start("h", "w");
        session.update(&json!({"handle": "h", "phase": "discovery"}));
        assert_eq!(session.handle(None).as_deref(), Some("h"));
        session.update(&json!({"handle": "h", "phase": "edit"}));
        assert_eq!(session.phase(), NavigationPhase::Edit);
        assert_eq!(session.handle(Some("w")).as_deref(), Some("h"), "it continues");
        assert_eq!(session.handle(Some("another")), None);
        session.update(&json!({"handle": "other", "phase": "discovery"}));
        assert_eq!(session.phase(), NavigationPhase::Discovery);
        assert_eq!(session.handle(Some("w")), None, "it is of an unknown workspace");
    }

    #[test]
    fn ended_command_is_its_result() {
        let ended = json!({"command_id": "c", "state": "completed", "result": {"output": "x"}});
        assert_eq!(flat(ended, "h"), json!({"output": "x", "command_id": "c", "handle": "h"}));
        let running = flat(json!({"command_id": "c", "state": "running"}), "h");
        assert_eq!(running["handle"], "h");
    }
}
