//! A chat model in a night: it answers the cases under a prompt, scores the answers, and proposes
//! edits. All requests count toward the project's budget.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use mc_chat::{ChatRequest, Content, JsonAnswer, ModelRole};
use mc_domain::Policy;
use mc_optimizer::evaluate::EvaluationError;
use mc_optimizer::propose::{FailedCase, ProposalError};
use mc_optimizer::random::stable_hash;
use mc_optimizer::{Case, Change, Edit, Evaluate, Evaluation, Item, Prompt, Propose, Section};
use mc_prompt_guard::neutralize;
use mc_sanitizer::{Sanitized, mask};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::cases::CaseText;
use crate::chat::{self, ProjectChat};
use crate::content_filter::filter_unreviewed;
use crate::text::cut;

/// Most characters of an answer that is scored.
const ANSWER_CHARS: usize = 4_000;
/// Most characters of feedback, and of a proposed instruction.
const FEEDBACK_CHARS: usize = 500;
/// Most failures that a proposal is asked from.
const FAILURES_MAX: usize = 6;
/// Most edits of one answer.
const EDITS_MAX: usize = 8;

static SCORE: LazyLock<Sanitized> =
    LazyLock::new(|| mask(include_str!("../../../../system_prompts/score.txt")).text);
static REWRITE: LazyLock<Sanitized> =
    LazyLock::new(|| mask(include_str!("../../../../system_prompts/rewrite.txt")).text);

static SCORED: LazyLock<Arc<JsonAnswer>> = LazyLock::new(|| {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["score", "feedback"],
        "properties": {
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "feedback": {"type": "string"},
        },
    });
    Arc::new(JsonAnswer::new("score", schema).expect("a test compiles the schema"))
});

static REWRITTEN: LazyLock<Arc<JsonAnswer>> = LazyLock::new(|| {
    let edit = json!({
        "type": "object", "additionalProperties": false, "required": ["kind", "id", "text"],
        "properties": {
            "kind": {"enum": ["add", "rephrase", "shorten", "drop"]},
            "id": {"type": "string"},
            "text": {"type": "string"},
        },
    });
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["edits"],
        "properties": {"edits": {"type": "array", "items": edit}},
    });
    Arc::new(JsonAnswer::new("edits", schema).expect("a test compiles the schema"))
});

#[derive(Deserialize)]
struct Scored {
    score: f64,
    feedback: String,
}

#[derive(Deserialize)]
struct Rewritten {
    edits: Vec<ProposedEdit>,
}

#[derive(Deserialize)]
struct ProposedEdit {
    kind: EditKind,
    id: String,
    text: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EditKind {
    Add,
    Rephrase,
    Shorten,
    Drop,
}

/// A chat model that evaluates prompts on cases, and proposes edits.
pub(super) struct Model<'a> {
    pub chat: ProjectChat,
    pub texts: &'a HashMap<String, CaseText>,
    pub policy: &'a Policy,
    /// When the night ends. Requests that have no answer by then fail.
    pub deadline: Instant,
    /// Why the latest request failed.
    pub last_error: Mutex<Option<String>>,
}

impl Model<'_> {
    /// Waits for a request until the night ends, and keeps its error for the report.
    async fn in_time<T>(
        &self,
        request: impl Future<Output = Result<T, chat::Error>>,
    ) -> Result<T, String> {
        let error = match timeout_at(self.deadline, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the time of the night is over; raise `aelp.model_minutes`, or lower \
                       `aelp.model_budget`"
                .to_owned(),
        };
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        Err(error)
    }

    async fn answer(&self, prompt: &Prompt, task: &str) -> Result<String, String> {
        let request = ChatRequest::new(mask(&prompt.render()).text, shown(task)).greedy();
        match self.in_time(self.chat.complete(ModelRole::Writer, &request)).await?.content {
            Content::Text(text) => Ok(cut(text.as_str(), ANSWER_CHARS)),
            Content::Json(value) => Ok(cut(&value.to_string(), ANSWER_CHARS)),
        }
    }

    async fn score(&self, prompt: &Prompt, case: &Case) -> Result<Evaluation, String> {
        let text = self.texts.get(&case.id).ok_or("the case has no known result")?;
        let answer = self.answer(prompt, &text.task).await?;
        let data = json!({
            "task": text.task, "result": text.result, "answer": answer,
        });
        let scored: Scored = self.ask(ModelRole::Judge, &SCORE, &data, &SCORED).await?;
        let feedback = cut(&scored.feedback, FEEDBACK_CHARS);
        Ok(Evaluation {
            score: scored.score,
            feedback: Some(feedback).filter(|text| !text.is_empty()),
        })
    }

    async fn edits(&self, prompt: &Prompt, failures: &[FailedCase]) -> Result<Vec<Edit>, String> {
        let failures: Vec<_> =
            failures.iter().take(FAILURES_MAX).map(|f| self.failure(f)).collect();
        let instructions = prompt.items(Section::Instructions);
        let data = json!({ "instructions": instructions, "failures": failures });
        let found: Rewritten = self.ask(ModelRole::Rewrite, &REWRITE, &data, &REWRITTEN).await?;
        Ok(found.edits.iter().take(EDITS_MAX).filter_map(|edit| self.edit(edit)).collect())
    }

    fn failure(&self, failed: &FailedCase) -> Value {
        let task = self.texts.get(&failed.case_id).map(|text| cut(&text.task, FEEDBACK_CHARS));
        json!({ "task": task, "score": failed.score, "feedback": failed.feedback })
    }

    /// Returns an edit as the optimizer has it. A text with a secret, or one that looks like a
    /// prompt injection, makes no edit.
    fn edit(&self, proposed: &ProposedEdit) -> Option<Edit> {
        let id = proposed.id.clone();
        let text = || {
            let text = proposed.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_short = text.chars().count() <= FEEDBACK_CHARS && !text.is_empty();
            let filtered = filter_unreviewed(self.policy, &text).filter(|_| is_short)?;
            (filtered.as_str() == text).then_some(text)
        };
        let change = match proposed.kind {
            EditKind::Drop => Change::Drop { id },
            EditKind::Rephrase => Change::Rephrase { id, text: text()? },
            EditKind::Shorten => Change::Shorten { id, text: text()? },
            EditKind::Add => {
                let text = text()?;
                let id = format!("model-{:016x}", stable_hash(&[&text.to_lowercase()]));
                Change::Add { item: Item::new(id, text), position: None }
            }
        };
        Some(Edit { section: Section::Instructions, change })
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        role: ModelRole,
        instructions: &Sanitized,
        data: &Value,
        answer: &Arc<JsonAnswer>,
    ) -> Result<T, String> {
        let request = ChatRequest::new(instructions.clone(), shown(&data.to_string()));
        let request = request.greedy().with_json(Arc::clone(answer));
        self.in_time(self.chat.complete_json(role, &request, |value| T::deserialize(value))).await
    }
}

/// Returns a text as a model receives it: masked, without special tokens of chat templates.
fn shown(text: &str) -> Sanitized {
    mask(&neutralize(text)).text
}

impl Evaluate for Model<'_> {
    fn evaluate<'a>(
        &'a self,
        prompt: &'a Prompt,
        case: &'a Case,
    ) -> BoxFuture<'a, Result<Evaluation, EvaluationError>> {
        async move { self.score(prompt, case).await.map_err(EvaluationError) }.boxed()
    }
}

impl Propose for Model<'_> {
    fn propose<'a>(
        &'a self,
        prompt: &'a Prompt,
        failures: &'a [FailedCase],
    ) -> BoxFuture<'a, Result<Vec<Edit>, ProposalError>> {
        async move { self.edits(prompt, failures).await.map_err(ProposalError) }.boxed()
    }
}
