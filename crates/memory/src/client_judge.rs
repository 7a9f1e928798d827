//! Judging a saved record by the model of an MCP client. The rules have decided and the record is
//! stored before. The answer may make the record a proposal.

use std::time::Duration;

use mc_chat::{Answer, AnswerEnd, ChatRequest, ClientModel, Content, Role, Usage};
use mc_contract::number::VersionNumber;
use mc_contract::operations::judgment::{JudgmentAnswer, JudgmentAnswerEnd, JudgmentQuestion};
use mc_domain::{Classified, ProjectId, RecordId};

use crate::judge::model::{self, Verdict};
use crate::judge_again::{JudgeSource, SavedRecord, may_change};
use crate::{Decision, Error, MemoryContext, Rejudged, SaveOutcome};

/// Returns the time for which the caller may wait for a judgment by a client's model; `None` if
/// none is wanted. One is wanted of a new record of the team whose text a model may receive.
pub fn wait(ctx: &MemoryContext, project: ProjectId, saved: &SaveOutcome) -> Option<Duration> {
    let is_wanted = matches!(saved.decision, Decision::Created(_))
        && saved.record.as_ref().is_some_and(may_change)
        && ctx.chat(project).client_model().is_ok();
    is_wanted.then_some(saved.model_wait_left)
}

/// Returns a question about a record for a client's model, and reserves its tokens.
pub async fn question(
    ctx: &MemoryContext,
    project: ProjectId,
    id: RecordId,
) -> Result<JudgmentQuestion, Error> {
    let chat = ctx.chat(project);
    let model = chat.client_model()?;
    let saved = find(ctx, id).await?.ok_or(Error::NotJudged(id))?;
    let (request, known) = saved.request(model.max_prompt_bytes());
    let question_id = chat.reserve_for_client(&request).await?;
    let instructions = [text(&request, Role::System), model::answer_instruction()].join("\n\n");
    Ok(JudgmentQuestion {
        question_id,
        version: VersionNumber::new(saved.version().into()).expect("versions begin at 1"),
        instructions,
        question: text(&request, Role::User),
        known,
        model_hint: model.hint().to_owned(),
        timeout_seconds: model.timeout_seconds(),
        max_completion_bytes: model.max_completion_bytes(),
        max_completion_tokens: model.max_completion_tokens(),
    })
}

/// Judges a record with an answer to [`question`], and records its tokens. An unusable answer has
/// no effect. Neither has one to a question about another version of the record.
pub async fn judge(
    ctx: &MemoryContext,
    project: ProjectId,
    id: RecordId,
    answer: JudgmentAnswer,
) -> Result<Rejudged, Error> {
    let JudgmentAnswer { question_id, version, known, text, end } = answer;
    let answer = given(text, end);
    let chat = ctx.chat(project);
    let model = chat.client_model()?;
    let saved = find(ctx, id).await?;
    let usage = match &saved {
        Some(saved) => saved.request(model.max_prompt_bytes()).0.usage(&answer.text),
        None => Usage::default(),
    };
    let verdict = read(model, &answer, &known);
    let error = verdict.as_ref().err().map(|error| error.kind().as_str());
    chat.record_of_client(question_id, usage, error).await?;
    match (saved.filter(|saved| saved.version() == version.get()), verdict) {
        (Some(saved), Ok(verdict)) => {
            saved.judge(&ctx.store, &ctx.policy, verdict, JudgeSource::Client).await
        }
        (_, verdict) => {
            if let Err(error) = verdict {
                tracing::debug!(record.id = %id, %error, "a client's model gave no verdict");
            }
            Ok(Rejudged::Unchanged)
        }
    }
}

/// Returns the answer as a provider returns it.
fn given(text: String, end: JudgmentAnswerEnd) -> Answer {
    let (text, end) = match end {
        JudgmentAnswerEnd::Complete => (text, AnswerEnd::Complete),
        JudgmentAnswerEnd::TokenLimit => (text, AnswerEnd::TokenLimit),
        JudgmentAnswerEnd::Declined => (text, AnswerEnd::Declined),
        // An empty answer is an unusable one.
        JudgmentAnswerEnd::Failed => (String::new(), AnswerEnd::Complete),
    };
    // Clients do not report tokens.
    Answer { text, end, usage: None }
}

fn read(
    model: &ClientModel,
    answer: &Answer,
    known: &[RecordId],
) -> Result<Verdict, mc_chat::Error> {
    let Content::Json(answer) = model.read(answer, &model::answer_format())? else {
        return Err(model.bad_answer("text in place of JSON"));
    };
    model::verdict(&answer, known).map_err(|error| model.bad_answer(&error.to_string()))
}

fn text(request: &ChatRequest, role: Role) -> String {
    let of_role = request.messages.iter().filter(|message| message.role == role);
    of_role.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

async fn find(ctx: &MemoryContext, id: RecordId) -> Result<Option<SavedRecord>, Error> {
    let embedding = ctx.search.models.current().model;
    SavedRecord::find(&ctx.store, &embedding, id).await
}
