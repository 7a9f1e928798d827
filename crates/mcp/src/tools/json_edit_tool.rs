//! `json_edit_tool`: views and edits values of JSON files below the locked directory.

use mc_contract::operations::workspace_tools::{JsonEditRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfNavigation;
use super::responses::{TOOL_RESPONSE, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `json_edit_tool`.
pub struct JsonEditTool;

impl Definition for JsonEditTool {
    const SPEC: Spec = Spec {
        name: "json_edit_tool",
        title: "Edit a JSON file",
        description: "Views, sets, adds and removes values of a JSON file by a JSONPath, in \
                      the edit phase. The rest of the file stays as it is.",
        toolsets: &[Toolset::Files],
        effect: Effect::Replaces,
        route: Route::Navigation("json-edit"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("handle", ""),
            Argument::new("subcommand", "").required(),
            Argument::new("path", "Relative to the locked directory").required(),
            Argument::new("json_path", "Such as $.scripts.test").required(),
            Argument::new("value", "Any JSON value"),
            Argument::new("key", "Of add to an object"),
            Argument::new("index", "Of add to an array"),
            Argument::new("all", "Whether all matches change"),
        ],
        fixed: None,
        output: TOOL_RESPONSE,
    };
    type Request = JsonEditRequest;
    type Own = OfNavigation;
    type Response = ToolResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::tool_result)
    }
}
