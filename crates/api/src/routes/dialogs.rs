//! `/dialogs`: conversations between a developer and an assistant.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mc_domain::{Action, DialogId, ProjectKey};
use mc_memory::{DialogKept, Looked, SaveDialog};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::ValidJson;
use crate::limits;
use crate::problem::Problem;
use crate::shapes;

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
pub struct DialogEntry {
    #[schema(value_type = shapes::ProjectKey)]
    project_key: String,
    /// An earlier answer's id, to replace that dialog of one's own; a new one when absent.
    id: Option<Uuid>,
    #[schema(value_type = Option<shapes::ExternalId>)]
    task_external_id: Option<String>,
    #[schema(value_type = Option<shapes::Name>)]
    developer: Option<String>,
    /// 1 to 500 messages, oldest first.
    #[schema(min_items = 1, max_items = 500)]
    messages: Vec<MessageEntry>,
    /// What is worth finding of it; only this is searched. Condensed from what was said when absent.
    #[schema(value_type = Option<shapes::StatementText>)]
    distilled: Option<String>,
}

/// One message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageEntry {
    role: Role,
    #[schema(value_type = shapes::MessageText)]
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
pub struct CheckedDialog {
    project: ProjectKey,
    id: Option<DialogId>,
    task: Option<String>,
    developer: Option<String>,
    /// Role and content.
    messages: Vec<(String, String)>,
    distilled: Option<String>,
}

impl Check for DialogEntry {
    type Checked = CheckedDialog;

    fn check(self) -> Result<CheckedDialog, Invalid> {
        let task = self.task_external_id;
        Ok(CheckedDialog {
            project: check::project_key("project_key", &self.project_key)?,
            id: self.id.map(DialogId),
            task: check::optional_identifier("task_external_id", task, limits::EXTERNAL_ID)?,
            developer: check::optional_line("developer", self.developer, limits::NAME)?,
            messages: check::filled_records("messages", self.messages, limits::MESSAGES)?,
            distilled: check::optional_text("distilled", self.distilled, limits::STATEMENT)?,
        })
    }
}

impl Check for MessageEntry {
    type Checked = (String, String);

    fn check(self) -> Result<(String, String), Invalid> {
        let content = check::text("content", &self.content, limits::MESSAGE)?;
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
pub struct DialogAnswer {
    id: Uuid,
}

/// Why a dialog is not kept yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldAnswer {
    /// In quarantine.
    held: Uuid,
    /// What is to be done about it.
    reason: &'static str,
}

/// Keep a dialog.
#[utoipa::path(
    post, path = "/dialogs", tag = "memory", request_body = DialogEntry,
    responses(
        (status = 201, description = "Kept", body = DialogAnswer),
        (status = 202, description = "In quarantine: a maintainer decides", body = HeldAnswer),
    )
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(dialog): ValidJson<DialogEntry>,
) -> Result<Response, Problem> {
    let here = api.enter(&caller, &dialog.project, Action::Propose).await?;
    let request = SaveDialog {
        project: here.project.id,
        id: dialog.id,
        task_external_id: dialog.task,
        developer: dialog.developer,
        saved_by: Some(caller.user),
        is_found: here.project.role >= here.project.policy.roles.save,
        replaces_any: here.project.role >= here.project.policy.least_role(Action::Curate),
        messages: dialog.messages,
        distilled: dialog.distilled,
    };
    let kept = mc_memory::save_dialog(&here.memory, &request, Looked::Nobody).await;
    let kept = kept.map_err(|error| match error {
        // Here the dialog goes by the name of the entry's own field.
        mc_memory::Error::UnknownDialog(_) => Problem::from(error).field("id"),
        mc_memory::Error::Forbidden(_) => Problem::from(error).field("messages"),
        other => other.into(),
    })?;
    Ok(match kept {
        DialogKept::Kept(id) => {
            (StatusCode::CREATED, Json(DialogAnswer { id: id.into() })).into_response()
        }
        DialogKept::Quarantined(id) => {
            let reason =
                "the project's policy holds it back; a maintainer decides (GET /quarantine)";
            (StatusCode::ACCEPTED, Json(HeldAnswer { held: id.into(), reason })).into_response()
        }
    })
}
