//! `repo_rag_index_status`: the newest index run of a repository.

use http::Method;
use mc_contract::operations::ingest::IngestRun;
use mc_contract::text::RepositoryPart;
use mc_contract::{ProjectKey, Request};
use rmcp::model::{CallToolResult, JsonObject};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::own::OfRun;
use super::responses::tool_response;
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// The tool `repo_rag_index_status`.
pub struct RagIndexStatus;

/// The repository, in its project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct IndexOfRepository {
    project_key: ProjectKey,
    owner: RepositoryPart,
    name: RepositoryPart,
}

impl Request for IndexOfRepository {}

impl Definition for RagIndexStatus {
    const SPEC: Spec = Spec {
        name: super::INDEX_STATUS,
        title: "Progress of an index run",
        description: "Whether a repository can be searched: the newest index run, its progress, \
                      attempts, remaining time and last error. Can wait for its end.",
        toolsets: &[Toolset::Rag],
        effect: Effect::Reads,
        route: Route::Call(Method::GET, "/repos/{owner}/{name}/index"),
        names_project: true,
        handles: Handles::Ids,
        arguments: &[
            Argument::new("owner", "").with_name("repoOwner").required(),
            Argument::new("name", "").with_name("repoName").required(),
            Argument::own(super::WAIT, "Up to 600; 18 without progress"),
        ],
        fixed: None,
        output: &[
            "status",
            "is_ready",
            "attempt",
            "max_attempts",
            "files_total",
            "files_done",
            "eta_seconds",
            "last_error",
            "fetchStartedAt",
            "earlier_runs",
            "source_ref",
        ],
    };
    type Request = IndexOfRepository;
    type Own = OfRun;
    type Response = IngestRun;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::index_run)
    }
}
