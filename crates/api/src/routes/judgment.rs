//! `/records/{id}/judgment`: judging a saved record by the model of an MCP client.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::judgment::{
    JudgmentAnswer, JudgmentOutcome, JudgmentQuestion, JudgmentResponse,
};
use mc_contract::operations::record::RecordPath;
use mc_domain::{Permission, ReadKind};
use mc_memory::{Decision, Rejudged, client_judge};

use super::records::authorize;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams};
use crate::openapi::Access;
use crate::problem::Problem;

/// Get a question about a record for the client's model.
///
/// Returns the question, if the service's configuration has such a model (`provider: mcp_sampling`)
/// and the project's policy allows it. It reserves tokens of the project's daily budget. The MCP
/// server requests it after a save, and asks its client by sampling.
#[utoipa::path(
    post, path = "/records/{id}/judgment-questions", tag = "memory", params(RecordPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Write)))),
    responses((status = 201, description = "The question", body = JudgmentQuestion))
)]
pub async fn create_judgment_question(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
) -> Result<(StatusCode, Json<JudgmentQuestion>), Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Write).await?;
    let question = client_judge::question(&ctx.memory, ctx.project.id, id).await?;
    ctx.count_read(ReadKind::Record);
    Ok((StatusCode::CREATED, Json(question)))
}

/// Judge a record by the answer of the client's model.
///
/// The answer may make the record a proposal for a reviewer. It has no effect on a record that has
/// another version now, or that a person has confirmed.
#[utoipa::path(
    post, path = "/records/{id}/judgment", tag = "memory", params(RecordPath),
    request_body = JudgmentAnswer,
    extensions(("x-access" = json!(Access::Permission(Permission::Write)))),
    responses((status = 200, description = "The effect of the answer", body = JudgmentResponse))
)]
pub async fn judge_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<JudgmentAnswer>,
) -> Result<Json<JudgmentResponse>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Write).await?;
    let judged = client_judge::judge(&ctx.memory, ctx.project.id, id, request).await?;
    Ok(Json(match judged {
        Rejudged::Unchanged => JudgmentResponse {
            outcome: JudgmentOutcome::Unchanged,
            message: format!("unchanged {id}"),
            reason: "the record stays as the rules decided".to_owned(),
        },
        Rejudged::Demoted { reason } => JudgmentResponse {
            outcome: JudgmentOutcome::Proposed,
            message: Decision::Proposed(id).to_string(),
            reason,
        },
    }))
}
