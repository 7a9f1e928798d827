//! Judging a saved record by the own model of the client that saved it. The client is asked by MCP
//! sampling, after the rules have decided; its answer may make the record a proposal, and nothing
//! else.

use std::sync::Arc;
use std::time::Duration;

use mc_chat::{ChatRequest, ClientModel, Role};
use mc_domain::{ProjectId, RecordId};
use serde_json::Value;

use crate::judge::model;
use crate::judge_again::{SavedRecord, may_change};
use crate::{Decision, Error, MemoryContext, Rejudged, SaveOutcome};

/// The question about a record for a client's model.
#[derive(Debug)]
pub struct ClientQuestion {
    /// The system prompt.
    pub instructions: String,
    /// The note and the known records.
    pub question: String,
    /// JSON Schema of the answer.
    pub answer_schema: Value,
    /// The known records, in their order.
    pub known: Vec<RecordId>,
    /// The configured use of such models.
    pub model: Arc<ClientModel>,
    /// Time for which a save may wait for the answer.
    pub wait: Duration,
}

/// Returns whether the client's model may judge what was saved: as a new record of the team, of a
/// text that a model may receive.
pub fn is_wanted(ctx: &MemoryContext, project: ProjectId, saved: &SaveOutcome) -> bool {
    matches!(saved.decision, Decision::Created(_))
        && saved.record.as_ref().is_some_and(may_change)
        && ctx.chat(project).client_model().is_ok()
}

/// Returns the question about a record for the own model of the client that saved it.
pub async fn question(
    ctx: &MemoryContext,
    project: ProjectId,
    id: RecordId,
) -> Result<ClientQuestion, Error> {
    let chat = ctx.chat(project);
    let model = Arc::clone(chat.client_model()?);
    let mut saved = find(ctx, id).await?;
    let request = saved.request(model.max_prompt_bytes());
    let known = saved.known.iter().map(|known| known.id).collect();
    // The client would spend its tokens in vain if the budget were found spent after its answer.
    let most = request.usage("").total() + u64::from(model.limits().max_completion_tokens);
    chat.require_budget(most).await?;
    let ChatRequest { messages, .. } = request;
    let text = |role| {
        let of_role = messages.iter().filter(|message| message.role == role);
        of_role.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n")
    };
    Ok(ClientQuestion {
        instructions: text(Role::System),
        question: text(Role::User),
        answer_schema: model::answer_schema().clone(),
        known,
        model,
        wait: ctx.judge_wait,
    })
}

/// Judges a record again with the answer of a client's model to [`question`]. `known` are the
/// records of that question; one that is no candidate anymore is ignored.
pub async fn judge(
    ctx: &MemoryContext,
    project: ProjectId,
    id: RecordId,
    known: &[RecordId],
    answer: &Value,
) -> Result<Rejudged, Error> {
    let chat = ctx.chat(project);
    let model = chat.client_model()?;
    let text = answer.to_string();
    let answer = model::parse(&text).map_err(Error::InvalidVerdict)?;
    let verdict = model::verdict(&answer, known)
        .map_err(|error| Error::InvalidVerdict(format!("JSON that can't be used ({error})")))?;
    let mut saved = find(ctx, id).await?;
    let usage = saved.request(model.max_prompt_bytes()).usage(&text);
    chat.record_of_client(usage).await?;
    saved.judge(&ctx.store, &ctx.policy, verdict).await
}

async fn find(ctx: &MemoryContext, id: RecordId) -> Result<SavedRecord, Error> {
    let embedding = ctx.search.models.current().model;
    SavedRecord::find(&ctx.store, &embedding, id).await?.ok_or(Error::NotJudged(id))
}
