//! Arguments of tools that this server uses itself: how much is shown, and the bundle of a handle.

use mc_contract::Request;
use mc_contract::number::{CommandSeconds, TextOffset};
use mc_domain::{BundleId, CommandId, NavigationId, PatchId, PatchRunId, WorkspaceId};
use serde::Deserialize;
use utoipa::ToSchema;

/// No own arguments.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Nothing {}

impl Request for Nothing {}

/// Bundle of the handles in a call.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfBundle {
    bundle_id: Option<BundleId>,
}

impl Request for OfBundle {}

/// Limits of the results.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfResults {
    /// Any number is valid: at least one result or line is shown.
    limit_tokens: Option<i64>,
}

impl Request for OfResults {}

/// Part of a text to show.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfText {
    section: Option<String>,
    offset: Option<TextOffset>,
    limit_tokens: Option<i64>,
    bundle_id: Option<BundleId>,
}

impl Request for OfText {}

/// How long the end of an index run is waited for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfRun {
    wait_seconds: Option<CommandSeconds>,
}

impl Request for OfRun {}

/// Navigation of a call.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfNavigation {
    handle: Option<NavigationId>,
}

impl Request for OfNavigation {}

/// Navigation of a call, or the workspace in which one starts.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfWorkspace {
    handle: Option<NavigationId>,
    workspace_id: Option<WorkspaceId>,
}

impl Request for OfWorkspace {}

/// Workspace of a patch run, and the run that a call follows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfPatchRun {
    workspace_id: WorkspaceId,
    patch_id: Option<PatchId>,
    run_id: Option<PatchRunId>,
    cancel: Option<bool>,
    /// Any number is valid: the rest of the text is shown in any case.
    #[serde(rename = "limit_tokens")]
    limit_tokens: Option<i64>,
}

impl Request for OfPatchRun {}

/// Navigation of a call, and the command that it waits for.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "the types are the rules")]
pub struct OfCommand {
    handle: Option<NavigationId>,
    command_id: Option<CommandId>,
    cancel: Option<bool>,
}

impl Request for OfCommand {}
