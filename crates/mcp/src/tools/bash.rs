//! `bash`: runs a command in the sandbox, in the locked directory.

use mc_contract::operations::workspace_tools::{BashRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfCommand;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `bash`.
pub struct Bash;

impl Definition for Bash {
    const SPEC: Spec = Spec {
        name: super::BASH,
        title: "Run a command",
        description: "Runs a shell command in a new process in the locked directory, without \
                      a network, in the edit phase. If it runs long, the answer has \
                      command_id: call again with it to get the result.",
        toolsets: &[Toolset::Files],
        effect: Effect::Replaces,
        route: Route::Navigation("commands"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("handle", ""),
            Argument::new("command", ""),
            Argument::new("timeout_seconds", "Default 120, up to 600"),
            Argument::own("command_id", "Of a command that still runs"),
            Argument::own("cancel", "Whether to end that command"),
        ],
        fixed: None,
        output: &["handle"],
    };
    type Request = BashRequest;
    type Own = OfCommand;
    type Response = ToolResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::command)
    }
}
