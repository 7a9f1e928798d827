//! `coding_generate_patch` and the other tools of patches (seed 000).

use http::Method;
use mc_contract::Request;
use mc_contract::operations::page::Page;
use mc_contract::operations::patch::{
    GeneratePatch, Patch, PatchListItem, PatchPreview, PatchReview, PreviewPatch, ReviewPatch,
};
use mc_contract::{ProjectKey, number::PageLimit};
use mc_domain::{PatchId, PatchState, WorkspaceId};
use rmcp::model::{CallToolResult, JsonObject};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::own::{Nothing, OfPatchRun};
use super::responses::{budget_or, tool_response};
use super::spec::{Argument, Definition, Effect, Handles, Route, Spec};
use crate::core::CoreError;
use crate::render;
use crate::settings::Toolset;

/// Default token limit of the text: a diff of some hundred lines.
const BUDGET: usize = 8_000;

/// The tool `coding_generate_patch`.
pub struct GeneratePatchTool;

impl Definition for GeneratePatchTool {
    const SPEC: Spec = Spec {
        name: "coding_generate_patch",
        title: "Propose a patch",
        description: "Proposes changes of a workspace's files: the service's model writes them by \
                      your instructions, or you send them as diff. The patch is checked against \
                      the files and stored; no file is changed. If it takes long, the answer has \
                      runId: call again with it.",
        toolsets: &[Toolset::Coding],
        effect: Effect::Adds,
        route: Route::PatchRun("patches"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("workspaceId", "").required(),
            Argument::new("instructions", "What to change and why. Required without runId"),
            Argument::new("targetPaths", "Files or directories that may change"),
            Argument::new("forbiddenPaths", "Files or directories that may not"),
            Argument::new("contextFiles", "Files that the model reads"),
            Argument::new("diff", "Unified diff or search/replace blocks of your own"),
            Argument::new("useMemory", "Show the model what the team knows: default true"),
            Argument::new("useSearch", "Show it matches of a search: default true"),
            Argument::new("waitForIndex", ""),
            Argument::new("taskExternalId", "Such as CS-214"),
            Argument::new("language", "Of the summary, such as en"),
            Argument::own("runId", "Of a run that still works"),
            Argument::own("cancel", "Whether to end that run"),
            Argument::own("limit_tokens", "Default 8000"),
        ],
        fixed: None,
        output: &["patchId", "summary", "diff", "annotations", "usage", "createdAt"],
    };
    type Request = GeneratePatch;
    type Own = OfPatchRun;
    type Response = Patch;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let budget = budget_or(BUDGET, arguments);
        tool_response(response, |response| render::patch_run(response, budget))
    }
}

/// The tool `coding_review_patch`.
pub struct ReviewPatchTool;

impl Definition for ReviewPatchTool {
    const SPEC: Spec = Spec {
        name: "coding_review_patch",
        title: "Review a patch",
        description: "Reviews a proposed patch: risks, missing tests, migrations, code that no \
                      longer parses, and what the service's model finds. If it takes long, the \
                      answer has runId: call again with it.",
        toolsets: &[Toolset::Coding],
        effect: Effect::Adds,
        route: Route::PatchRun("patches/{patchId}/review"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("workspaceId", "").required(),
            Argument::own("patchId", "Required without runId"),
            Argument::new("focus", "risks, tests, migration; all by default"),
            Argument::own("runId", "Of a run that still works"),
            Argument::own("cancel", "Whether to end that run"),
        ],
        fixed: None,
        output: &["patchId", "status", "findings", "testingRecommendations", "nextSteps"],
    };
    type Request = ReviewPatch;
    type Own = OfPatchRun;
    type Response = PatchReview;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::patch_review)
    }
}

/// The tool `coding_apply_patch_preview`.
pub struct PreviewPatchTool;

impl Definition for PreviewPatchTool {
    const SPEC: Spec = Spec {
        name: "coding_apply_patch_preview",
        title: "Try a patch",
        description: "Applies a patch to a copy of the workspace and runs commands of your choice \
                      there; the workspace stays as it is. Only if the user asks for it. If it \
                      takes long, the answer has runId: call again with it.",
        toolsets: &[Toolset::Coding],
        effect: Effect::Adds,
        route: Route::PatchRun("patches/{patchId}/preview"),
        names_project: false,
        handles: Handles::None,
        arguments: &[
            Argument::own("workspaceId", "").required(),
            Argument::own("patchId", "Required without runId"),
            Argument::new("commands", "Such as cargo test; those that the policy allows"),
            Argument::new("dryRun", "Only true, the default"),
            Argument::new("timeout", "Of all commands: default PT10M"),
            Argument::own("runId", "Of a run that still works"),
            Argument::own("cancel", "Whether to end that run"),
            Argument::own("limit_tokens", "Default 8000"),
        ],
        fixed: None,
        output: &["patchId", "applied", "preview", "commands", "metrics", "completedAt"],
    };
    type Request = PreviewPatch;
    type Own = OfPatchRun;
    type Response = PatchPreview;

    fn result(arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        let budget = budget_or(BUDGET, arguments);
        tool_response(response, |response| render::patch_preview(response, budget))
    }
}

/// The tool `coding_list_patches`.
pub struct ListPatches;

/// Patches to list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "the types are the rules")]
pub struct PatchesOfProject {
    #[serde(rename = "project_key")]
    project_key: ProjectKey,
    workspace_id: Option<WorkspaceId>,
    state: Option<PatchState>,
    cursor: Option<PatchId>,
    limit: Option<PageLimit>,
}

impl Request for PatchesOfProject {}

impl Definition for ListPatches {
    const SPEC: Spec = Spec {
        name: "coding_list_patches",
        title: "List your patches",
        description: "Your patches that were proposed in the last day, newest first.",
        toolsets: &[Toolset::Coding],
        effect: Effect::Reads,
        route: Route::Call(Method::GET, "/patches"),
        names_project: true,
        handles: Handles::None,
        arguments: &[
            Argument::new("workspaceId", ""),
            Argument::new("state", ""),
            Argument::new("limit", "Default 50"),
            Argument::new("cursor", "next_cursor of the page before"),
        ],
        fixed: None,
        output: &["items"],
    };
    type Request = PatchesOfProject;
    type Own = Nothing;
    type Response = Page<PatchListItem>;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::patches)
    }
}

/// The tool `coding_discard_patch`.
pub struct DiscardPatch;

/// A patch to discard.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct PatchToDiscard {
    id: PatchId,
}

impl Request for PatchToDiscard {}

impl Definition for DiscardPatch {
    const SPEC: Spec = Spec {
        name: "coding_discard_patch",
        title: "Discard a patch",
        description: "Discards a patch, so that it can't be applied any more.",
        toolsets: &[Toolset::Coding],
        effect: Effect::Replaces,
        route: Route::Call(Method::DELETE, "/patches/{id}"),
        names_project: false,
        handles: Handles::None,
        arguments: &[Argument::new("id", "").with_name("patchId").required()],
        fixed: None,
        output: &["patchId", "state"],
    };
    type Request = PatchToDiscard;
    type Own = Nothing;
    type Response = Patch;

    fn result(_arguments: &JsonObject, response: Value) -> Result<CallToolResult, CoreError> {
        tool_response(response, render::patch_state)
    }
}
