//! `/dialogs`: conversations between a developer and an assistant.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mc_domain::{DialogId, Permission, ProjectKey};
use mc_memory::{ReviewStatus, SaveDialog, SaveDialogOutcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// A dialog to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "developer": "vera",
    "messages": [
        {"role": "user", "content": "Why is the trigger delay nil?"},
        {"role": "assistant", "content": "delay_unit and trigger_delay_unit differ."}
    ],
    "distilled": "The delay was nil because the two units differed."
}))]
pub struct CreateDialog {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// An earlier answer's id, to replace that dialog of one's own; a new one when absent.
    id: Option<Uuid>,
    #[schema(value_type = Option<schemas::ExternalId>)]
    task_external_id: Option<String>,
    #[schema(value_type = Option<schemas::Name>)]
    developer: Option<String>,
    /// 1 to 500 messages, oldest first.
    #[schema(min_items = 1, max_items = 500)]
    messages: Vec<MessageInput>,
    /// What is worth finding of it; only this is searched. Condensed from what was said when absent.
    #[schema(value_type = Option<schemas::StatementText>)]
    distilled: Option<String>,
}

/// One message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageInput {
    role: Role,
    #[schema(value_type = schemas::MessageText)]
    content: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The developer.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// A tool's result.
    Tool,
}

/// A [`DialogEntry`] as checked.
#[derive(Debug)]
pub struct ValidatedDialog {
    project: ProjectKey,
    id: Option<DialogId>,
    task: Option<String>,
    developer: Option<String>,
    /// Role and content.
    messages: Vec<(String, String)>,
    distilled: Option<String>,
}

impl Validate for CreateDialog {
    type Checked = ValidatedDialog;

    fn check(self) -> Result<ValidatedDialog, ValidationError> {
        let task = self.task_external_id;
        Ok(ValidatedDialog {
            project: validate::project_key("project_key", &self.project_key)?,
            id: self.id.map(DialogId),
            task: validate::optional_identifier("task_external_id", task, limits::EXTERNAL_ID)?,
            developer: validate::optional_line("developer", self.developer, limits::NAME)?,
            messages: validate::filled_records("messages", self.messages, limits::MESSAGES)?,
            distilled: validate::optional_text("distilled", self.distilled, limits::STATEMENT)?,
        })
    }
}

impl Validate for MessageInput {
    type Checked = (String, String);

    fn check(self) -> Result<(String, String), ValidationError> {
        let content = validate::text("content", &self.content, limits::MESSAGE)?;
        Ok((self.role.as_str().to_owned(), content))
    }
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// The kept dialog.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreateDialogResponse {
    id: Uuid,
}

/// Why a dialog is not kept yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuarantinedResponse {
    /// In quarantine.
    held: Uuid,
    /// What is to be done about it.
    reason: &'static str,
}

/// Keep a dialog.
#[utoipa::path(
    post, path = "/dialogs", tag = "memory", request_body = CreateDialog,
    responses(
        (status = 201, description = "Kept", body = CreateDialogResponse),
        (status = 202, description = "In quarantine: a maintainer decides", body = QuarantinedResponse),
    )
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(dialog): ValidJson<CreateDialog>,
) -> Result<Response, Problem> {
    let here = api.authorize(&caller, &dialog.project, Permission::Propose).await?;
    let request = SaveDialog {
        project: here.project.id,
        id: dialog.id,
        task_external_id: dialog.task,
        developer: dialog.developer,
        saved_by: Some(caller.user),
        is_searchable: here.project.role >= here.project.policy.min_roles.save,
        replaces_any: here.project.role >= here.project.policy.min_role(Permission::Curate),
        messages: dialog.messages,
        distilled: dialog.distilled,
    };
    let kept = mc_memory::save_dialog(&here.memory, &request, ReviewStatus::Unreviewed).await;
    let kept = kept.map_err(|error| match error {
        // Here the dialog goes by the name of the entry's own field.
        mc_memory::Error::UnknownDialog(_) => Problem::from(error).field("id"),
        mc_memory::Error::Forbidden(_) => Problem::from(error).field("messages"),
        other => other.into(),
    })?;
    Ok(match kept {
        SaveDialogOutcome::Kept(id) => {
            (StatusCode::CREATED, Json(CreateDialogResponse { id: id.into() })).into_response()
        }
        SaveDialogOutcome::Quarantined(id) => {
            let reason =
                "the project's policy holds it back; a maintainer decides (GET /quarantine)";
            (StatusCode::ACCEPTED, Json(QuarantinedResponse { held: id.into(), reason }))
                .into_response()
        }
    })
}
