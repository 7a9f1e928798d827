//! `/dialogs`: conversations between a developer and an assistant.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mc_contract::operations::dialog::{
    CreateDialog, CreateDialogResponse, DialogProposal, MessageInput, QuarantinedResponse,
};
use mc_contract::operations::save::SaveOutcome as Outcome;
use mc_domain::Permission;
use mc_integrations::issue_reference;
use mc_memory::{DialogAnswer, ProposedNote, ReviewStatus, SaveDialog, SaveDialogOutcome};

use super::save;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::openapi::Access;
use crate::problem::Problem;

/// Store a dialog.
///
/// Creates a dialog, or replaces one of the caller's. Search finds its summary. A dialog that the
/// project's policy holds back waits in quarantine (202). An answer by a reasoning schema has to
/// follow the schema (`GET /sgr/{schema}`); notes of a dialog that has succeeded are proposed.
#[utoipa::path(
    post, path = "/dialogs", tag = "memory", request_body = CreateDialog,
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses(
        (status = 201, description = "Stored", body = CreateDialogResponse),
        (status = 202, description = "Quarantined until a maintainer decides",
         body = QuarantinedResponse),
    )
)]
pub async fn create_dialog(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(dialog): JsonBody<CreateDialog>,
) -> Result<Response, Problem> {
    let here = api.authorize(&caller, &dialog.project_key, Permission::Propose).await?;
    let task = dialog.task_external_id.map(Into::into);
    let request = SaveDialog {
        project: here.project.id,
        id: dialog.id,
        task_external_id: issue_reference::resolve_optional(&here, task).await?,
        developer: dialog.developer.map(Into::into),
        principal: caller.name().to_owned(),
        saved_by: Some(caller.user),
        is_searchable: here.allows(Permission::Write),
        replaces_any: here.allows(Permission::Curate),
        messages: dialog.messages.into_iter().map(message).collect(),
        distilled: dialog.distilled.map(Into::into),
        outcome: dialog.outcome,
        prompt_version: dialog.prompt_version.map(Into::into),
        answer: dialog
            .schema
            .zip(dialog.answer)
            .map(|(schema, answer)| DialogAnswer { schema: schema.into(), answer }),
    };
    let saved = mc_memory::save_dialog(&here.memory, &request, ReviewStatus::Unreviewed).await;
    let saved = saved.map_err(|error| match error {
        // The request has its own names for these fields.
        mc_memory::Error::UnknownDialog(_) => Problem::from(error).field("id"),
        mc_memory::Error::Forbidden(_) => Problem::from(error).field("messages"),
        other => other.into(),
    })?;
    Ok(match saved {
        SaveDialogOutcome::Kept { id, proposals } => {
            let proposals = proposals.into_iter().map(proposal).collect();
            (StatusCode::CREATED, Json(CreateDialogResponse { id, proposals })).into_response()
        }
        SaveDialogOutcome::Quarantined(id) => {
            let reason =
                "withheld by the policy of the project; a maintainer decides (GET /quarantine)";
            let response =
                QuarantinedResponse { quarantine_item_id: id, reason: reason.to_owned() };
            (StatusCode::ACCEPTED, Json(response)).into_response()
        }
    })
}

fn proposal(note: ProposedNote) -> DialogProposal {
    let ProposedNote { kind, outcome } = note;
    let Some(outcome) = outcome else {
        let reason = "the service could not save it; send the dialog again, with its id".to_owned();
        return DialogProposal { kind, outcome: Outcome::Rejected, id: None, reason };
    };
    DialogProposal {
        kind,
        outcome: save::outcome(&outcome.decision),
        id: outcome.decision.record(),
        reason: outcome.reason,
    }
}

/// Role and content of a message.
fn message(message: MessageInput) -> (String, String) {
    (message.role.as_str().to_owned(), message.content.into())
}
