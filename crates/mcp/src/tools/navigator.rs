//! `navigator`: moves, lists, reads and searches in a workspace, and starts and ends the edit
//! phase.

use mc_contract::operations::workspace_tools::{NavigatorRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfWorkspace;
use super::responses::{complete, object};
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
        output: &["handle", "output", "error", "error_code", "cwd", "phase"],
    };
    type Request = NavigatorRequest;
    type Own = OfWorkspace;
    type Response = ToolResponse;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let response = object(response)?;
        let subcommand = arguments.get(SUBCOMMAND).and_then(Value::as_str);
        let text = match subcommand {
            // Its output is the instructions of the service.
            Some("lock_cwd" | "unlock") => render::phase(&response),
            _ => render::tool_result(&response),
        };
        Ok(complete(vec![text], response))
    }
}
