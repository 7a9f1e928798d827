//! `navigator`: moves, lists, reads and searches in a workspace, and starts and ends the edit
//! phase.

use mc_contract::operations::workspace_tools::{NavigatorRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfWorkspace;
use super::responses::{TOOL_RESPONSE, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, SUBCOMMAND, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `navigator`.
pub struct Navigator;

impl Definition for Navigator {
    const SPEC: Spec = Spec {
        name: "navigator",
        title: "Navigate a workspace",
        description: "Reads a workspace: cd, pwd, ls, read, find, grep. lock_cwd starts the \
                      edit phase in the current directory, unlock ends it. Begin with \
                      workspaceId; the answer has the handle for the next calls.",
        toolsets: &[Toolset::Files],
        effect: Effect::Reads,
        route: Route::Navigation(Route::NAVIGATOR),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("handle", "From the first call"),
            Argument::own("workspaceId", "Starts at its root"),
            Argument::new("subcommand", "").required(),
            Argument::new("path", ""),
            Argument::new("view_range", "First and last line, -1 for the end"),
            Argument::new("pattern", "Of find a glob, of grep a regular expression"),
            Argument::new("literal", ""),
            Argument::new("ignore_case", ""),
            Argument::new("glob", "Files that grep reads"),
            Argument::new("max_results", ""),
        ],
        fixed: None,
        output: TOOL_RESPONSE,
    };
    type Request = NavigatorRequest;
    type Own = OfWorkspace;
    type Response = ToolResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        // The output of these is the instructions of the service.
        let is_phase = matches!(
            arguments.get(SUBCOMMAND).and_then(Value::as_str),
            Some("lock_cwd" | "unlock")
        );
        tool_response(response, if is_phase { render::phase } else { render::tool_result })
    }
}
