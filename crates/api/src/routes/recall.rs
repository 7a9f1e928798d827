//! `/recall`: the knowledge of the team about code or a task.

use std::collections::HashSet;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use mc_contract::number::TimeBudget;
use mc_contract::operations::recall::{RecallRequest, RecallResponse, Section};
use mc_domain::{Permission, ProjectId};
use mc_integrations::issue_reference;
use mc_memory::bundle::{self, Bundle};
use mc_memory::{PastChanges, TokenBudget, past_changes};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Milliseconds for a recall that names no limit.
const DEFAULT_TIME_BUDGET_MS: u64 = 300;

/// Recall what the team knows before work begins.
///
/// Returns a bundle of facts, gotchas, examples, documents, dialogs and code within the limit of
/// tokens. It is empty, with a reason, if nothing is good enough; `degraded` names retrievers that
/// were late.
#[utoipa::path(
    post, path = "/recall", tag = "memory", request_body = RecallRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((
        status = 200, description = "The bundle; empty with a reason if nothing is good enough",
        body = RecallResponse
    ))
)]
pub async fn recall(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<RecallRequest>,
) -> Result<Json<RecallResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Read).await?;
    let max = usize::try_from(here.project.policy.tokens.recall).unwrap_or(TokenBudget::MAX);
    let max = TokenBudget::new(max).unwrap_or_default();
    let wants_changes = request.include.contains(&Section::Changes);
    let request = domain_request(request, here.project.id, caller.name(), max)?;
    let changes = async {
        if wants_changes { past_changes(&here.memory, &request).await.map(Some) } else { Ok(None) }
    };
    let (bundle, changes) = tokio::try_join!(mc_memory::recall(&here.memory, &request), changes)?;
    Ok(Json(response(bundle, changes)))
}

/// The request to a project whose policy allows bundles of at most `max` tokens.
fn domain_request(
    request: RecallRequest,
    project: ProjectId,
    principal: &str,
    max: TokenBudget,
) -> Result<mc_memory::RecallRequest, Problem> {
    let limit = request.limit_tokens.unwrap_or_default().get();
    let limit = TokenBudget::new(limit)
        .map_err(|error| Problem::invalid(error.to_string()).field("limit_tokens"))?;
    let milliseconds = request.time_budget_ms.map_or(DEFAULT_TIME_BUDGET_MS, TimeBudget::get);
    Ok(mc_memory::RecallRequest {
        project,
        principal: request.developer.map_or_else(|| principal.to_owned(), Into::into),
        is_control: request.is_control,
        query: request.query.map(Into::into),
        task_external_id: request
            .task_external_id
            .map(|id| issue_reference::resolve_for_reading(id.into())),
        repo_path: request.repo_path.map(Into::into),
        symbols: request.symbols.into_items(),
        signals: request.signals.into_items(),
        limit: limit.min(max),
        time_budget: Duration::from_millis(milliseconds),
    })
}

/// The bundle as it is sent, with the section of past changes if it was requested.
fn response(bundle: Bundle, changes: Option<PastChanges>) -> RecallResponse {
    let mut response = bundle::response(bundle);
    if let Some(PastChanges { changes, degraded }) = changes {
        response.changes = Some(changes);
        response.degraded.extend(degraded);
        let mut seen = HashSet::new();
        response.degraded.retain(|name| seen.insert(name.clone()));
    }
    response
}
