//! `git_tool`: shows and changes the repository of a workspace.

use mc_contract::operations::workspace_tools::{GitRequest, ToolResponse};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::OfNavigation;
use super::responses::{TOOL_RESPONSE, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `git_tool`.
pub struct GitTool;

impl Definition for GitTool {
    const SPEC: Spec = Spec {
        name: "git_tool",
        title: "Use git",
        description: "Shows, stages, commits, stashes and restores changes below the locked \
                      directory, in the edit phase. Nothing is pushed.",
        toolsets: &[Toolset::Files],
        effect: Effect::Replaces,
        route: Route::Navigation("git"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("handle", ""),
            Argument::new("subcommand", "").required(),
            Argument::new("path", "One file, of blame and show"),
            Argument::new("paths", "Of status, diff, log, add and checkout"),
            Argument::new("revision", ""),
            Argument::new("to_revision", ""),
            Argument::new("staged", ""),
            Argument::new("summary", ""),
            Argument::new("max_count", ""),
            Argument::new("view_range", ""),
            Argument::new("message", ""),
            Argument::new("author_name", ""),
            Argument::new("author_email", ""),
            Argument::new("action", "Of stash: list, push, pop"),
        ],
        fixed: None,
        output: TOOL_RESPONSE,
    };
    type Request = GitRequest;
    type Own = OfNavigation;
    type Response = ToolResponse;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::tool_result)
    }
}
