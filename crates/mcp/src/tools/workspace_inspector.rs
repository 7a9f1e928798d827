//! `github_workspace_directory_inspector`: the tree of a workspace, and where to work in it.

use http::Method;
use mc_contract::Request;
use mc_contract::number::{InspectionDepth, PageLimit};
use mc_contract::operations::workspace::WorkspaceInspection;
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

/// The tool `github_workspace_directory_inspector`.
pub struct WorkspaceInspector;

/// A directory of a workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct DirectoryOfWorkspace {
    id: WorkspaceId,
    path: Option<WorkspacePath>,
    depth: Option<InspectionDepth>,
    limit: Option<PageLimit>,
}

impl Request for DirectoryOfWorkspace {}

impl Definition for WorkspaceInspector {
    const SPEC: Spec = Spec {
        name: "github_workspace_directory_inspector",
        title: "Inspect a workspace",
        description: "The tree of a workspace with sizes, its languages and build files, and \
                      projectPath: the directory where work on the project best starts.",
        toolsets: &[Toolset::Rag, Toolset::Coding],
        effect: Effect::Reads,
        route: Route::Call(Method::GET, "/workspaces/{id}/inspection"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::new("id", "").with_name("workspaceId").required(),
            Argument::new("path", "Directory, by default the root"),
            Argument::new("depth", "Levels, 1 to 10, default 2"),
            Argument::new("limit", "Entries, up to 200"),
        ],
        fixed: None,
        output: &["workspaceId", "path", "entries", "languages", "buildFiles", "projectPath"],
    };
    type Request = DirectoryOfWorkspace;
    type Own = Nothing;
    type Response = WorkspaceInspection;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::inspection)
    }
}
