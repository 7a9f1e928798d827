//! Execution of the tools of a navigation (seed 003), and the navigation of a session.
//!
//! The service keeps the current directory and the phase under a handle. A client without a session
//! sends it with each call. In a session, the server remembers the handle and the phase of the last
//! call, so the handle may be left out, and the list of tools follows the phase.

use std::sync::{Mutex, PoisonError};

use http::Method;
use mc_domain::NavigationPhase;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::errors::CallError;
use super::lookups::CoreCaller;
use crate::core::CoreCall;
use crate::tools::{FieldError, Tool};

/// Part of the path of commands.
const COMMANDS: &str = "commands";
/// Seconds after which a command becomes a task.
const BRIEFLY: u64 = 2;

/// The navigation of a session.
#[derive(Debug, Default)]
pub(super) struct SessionNavigation(Mutex<State>);

#[derive(Debug)]
struct State {
    handle: Option<String>,
    phase: NavigationPhase,
}

impl Default for State {
    fn default() -> Self {
        Self { handle: None, phase: NavigationPhase::Discovery }
    }
}

impl SessionNavigation {
    /// Returns the phase after the last call.
    pub fn phase(&self) -> NavigationPhase {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).phase
    }

    fn handle(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).handle.clone()
    }

    /// Remembers the navigation of a response. Returns whether the phase has changed.
    fn update(&self, response: &Value) -> bool {
        let phase = response["phase"].as_str().and_then(|word| word.parse().ok());
        let (Some(handle), Some(phase)) = (response["handle"].as_str(), phase) else {
            return false;
        };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.handle = Some(handle.to_owned());
        std::mem::replace(&mut state.phase, phase) != phase
    }
}

/// How long a call waits for the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The client follows the rest as a task.
    Briefly,
    /// As long as the service waits.
    ForResponse,
    /// The client follows the progress of the call.
    ForEnd,
}

/// The result of a call, and whether it has changed the phase of its session.
pub(super) struct Navigated {
    pub result: CallToolResult,
    pub has_changed_phase: bool,
}

/// Runs a tool of a navigation, whose request is sent to this `part` of its path.
pub(super) async fn navigate(
    caller: &CoreCaller<'_>,
    tool: &Tool,
    part: &str,
    mut arguments: JsonObject,
    session: Option<&SessionNavigation>,
    waiting: Waiting,
) -> Result<Navigated, CallError> {
    let command = arguments.get("command_id").and_then(Value::as_str).map(str::to_owned);
    let is_cancelled = arguments.get("cancel") == Some(&Value::Bool(true));
    // Checked before a navigation is started for it.
    let request = if command.is_none() { Some(tool.request(&arguments)?) } else { None };
    let handle = handle(caller, &arguments, session).await?;
    arguments.insert("handle".into(), json!(handle));
    let path = format!("/navigations/{handle}/{part}");
    let mut call = match (request, command) {
        (Some(request), _) => CoreCall::post(path.clone(), Value::Object(request)),
        (None, command) => {
            let path = format!("{path}/{}", command.unwrap_or_default());
            let method = if is_cancelled { Method::DELETE } else { Method::GET };
            CoreCall { method, ..CoreCall::get(path, vec![]) }
        }
    };
    if waiting == Waiting::Briefly && part == COMMANDS && call.method != Method::DELETE {
        call.query.push(("wait_seconds", BRIEFLY.to_string()));
    }
    let mut response = caller.send(call).await.map_err(|error| tool.explain(error))?;
    while waiting == Waiting::ForEnd && response["state"] == "running" {
        let Some(command) = response["command_id"].as_str() else { break };
        let call = CoreCall::get(format!("{path}/{command}"), vec![]);
        response = caller.send(call).await.map_err(|error| tool.explain(error))?;
    }
    let response = flat(response, &handle);
    let has_changed_phase = session.is_some_and(|session| session.update(&response));
    Ok(Navigated { result: tool.result(&arguments, response)?, has_changed_phase })
}

/// Returns the handle of a call: its own, or that of a new navigation in its workspace, or that of
/// the session.
async fn handle(
    caller: &CoreCaller<'_>,
    arguments: &JsonObject,
    session: Option<&SessionNavigation>,
) -> Result<String, CallError> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    if let Some(handle) = argument("handle") {
        return Ok(handle.to_owned());
    }
    if let Some(workspace) = argument("workspaceId") {
        let call = CoreCall::post(format!("/workspaces/{workspace}/navigations"), Value::Null);
        let started = caller.send(call).await?;
        return Ok(started["handle"].as_str().unwrap_or_default().to_owned());
    }
    session.and_then(SessionNavigation::handle).ok_or_else(|| {
        let rule = "is required: call navigator with the workspaceId first, and send the handle \
                    of its answer";
        FieldError::new("handle", rule).into()
    })
}

/// Returns a command that has ended as its result, and any response with the handle.
pub(super) fn flat(mut response: Value, handle: &str) -> Value {
    if response["result"].is_object() {
        let command = response["command_id"].take();
        response = response["result"].take();
        response["command_id"] = command;
    }
    response["handle"] = json!(handle);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_follows_the_phase_of_its_calls() {
        let session = SessionNavigation::default();
        assert!(!session.update(&json!({"state": "running"})) && session.handle().is_none());
        assert!(!session.update(&json!({"handle": "h", "phase": "discovery"})));
        assert_eq!(session.handle().as_deref(), Some("h"));
        assert!(session.update(&json!({"handle": "h", "phase": "edit"})));
        assert_eq!(session.phase(), NavigationPhase::Edit);
        assert!(!session.update(&json!({"handle": "other", "phase": "edit"})));
        assert!(session.update(&json!({"handle": "other", "phase": "discovery"})));
    }

    #[test]
    fn ended_command_is_its_result() {
        let ended = json!({"command_id": "c", "state": "completed", "result": {"output": "x"}});
        assert_eq!(flat(ended, "h"), json!({"output": "x", "command_id": "c", "handle": "h"}));
        let running = flat(json!({"command_id": "c", "state": "running"}), "h");
        assert_eq!(running["handle"], "h");
    }
}
