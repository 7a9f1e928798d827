//! `/prompts/{key}`: the system prompt of a project and its versions.

use chrono::{DateTime, Utc};
use mc_domain::PromptState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::number::{PageLimit, PromptNumber};
use crate::text::{FreeText, ShortText};
use crate::{ProjectKey, Request, list};

/// Name of the MCP prompt with the team's system prompt, which no reasoning schema may have.
pub const SYSTEM_PROMPT: &str = "system_prompt";

/// Most instructions, and most examples.
const ITEMS_MAX: usize = 100;

path! {
    /// A version of a system prompt, in a path.
    PromptVersionPath {
        /// The project's key.
        key: ProjectKey,
        /// The version.
        version: PromptNumber,
    }
}

query! {
    /// Which versions of a system prompt to list.
    PromptVersionQuery {
        /// The `next_cursor` of the previous page.
        cursor: Option<PromptNumber>,
        /// Maximum number of versions, 1 to 200; 50 by default.
        limit: Option<PageLimit>,
    }
}

/// An instruction or an example to set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPromptItem {
    /// Names the idea, and is unique in its list: 1 to 64 of the characters a-z, 0-9, `-`, `_` and
    /// `.`. An item that is rephrased keeps it.
    pub id: ShortText,
    /// The text.
    pub text: FreeText,
}

/// An instruction or an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PromptItem {
    /// Names the idea.
    pub id: String,
    /// The text.
    pub text: String,
}

/// A system prompt to set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "instructions": [{"id": "run-tests", "text": "Run the tests before you finish."}],
    "examples": []
}))]
pub struct SetPrompt {
    /// Rules for the model, in their order: at most 100.
    #[serde(deserialize_with = "list::limited::<ITEMS_MAX, _, _>")]
    #[schema(max_items = 100)]
    pub instructions: Vec<NewPromptItem>,
    /// Worked examples, in their order: at most 100.
    #[serde(default, deserialize_with = "list::limited::<ITEMS_MAX, _, _>")]
    #[schema(max_items = 100)]
    pub examples: Vec<NewPromptItem>,
}

impl Request for SetPrompt {}

/// The version of a system prompt that a developer gets while a new one is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptArm {
    /// The version in use.
    Parent,
    /// The new version.
    Canary,
}

/// The system prompt that the caller gets.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "project_key": "shop", "prompt_version": "8", "arm": "canary",
    "text": "- Run the tests before you finish.\n",
    "instructions": [{"id": "run-tests", "text": "Run the tests before you finish."}],
    "examples": [], "quality": {"label": "better_offline", "gain": 0.12, "interval": [0.05, 0.19]}
}))]
pub struct SystemPrompt {
    /// The project's key.
    pub project_key: String,
    /// The version, to state in `POST /dialogs`; `0` is the built-in prompt.
    pub prompt_version: String,
    /// The caller's arm; absent while no new version is tried.
    pub arm: Option<PromptArm>,
    /// The text for a model.
    pub text: String,
    /// Rules for the model.
    pub instructions: Vec<PromptItem>,
    /// Worked examples.
    pub examples: Vec<PromptItem>,
    /// What is known about its effect: `label`, and if it was measured, `gain` and `interval`.
    #[schema(value_type = Object)]
    pub quality: Value,
}

/// A version of a system prompt.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "version": 8, "parent_version": 7, "state": "canary",
    "quality": {"label": "better_offline", "gain": 0.12, "interval": [0.05, 0.19]},
    "diff": "@@ -1 +1 @@\n", "created_at": "2026-11-20T06:00:00Z",
    "instructions": [{"id": "run-tests", "text": "Run the tests before you finish."}],
    "examples": []
}))]
pub struct PromptVersion {
    /// The version; 0 is the built-in prompt.
    pub version: i32,
    /// The version in use when it was made.
    pub parent_version: Option<i32>,
    /// Whether it is in use.
    pub state: PromptState,
    /// What is known about its effect: `label`, and if it was measured, `gain` and `interval`.
    #[schema(value_type = Object)]
    pub quality: Value,
    /// The changes from the parent, as a unified diff.
    pub diff: String,
    /// Rules for the model.
    pub instructions: Vec<PromptItem>,
    /// Worked examples.
    pub examples: Vec<PromptItem>,
    /// Figures of its canary on the last night, with the decision (docs/prompts.md); for
    /// maintainers.
    #[schema(value_type = Option<Object>)]
    pub report: Option<Value>,
    /// Login of the user who set it; absent for the optimizer.
    pub created_by: Option<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Login of the user who promoted it or took it back; absent for the rule.
    pub decided_by: Option<String>,
    /// When it was promoted or taken back.
    pub decided_at: Option<DateTime<Utc>>,
    /// The commit of its file in the configured checkout.
    pub git_commit: Option<String>,
}
