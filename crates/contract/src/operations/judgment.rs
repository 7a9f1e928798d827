//! `/records/{id}/judgment`: what the own model of an MCP client is asked about a saved record, and
//! its answer.

use mc_domain::RecordId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::{Request, list};

/// Most known records of a question.
const KNOWN_MAX: usize = 5;

/// What a client's model is asked about a record.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "instructions": "You judge a note that was saved to the memory of a software team.",
    "question": "{\"note\":{\"kind\":\"fact\",\"title\":\"Prices\",\"text\":\"...\"},\"known\":[]}",
    "answer_schema": {"type": "object"}, "known": [], "model": "client", "model_hint": "",
    "wait_ms": 2500, "timeout_seconds": 60, "max_completion_bytes": 12288,
    "max_completion_tokens": 4096
}))]
pub struct JudgmentQuestion {
    /// The system prompt.
    pub instructions: String,
    /// The question, with the note and the known records as data.
    pub question: String,
    /// JSON Schema of the answer.
    #[schema(value_type = Object)]
    pub answer_schema: Value,
    /// The known records of the question, in their order; send them back with the answer.
    pub known: Vec<RecordId>,
    /// Name of the model in the service's configuration (`chat.models`).
    pub model: String,
    /// Name of the preferred model; empty if any will do.
    pub model_hint: String,
    /// Time for which a save may wait for the answer, in milliseconds.
    pub wait_ms: u64,
    /// Time limit of the answer, in seconds.
    pub timeout_seconds: u64,
    /// Maximum size of the answer, in bytes.
    pub max_completion_bytes: usize,
    /// Maximum tokens of the answer.
    pub max_completion_tokens: u32,
}

/// The answer of a client's model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "known": [], "answer": {"verdict": "status_report", "usefulness": 0.1, "relations": []}
}))]
pub struct JudgmentAnswer {
    /// The `known` of the question: at most 5.
    #[serde(deserialize_with = "list::limited::<KNOWN_MAX, _, _>")]
    #[schema(max_items = 5)]
    pub known: Vec<RecordId>,
    /// What the model returned.
    #[schema(value_type = Object)]
    pub answer: Value,
}

impl Request for JudgmentAnswer {}

/// What an answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgmentOutcome {
    /// Nothing: the model agrees with the rules, or the record has changed.
    Unchanged,
    /// The record is a proposal now, for a reviewer.
    Proposed,
}

/// The record after an answer.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "outcome": "proposed",
    "reason": "the chat model doubts that it helps: it states nothing"
}))]
pub struct JudgmentResponse {
    /// What the answer changed.
    pub outcome: JudgmentOutcome,
    /// Why it did.
    pub reason: Option<String>,
}
