//! `edit_tool`: views and edits text files below the locked directory.

use mc_contract::operations::workspace_tools::{EditRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfNavigation;
use super::responses::{TOOL_RESPONSE, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `edit_tool`.
pub struct EditTool;

impl Definition for EditTool {
    const SPEC: Spec = Spec {
        name: "edit_tool",
        title: "Edit a file",
        description: "Views and edits text files below the locked directory, in the edit \
                      phase. old_str must be in the file exactly once, as it is shown.",
        toolsets: &[Toolset::Files],
        effect: Effect::Replaces,
        route: Route::Navigation("edit"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("handle", ""),
            Argument::new("subcommand", "").required(),
            Argument::new("path", "Relative to the locked directory").required(),
            Argument::new("content", "Of create, write and insert"),
            Argument::new("old_str", ""),
            Argument::new("new_str", ""),
            Argument::new("insert_line", "After this line; 0 is the start"),
            Argument::new("view_range", "First and last line, -1 for the end"),
        ],
        fixed: None,
        output: TOOL_RESPONSE,
    };
    type Request = EditRequest;
    type Own = OfNavigation;
    type Response = ToolResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::tool_result)
    }
}
