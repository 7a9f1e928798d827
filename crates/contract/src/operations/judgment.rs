//! `/records/{id}/judgment`: a question about a saved record for the model of an MCP client, and
//! the client's answer.

use mc_domain::{ChatRequestId, RecordId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::VersionNumber;
use crate::{Request, ValidationError, list};

/// Most known records of a question.
pub const KNOWN_MAX: usize = 5;
/// Maximum length of an answer, in bytes: the maximum of `max_completion_bytes`.
const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// A question about a record for the model of a client.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "question_id": "019a0000-0000-7000-8000-000000000009", "version": 1,
    "instructions": "You judge a note that was saved to the memory of a software team.",
    "question": "{\"note\":{\"kind\":\"fact\",\"title\":\"Prices\",\"text\":\"...\"},\"known\":[]}",
    "known": [], "model_hint": "", "timeout_seconds": 60, "max_completion_bytes": 12288,
    "max_completion_tokens": 4096
}))]
pub struct JudgmentQuestion {
    /// The id of the question, for the answer.
    pub question_id: ChatRequestId,
    /// The version of the record, for the answer.
    pub version: VersionNumber,
    /// The system prompt, with the JSON Schema of the answer.
    pub instructions: String,
    /// The question, with the note and the known records as data.
    pub question: String,
    /// The known records of the question, in their order, for the answer.
    pub known: Vec<RecordId>,
    /// Name of the preferred model; empty if any will do.
    pub model_hint: String,
    /// Time limit of the answer, in seconds.
    pub timeout_seconds: u64,
    /// Maximum size of the answer, in bytes.
    pub max_completion_bytes: usize,
    /// Maximum tokens of the answer.
    pub max_completion_tokens: u32,
}

/// The end of a client's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgmentAnswerEnd {
    /// The answer is complete.
    Complete,
    /// It ended at the limit of tokens.
    TokenLimit,
    /// The client, its user or its model declined to answer.
    Declined,
    /// The client failed, or its answer is too large.
    Failed,
}

/// The answer of a client's model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "question_id": "019a0000-0000-7000-8000-000000000009", "version": 1, "known": [],
    "text": "{\"verdict\": \"status_report\", \"usefulness\": 0.1, \"relations\": []}",
    "end": "complete"
}))]
pub struct JudgmentAnswer {
    /// The `question_id` of the question. A question takes one answer.
    pub question_id: ChatRequestId,
    /// The `version` of the question.
    pub version: VersionNumber,
    /// The `known` of the question: at most 5.
    #[serde(deserialize_with = "list::limited::<KNOWN_MAX, _, _>")]
    #[schema(max_items = 5)]
    pub known: Vec<RecordId>,
    /// The text that the model returned, at most 1 MiB; empty without an answer.
    pub text: String,
    /// The end of the answer.
    pub end: JudgmentAnswerEnd,
}

impl Request for JudgmentAnswer {
    fn check(&self) -> Result<(), ValidationError> {
        let bytes = self.text.len();
        if bytes > ANSWER_MAX_BYTES {
            let rule = format!("has {bytes} bytes; the limit is {ANSWER_MAX_BYTES}");
            return Err(ValidationError::new("text", rule));
        }
        Ok(())
    }
}

/// The effect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgmentOutcome {
    /// None: the model agrees with the rules, its answer is unusable, or the record has changed.
    Unchanged,
    /// The record is a proposal now, for a reviewer.
    Proposed,
}

/// The record after an answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "outcome": "proposed", "message": "proposed 019a0000-0000-7000-8000-000000000002",
    "reason": "the client's model doubts that it helps: it states nothing"
}))]
pub struct JudgmentResponse {
    /// The effect of the answer.
    pub outcome: JudgmentOutcome,
    /// The outcome in words, as a save has it.
    pub message: String,
    /// The reason.
    pub reason: String,
}
