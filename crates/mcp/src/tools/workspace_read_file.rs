//! `workspace_read_file`: lines of a file of a workspace.

use http::Method;
use mc_contract::Request;
use mc_contract::number::{LineNumber, ReadBytes};
use mc_contract::operations::workspace::WorkspaceFile;
use mc_contract::text::WorkspacePath;
use mc_domain::WorkspaceId;
use rmcp::model::{CallToolResult, JsonObject};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::own::Nothing;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `workspace_read_file`.
pub struct WorkspaceReadFile;

/// Lines of a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "the types are the rules")]
pub struct FileOfWorkspace {
    id: WorkspaceId,
    path: WorkspacePath,
    start_line: Option<LineNumber>,
    end_line: Option<LineNumber>,
    max_bytes: Option<ReadBytes>,
}

impl Request for FileOfWorkspace {}

impl Definition for WorkspaceReadFile {
    const SPEC: Spec = Spec {
        name: "workspace_read_file",
        title: "Read a file of a workspace",
        description: "Lines of a text file of a workspace, with their numbers. Secrets are masked.",
        toolsets: &[Toolset::Rag, Toolset::Coding],
        effect: Effect::Reads,
        route: Route::Call(Method::GET, "/workspaces/{id}/file"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::new("id", "").with_name("workspaceId").required(),
            Argument::new("path", "From the root of the workspace").required(),
            Argument::new("startLine", ""),
            Argument::new("endLine", ""),
            Argument::new("maxBytes", "Default 65536, up to 2000000"),
        ],
        fixed: None,
        output: &["workspaceId", "path", "content", "startLine", "endLine", "lines", "encoding"],
    };
    type Request = FileOfWorkspace;
    type Own = Nothing;
    type Response = WorkspaceFile;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::workspace_file)
    }
}
