//! `/records/{id}/judgment`: judging a saved record by the own model of the client that saved it.

use axum::Json;
use axum::extract::State;
use mc_contract::operations::judgment::{
    JudgmentAnswer, JudgmentOutcome, JudgmentQuestion, JudgmentResponse,
};
use mc_contract::operations::record::RecordPath;
use mc_domain::Permission;
use mc_memory::Rejudged;
use mc_memory::client_judge::{self, ClientQuestion};

use super::records::authorize;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams};
use crate::openapi::Access;
use crate::problem::Problem;

/// Get the question about a record for the client's own model.
///
/// Returns what to ask the model of the client that saved the record, if the service's
/// configuration has such a model (`provider: mcp_sampling`) and the project's policy allows it.
/// The MCP server asks it by sampling after a save.
#[utoipa::path(
    get, path = "/records/{id}/judgment", tag = "memory", params(RecordPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Write)))),
    responses((status = 200, description = "The question", body = JudgmentQuestion))
)]
pub async fn get_judgment_question(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
) -> Result<Json<JudgmentQuestion>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Write).await?;
    let question = client_judge::question(&ctx.memory, ctx.project.id, id).await?;
    Ok(Json(contract(question)))
}

/// Judge a record by the answer of the client's own model.
///
/// The answer may make the record a proposal for a reviewer, and changes nothing else. A record
/// that a person has confirmed is not judged.
#[utoipa::path(
    post, path = "/records/{id}/judgment", tag = "memory", params(RecordPath),
    request_body = JudgmentAnswer,
    extensions(("x-access" = json!(Access::Permission(Permission::Write)))),
    responses((status = 200, description = "What the answer changed", body = JudgmentResponse))
)]
pub async fn judge_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<JudgmentAnswer>,
) -> Result<Json<JudgmentResponse>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Write).await?;
    let JudgmentAnswer { known, answer } = request;
    let judged = client_judge::judge(&ctx.memory, ctx.project.id, id, &known, &answer).await?;
    Ok(Json(match judged {
        Rejudged::Unchanged => {
            JudgmentResponse { outcome: JudgmentOutcome::Unchanged, reason: None }
        }
        Rejudged::Demoted { reason } => {
            JudgmentResponse { outcome: JudgmentOutcome::Proposed, reason: Some(reason) }
        }
    }))
}

fn contract(question: ClientQuestion) -> JudgmentQuestion {
    let ClientQuestion { instructions, question, answer_schema, known, model, wait } = question;
    let limits = model.limits();
    JudgmentQuestion {
        instructions,
        question,
        answer_schema,
        known,
        model: model.name().to_owned(),
        model_hint: model.hint().to_owned(),
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        timeout_seconds: limits.timeout_seconds,
        max_completion_bytes: limits.max_completion_bytes,
        max_completion_tokens: limits.max_completion_tokens,
    }
}
