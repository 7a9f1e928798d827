//! `github_repository_fetch`: fetches a repository into a new workspace.

use http::Method;
use mc_contract::operations::workspace::{CreateWorkspace, Workspace};
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use super::own::Nothing;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `github_repository_fetch`.
pub struct RepositoryFetch;

impl Definition for RepositoryFetch {
    const SPEC: Spec = Spec {
        name: super::FETCH,
        title: "Fetch a repository",
        description: "Fetches a git repository into a new workspace, whose files you then inspect \
                      and read, and indexes it. Give owner and name, or any git URL as location. \
                      The answer has the workspaceId at once; the files follow in some seconds.",
        toolsets: &[Toolset::Rag, Toolset::Coding],
        effect: Effect::Adds,
        route: Route::Call(Method::POST, "/workspaces"),
        names_project: true,
        handles: Handles::None,
        arguments: &[
            Argument::new("owner", ""),
            Argument::new("name", ""),
            Argument::new("ref", "Branch, tag or commit"),
            Argument::new("location", "URL"),
            Argument::new("depth", "shallow (default) or full: all commits"),
        ],
        fixed: None,
        output: &["workspaceId", "owner", "name", "ref", "commit", "state"],
    };
    type Request = CreateWorkspace;
    type Own = Nothing;
    type Response = Workspace;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::workspace)
    }
}
