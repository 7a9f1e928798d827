//! `/save`: stores a note.

use axum::Json;
use axum::extract::State;
use chrono::Utc;
use http::StatusCode;
use mc_contract::ValidationError;
use mc_contract::number::UnitInterval;
use mc_contract::operations::save::{
    JudgeScores, Redaction, SaveOutcome as Outcome, SaveRequest, SaveResponse,
};
use mc_domain::{ErrorKind, Permission, Role, Trust, Visibility};
use mc_integrations::issue_reference;
use mc_memory::bundle::rounded;
use mc_memory::client_judge;
use mc_memory::usage_log::{RejectedSave, record_rejected_save};
use mc_memory::{Decision, NewCitation, SaveOutcome};
use mc_store::projects::Project;

use super::records;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Save a note.
///
/// Masks secrets, compares the note with existing records, and returns the outcome: it may
/// be created, merged, supersede a record, be rejected, or wait for a review. Below the role that
/// the policy requires, it becomes a proposal.
#[utoipa::path(
    post, path = "/save", tag = "memory", request_body = SaveRequest,
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 200, description = "The outcome of the save, with its reasons",
               body = SaveResponse))
)]
pub async fn save(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<SaveRequest>,
) -> Result<Json<SaveResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Propose).await?;
    let rejected = RejectedSave {
        project: here.project.id,
        kind: request.kind,
        visibility: request.visibility(),
    };
    let request = accept(request, &here, &caller).await.inspect_err(|problem| {
        let reason = match problem.status() {
            StatusCode::FORBIDDEN => ErrorKind::Forbidden,
            status if status.is_server_error() => ErrorKind::Unavailable,
            _ => ErrorKind::Invalid,
        };
        record_rejected_save(&here.memory, rejected, reason);
    })?;
    let saved = mc_memory::save(&here.memory, &request).await?;
    let is_stored = saved.decision.record().is_some();
    let wait = client_judge::wait(&here.memory, here.project.id, &saved);
    let judgment_wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let mut response = SaveResponse { judgment_wait_ms, ..response(saved) };
    response.notes.extend(index_note(&here.memory.search.keyword.status()).filter(|_| is_stored));
    Ok(Json(response))
}

/// Returns the request as the use-case takes it, or why the caller may not make it.
async fn accept(
    request: SaveRequest,
    here: &ProjectContext,
    caller: &Principal,
) -> Result<mc_memory::SaveRequest, Problem> {
    let saves_for_team = here.allows(Permission::Write);
    if let Some(field) = request.replacing_field() {
        if !saves_for_team {
            let needed = here.project.policy.min_role(Permission::Write);
            let detail = format!("requires the role {needed}: a proposal can't replace a record");
            return Err(Problem::forbidden(detail).field(field));
        }
        if request.visibility() != Visibility::Team {
            return Err(ValidationError::new(field, "is for records of the team").into());
        }
    }
    let mut request = domain_request(request, &here.project, caller, saves_for_team)?;
    request.task_external_id =
        issue_reference::resolve_optional(here, request.task_external_id).await?;
    Ok(request)
}

/// Returns the note about a saved record that keyword search does not find yet.
fn index_note(index: &mc_search::Status) -> Option<String> {
    index.is_disk_full.then(|| {
        "the disk of the keyword index is full, so until there is space on it (data_dir), search \
         finds this by its meaning only"
            .to_owned()
    })
}

/// Returns the trust of a saved record: at most the trust that the role gives.
fn trust(requested: Trust, role: Role) -> Trust {
    requested.min(if role >= Role::Member { Trust::Team } else { Trust::Untrusted })
}

/// The request of a caller who may, or may not, save for the team.
fn domain_request(
    request: SaveRequest,
    project: &Project,
    caller: &Principal,
    saves_for_team: bool,
) -> Result<mc_memory::SaveRequest, ValidationError> {
    let visibility = match request.visibility() {
        Visibility::Team if !saves_for_team => Visibility::Proposed,
        requested => requested,
    };
    Ok(mc_memory::SaveRequest {
        project: project.id,
        principal: caller.name().to_owned(),
        saved_by: Some(caller.user),
        visibility,
        trust: trust(request.trust.unwrap_or(Trust::Team), project.role),
        ttl: request.expires_at(Utc::now())?,
        usefulness: request.quality.and_then(|quality| quality.usefulness).map(UnitInterval::get),
        source: request.source.map(Into::into).unwrap_or_default(),
        kind: request.kind,
        content: request.content.into(),
        title: request.title.map(Into::into),
        task_external_id: request.task_external_id.map(Into::into),
        scope: request.scope.into_items(),
        tags: request.tags.into_items(),
        owner: request.owner.map(Into::into),
        meta: request.meta.into_inner(),
        citations: request.citations.iter().map(NewCitation::from).collect(),
        steps: request.steps.into_items(),
        patch_ref: request.patch_ref.map(Into::into),
        url: request.url.map(Into::into),
        dialog: request.dialog_id,
        contradicts: request.contradicts,
        supersedes: request.supersedes,
    })
}

fn response(saved: SaveOutcome) -> SaveResponse {
    SaveResponse {
        outcome: outcome(&saved.decision),
        id: saved.decision.record(),
        superseded: saved.decision.replaced().to_vec(),
        message: saved.message,
        reason: saved.reason,
        scores: JudgeScores {
            novelty: rounded(saved.scores.novelty),
            dup: rounded(saved.scores.dup),
            usefulness: rounded(saved.scores.usefulness),
        },
        injection_flags: saved.injection_flags.into_iter().map(ToOwned::to_owned).collect(),
        redactions: saved
            .redactions
            .into_iter()
            .map(|masked| Redaction { category: masked.category.to_owned(), count: masked.count })
            .collect(),
        citations: saved.citations.into_iter().map(records::citation).collect(),
        citations_left_out: saved.unknown_citations,
        kept: saved.kept,
        document_id: saved.document,
        left_out: saved.left_out,
        notes: saved.notes,
        contradicts: saved.contradicts,
        record: saved.record.map(records::record),
        vector_pending_reason: saved.vector_pending_reason.map(ToOwned::to_owned),
        judgment_wait_ms: None,
    }
}

pub(super) fn outcome(decision: &Decision) -> Outcome {
    match decision {
        Decision::Created(_) => Outcome::Created,
        Decision::Merged(_) => Outcome::Merged,
        Decision::Superseded { .. } => Outcome::Superseded,
        Decision::Proposed(_) => Outcome::Proposed,
        Decision::Duplicate(_) => Outcome::Duplicate,
        Decision::Quarantined(_) => Outcome::Quarantined,
        Decision::Rejected(_) | Decision::Forbidden => Outcome::Rejected,
    }
}
