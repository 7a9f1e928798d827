//! `/patches`: changes of a workspace's files that were proposed, and the work on them.
//!
//! The names are those of seed 000 (`coding.generate_patch` and its companions).

use chrono::{DateTime, Utc};
use mc_domain::{
    BundleId, FindingKind, PatchId, PatchRunId, PatchRunKind, PatchRunState, PatchState,
    ReviewFocus, ReviewStatus, Severity, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::list::{CommandLines, WorkspacePaths, limited};
use crate::number::{ContextBytes, PageLimit, WaitSeconds};
use crate::text::{DiffText, FreeText, IssueId, ShortText, WorkspacePath};
use crate::{CommandTime, ProjectKey, Request, ValidationError};

/// Most files of `contextFiles`.
const CONTEXT_FILES: usize = 50;
/// Most bytes of all files of `contextFiles`.
const CONTEXT_BYTES: usize = 2_000_000;

/// A patch to propose.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({
    "instructions": "Retry the delivery when the carrier answers 503.",
    "targetPaths": ["app/delivery"], "contextFiles": [{"path": "app/delivery/carrier.rb"}]
}))]
pub struct GeneratePatch {
    /// What to change, and why.
    pub instructions: FreeText,
    /// Files and directories that the patch may change; all when empty.
    #[serde(default)]
    pub target_paths: WorkspacePaths,
    /// Files and directories that it may not change, in addition to those of the service.
    #[serde(default)]
    pub forbidden_paths: WorkspacePaths,
    /// Files that the model is shown, the most important first: at most 50, and 2,000,000 bytes of
    /// all. By default the files of `targetPaths`.
    #[serde(default, deserialize_with = "limited::<CONTEXT_FILES, _, _>")]
    #[schema(max_items = 50)]
    pub context_files: Vec<ContextFile>,
    /// The patch itself, a unified diff or search/replace blocks. With it, no model is asked.
    pub diff: Option<DiffText>,
    /// Whether the model is shown what the team knows; true by default.
    pub use_memory: Option<bool>,
    /// Whether the model is shown matches of a repository search; true by default.
    pub use_search: Option<bool>,
    /// Whether to wait for the index of the repository first. False by default: what is indexed is
    /// searched.
    #[serde(default)]
    pub wait_for_index: bool,
    /// The tracker's id of the task.
    pub task_external_id: Option<IssueId>,
    /// Language of the summary, such as `en`; by default that of the configuration, else that of
    /// the instructions.
    pub language: Option<ShortText>,
}

impl Request for GeneratePatch {
    fn check(&self) -> Result<(), ValidationError> {
        let bytes = |file: &ContextFile| file.max_bytes.unwrap_or_default().get();
        if self.context_files.iter().map(bytes).sum::<usize>() > CONTEXT_BYTES {
            let rule = "has more than 2,000,000 bytes in all; name fewer files, or lower maxBytes";
            return Err(ValidationError::new("contextFiles", rule));
        }
        Ok(())
    }
}

/// A file that the model is shown.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ContextFile {
    /// A file, from the root of the workspace.
    pub path: WorkspacePath,
    /// Bytes of its start that are shown, 1 to 2,000,000; 16,384 by default.
    pub max_bytes: Option<ContextBytes>,
}

path! {
    /// A patch, in a path.
    PatchPathParams {
        /// The patch's id.
        id: PatchId,
    }
}

path! {
    /// A patch run of a workspace, in a path.
    PatchRunPathParams {
        /// The workspace's id.
        id: WorkspaceId,
        /// The patch run's id.
        run_id: PatchRunId,
    }
}

/// How long to wait for the end of a patch run.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PatchRunQuery {
    /// Seconds to wait for the end, 0 to 18; 18 by default.
    #[param(inline)]
    pub wait_seconds: Option<WaitSeconds>,
}

impl Request for PatchRunQuery {}

/// Work on a patch in the background of a node.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "runId": "019a0000-0000-7000-8000-000000000031", "kind": "generate", "state": "running",
    "stage": "asking the model", "startedAt": "2026-11-20T10:00:00Z"
}))]
pub struct PatchRun {
    /// The run's id. Its result is kept for half an hour; the patch stays longer.
    pub run_id: PatchRunId,
    /// What it does.
    pub kind: PatchRunKind,
    /// How far it is.
    pub state: PatchRunState,
    /// What it does now.
    pub stage: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// The proposed patch.
    pub patch: Option<Patch>,
    /// The review.
    pub review: Option<PatchReview>,
    /// The preview.
    pub preview: Option<PatchPreview>,
}

path! {
    /// A patch of a workspace, in a path.
    WorkspacePatchPathParams {
        /// The workspace's id.
        id: WorkspaceId,
        /// The patch's id.
        patch_id: PatchId,
    }
}

/// A review to request.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"focus": ["risks", "tests"]}))]
pub struct ReviewPatch {
    /// What to look at; everything when empty.
    #[serde(default, deserialize_with = "limited::<3, _, _>")]
    #[schema(max_items = 3)]
    pub focus: Vec<ReviewFocus>,
}

impl Request for ReviewPatch {}

/// A review of a patch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "patchId": "019a0000-0000-7000-8000-000000000030", "status": "warnings",
    "findings": [{
        "type": "tests", "severity": "medium", "message": "changes code, but no test",
        "file": "app/delivery/carrier.rb"
    }],
    "testingRecommendations": ["bundle exec rspec"], "nextSteps": ["Add a test of the change."],
    "approvalRequired": false, "model": "main",
    "usage": {"promptTokens": 1234, "completionTokens": 567}, "warnings": [],
    "reviewedAt": "2026-11-20T10:05:00Z"
}))]
pub struct PatchReview {
    /// The patch's id.
    pub patch_id: PatchId,
    /// The verdict.
    pub status: ReviewStatus,
    /// What was found, the most severe first.
    pub findings: Vec<Finding>,
    /// Commands that test the change.
    pub testing_recommendations: Vec<String>,
    /// What to do next.
    pub next_steps: Vec<String>,
    /// Whether a person has to look at the patch before it is published: a finding is of severity
    /// `high` or above.
    pub approval_required: bool,
    /// Name of the chat model; empty if none was asked.
    pub model: String,
    /// Tokens of the chat model.
    pub usage: PatchUsage,
    /// What was not looked at, and why.
    pub warnings: Vec<String>,
    /// When it was reviewed.
    pub reviewed_at: DateTime<Utc>,
}

/// A finding of a review.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: FindingKind,
    /// How severe it is.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// The file, from the root of the workspace; absent if it is about the whole patch.
    pub file: Option<String>,
}

/// A preview to request: what a patch would do to its workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({"commands": ["bundle exec rspec"], "timeout": "PT5M"}))]
pub struct PreviewPatch {
    /// Commands that are run one after the other in a copy of the workspace, until one fails. The
    /// policy of the project must allow each (`allowed_commands`).
    #[serde(default)]
    pub commands: CommandLines,
    /// Whether the workspace stays as it is; true by default.
    pub dry_run: Option<bool>,
    /// Time of all commands together; `PT10M` by default.
    pub timeout: Option<CommandTime>,
}

impl Request for PreviewPatch {}

/// What a patch does to its workspace.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "patchId": "019a0000-0000-7000-8000-000000000030",
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "applied": true,
    "preview": {
        "workspaceDiff": " app/delivery/carrier.rb | 5 +++--\n 1 file changed",
        "detectedConflicts": [], "lintWarnings": []
    },
    "commands": [{
        "command": "bundle exec rspec", "executed": true, "exitCode": 0,
        "logs": "3 examples, 0 failures\n", "durationMs": 2100
    }],
    "metrics": {"copyMs": 40, "patchApplyMs": 4, "dockerRunMs": 2130},
    "completedAt": "2026-11-20T10:06:00Z"
}))]
pub struct PatchPreview {
    /// The patch's id.
    pub patch_id: PatchId,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// Whether all of the patch fits the files.
    pub applied: bool,
    /// What it changes.
    pub preview: WorkspacePreview,
    /// The commands, in the order of the request.
    pub commands: Vec<PreviewedCommand>,
    /// How long its parts took.
    pub metrics: PreviewMetrics,
    /// When it ended.
    pub completed_at: DateTime<Utc>,
}

/// What a patch changes in a workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspacePreview {
    /// Changed lines of each file, as `git diff --stat` shows them.
    pub workspace_diff: String,
    /// Why files can't be changed.
    pub detected_conflicts: Vec<String>,
    /// What is wrong with the changed lines, and what commands report about lines of the workspace:
    /// at most 200.
    pub lint_warnings: Vec<LintWarning>,
}

/// A remark about a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LintWarning {
    /// Path from the root of the workspace.
    pub file: String,
    /// The line in the changed file, from 1; absent if it is about the whole file.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// A command of a preview.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewedCommand {
    /// The command.
    pub command: String,
    /// Whether it was run. It is not if the patch does not fit, or a command before it failed.
    pub executed: bool,
    /// Its exit code: 124 if it reached a limit, and 128 with the number of a signal that ended it.
    pub exit_code: Option<i32>,
    /// Its output and errors, with secrets and personal data masked; the middle of a long one is
    /// left out.
    pub logs: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// How long the parts of a preview took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewMetrics {
    /// Copying the workspace.
    pub copy_ms: u64,
    /// Checking and applying the patch.
    pub patch_apply_ms: u64,
    /// All commands, with the start and the end of the sandbox.
    pub docker_run_ms: u64,
}

/// Which patches to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct PatchQuery {
    /// Key of the project.
    #[serde(rename = "project_key")]
    #[param(inline, rename = "project_key")]
    pub project_key: ProjectKey,
    /// Only those of this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Only those in this state.
    #[param(inline)]
    pub state: Option<PatchState>,
    /// Whether to list those of other users, too; for maintainers. False by default.
    pub all: Option<bool>,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<PatchId>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(inline)]
    pub limit: Option<PageLimit>,
}

impl Request for PatchQuery {}

/// A patch without its diff.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "patchId": "019a0000-0000-7000-8000-000000000030",
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "state": "generated",
    "requiresManualReview": false, "hasDryRun": false, "author": "dev",
    "instructions": "Retry the delivery when the carrier answers 503.",
    "summary": ["Retries a delivery after 503, at most three times."],
    "files": [{"path": "app/delivery/carrier.rb", "operation": "modify", "changedLines": 5}],
    "createdAt": "2026-11-20T10:00:00Z", "expiresAt": "2026-11-21T10:00:00Z"
}))]
pub struct PatchListItem {
    /// The patch's id.
    pub patch_id: PatchId,
    /// Its workspace; absent if that was deleted.
    pub workspace_id: Option<WorkspaceId>,
    /// What happened to it.
    pub state: PatchState,
    /// Whether a person has to look at it before it is published.
    pub requires_manual_review: bool,
    /// Whether its last dry run succeeded.
    pub has_dry_run: bool,
    /// Login of the user who requested it.
    pub author: String,
    /// What it was to change.
    pub instructions: String,
    /// What it changes.
    pub summary: Vec<String>,
    /// Its files.
    pub files: Vec<PatchedFile>,
    /// The tracker's id of its task.
    pub task_external_id: Option<String>,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// When it is deleted.
    pub expires_at: DateTime<Utc>,
}

/// A patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "patchId": "019a0000-0000-7000-8000-000000000030",
    "workspaceId": "019a0000-0000-7000-8000-000000000021", "state": "generated",
    "requiresManualReview": false, "hasDryRun": false, "author": "dev",
    "instructions": "Retry the delivery when the carrier answers 503.",
    "summary": ["Retries a delivery after 503, at most three times."],
    "diff": "diff --git a/app/delivery/carrier.rb b/app/delivery/carrier.rb\n--- a/app/deliv",
    "grade": "exact",
    "annotations": {
        "files": [{"path": "app/delivery/carrier.rb", "operation": "modify", "changedLines": 5}],
        "risks": [], "conflicts": [], "warnings": []
    },
    "usage": {"promptTokens": 1234, "completionTokens": 567}, "model": "main",
    "baseCommit": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334",
    "createdAt": "2026-11-20T10:00:00Z", "expiresAt": "2026-11-21T10:00:00Z"
}))]
pub struct Patch {
    /// The patch's id.
    pub patch_id: PatchId,
    /// Its workspace; absent if that was deleted.
    pub workspace_id: Option<WorkspaceId>,
    /// What happened to it.
    pub state: PatchState,
    /// Whether a person has to look at it before it is published.
    pub requires_manual_review: bool,
    /// Whether its last dry run succeeded.
    pub has_dry_run: bool,
    /// Login of the user who requested it.
    pub author: String,
    /// What it was to change.
    pub instructions: String,
    /// What it changes.
    pub summary: Vec<String>,
    /// A unified diff. Secrets and personal data of the files are masked in it, and stay as they
    /// are when it is applied.
    pub diff: String,
    /// How exactly the proposal fitted the files: `exact`, `offset`, `whitespace` or `context`.
    pub grade: String,
    /// Its files, and what deserves a second look.
    pub annotations: PatchAnnotations,
    /// Tokens of the chat model.
    pub usage: PatchUsage,
    /// Name of the chat model; empty if the client sent the patch.
    pub model: String,
    /// Commit that was checked out in the workspace; empty without one.
    pub base_commit: String,
    /// The bundle that the model was shown.
    pub bundle_id: Option<BundleId>,
    /// The tracker's id of its task.
    pub task_external_id: Option<String>,
    /// Its last review.
    pub review: Option<PatchReview>,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// When it is deleted.
    pub expires_at: DateTime<Utc>,
}

/// The files of a patch, and what deserves a second look.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PatchAnnotations {
    /// Its files.
    pub files: Vec<PatchedFile>,
    /// What deserves a second look, by rules and by the model.
    pub risks: Vec<String>,
    /// Other changes of the same files.
    pub conflicts: Vec<String>,
    /// What the model was not shown, and why.
    pub warnings: Vec<String>,
}

/// A file of a patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchedFile {
    /// Path from the root of the workspace.
    pub path: String,
    /// Path of the file that is moved or copied.
    pub old_path: Option<String>,
    /// `modify`, `create`, `delete`, `rename` or `copy`.
    pub operation: String,
    /// Number of added and removed lines.
    pub changed_lines: usize,
}

/// Tokens that a chat model used.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchUsage {
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the completions.
    pub completion_tokens: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn files_for_the_model_have_a_limit_together() {
        let request = |bytes: usize| {
            let files = json!([{"path": "a", "maxBytes": bytes}, {"path": "b"}]);
            let request = json!({"instructions": "Fix it.", "contextFiles": files});
            from_value::<GeneratePatch>(request).expect("a request").check()
        };
        request(2_000_000 - 16_384).expect("within the limit");
        assert_eq!(request(2_000_000).expect_err("too much").field, "contextFiles");
    }
}
