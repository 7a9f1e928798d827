//! `POST /dialogs`: conversations between a developer and an assistant.

use mc_domain::{DialogId, DialogOutcome, MessageRole, QuarantineItemId, RecordId, RecordKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::save::SaveOutcome;
use crate::list::limited_nonempty;
use crate::text::{IssueId, MessageText, Name, PromptVersion, SchemaName, StatementText};
use crate::{ProjectKey, Request, ValidationError};

/// A dialog to store.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "developer": "vera",
    "messages": [
        {"role": "user", "content": "Why is the trigger delay nil?"},
        {"role": "assistant", "content": "delay_unit and trigger_delay_unit differ."}
    ],
    "distilled": "The delay was nil because the two units differed.",
    "outcome": "succeeded",
    "prompt_version": "bugfix-7"
}))]
pub struct CreateDialog {
    /// Key of the project.
    pub project_key: ProjectKey,
    /// The id of one of the caller's dialogs, to replace it; a new dialog when absent.
    pub id: Option<DialogId>,
    /// The tracker's id of the issue that it is about, or the issue's URL.
    pub task_external_id: Option<IssueId>,
    /// The person behind the request.
    pub developer: Option<Name>,
    /// 1 to 500 messages, oldest first.
    #[serde(deserialize_with = "limited_nonempty::<500, _, _>")]
    #[schema(min_items = 1, max_items = 500)]
    pub messages: Vec<MessageInput>,
    /// The result of the dialog; only this is searched. Distilled from the messages when absent.
    pub distilled: Option<StatementText>,
    /// How it ended; absent if it is not known.
    pub outcome: Option<DialogOutcome>,
    /// Version of the system prompt used in the dialog.
    pub prompt_version: Option<PromptVersion>,
    /// The reasoning schema that it followed; requires `answer`.
    pub schema: Option<SchemaName>,
    /// The answer by the reasoning schema: an object with one field for each step. If the dialog
    /// has succeeded, notes are proposed from its fields `rationale`, `plan_steps` and `code_diff`.
    #[schema(value_type = Option<Object>)]
    pub answer: Option<Value>,
}

impl Request for CreateDialog {
    fn check(&self) -> Result<(), ValidationError> {
        let missing = |field, of| {
            let rule = format!("is required with {of}; send both, or neither");
            Err(ValidationError::new(field, rule))
        };
        match (&self.schema, &self.answer) {
            (None, Some(_)) => missing("schema", "answer"),
            (Some(_), None) => missing("answer", "schema"),
            _ => Ok(()),
        }
    }
}

/// One message.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageInput {
    /// Who speaks.
    pub role: MessageRole,
    /// Plain text or Markdown.
    pub content: MessageText,
}

/// The stored dialog.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000004",
    "proposals": [{
        "kind": "fact", "outcome": "proposed", "id": "019a0000-0000-7000-8000-000000000002",
        "reason": "a person of the team decides whether it is to count"
    }]
}))]
pub struct CreateDialogResponse {
    /// The dialog's id.
    pub id: DialogId,
    /// The notes that were proposed from its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<DialogProposal>,
}

/// A note that was proposed from the answer of a dialog.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DialogProposal {
    /// The kind of knowledge.
    pub kind: RecordKind,
    /// What became of it: `proposed`, or why there is no new proposal.
    pub outcome: SaveOutcome,
    /// The proposal, or the record that says the same.
    pub id: Option<RecordId>,
    /// Why.
    pub reason: String,
}

/// A dialog that waits in quarantine.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "quarantine_item_id": "019a0000-0000-7000-8000-000000000008",
    "reason": "withheld by the policy of the project; a maintainer decides (GET /quarantine)"
}))]
pub struct QuarantinedResponse {
    /// Id of the quarantine item that has the dialog.
    pub quarantine_item_id: QuarantineItemId,
    /// Why it waits, and who decides.
    pub reason: String,
}
