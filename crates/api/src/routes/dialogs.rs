//! `/dialogs`: conversations between a developer and an assistant.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_domain::{DialogId, ProjectId, ProjectKey, TaskId};
use mc_sanitizer::Sanitized;
use mc_store::dialogs::{self, Message, NewDialog};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::{Tx, tasks};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::projects;
use crate::ApiState;
use crate::check::{self, Check, Invalid};
use crate::extract::ValidJson;
use crate::limits;
use crate::problem::Problem;

/// A dialog to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "insales",
    "task_external_id": "CS-214",
    "developer": "vera",
    "messages": [
        {"role": "user", "content": "Why is the trigger delay nil?"},
        {"role": "assistant", "content": "delay_unit and trigger_delay_unit differ."}
    ],
    "distilled": "The delay was nil because the two units differed."
}))]
pub struct DialogEntry {
    project_key: String,
    /// An earlier answer's id, to replace that dialog; a new one when absent.
    id: Option<Uuid>,
    task_external_id: Option<String>,
    developer: Option<String>,
    /// 1 to 500 messages, oldest first.
    messages: Vec<MessageEntry>,
    /// What is worth finding of it; only this is searched.
    distilled: Option<String>,
}

/// One message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageEntry {
    role: Role,
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

/// A [`DialogEntry`] as checked and masked.
#[derive(Debug)]
pub struct CheckedDialog {
    project: ProjectKey,
    id: DialogId,
    task: Option<String>,
    developer: Option<String>,
    messages: Vec<Message>,
    distilled: Option<Sanitized>,
}

impl Check for DialogEntry {
    type Checked = CheckedDialog;

    fn check(self) -> Result<CheckedDialog, Invalid> {
        let task = self.task_external_id;
        let distilled = check::optional_text("distilled", self.distilled, limits::CONTENT)?;
        Ok(CheckedDialog {
            project: check::project_key("project_key", &self.project_key)?,
            id: self.id.map_or_else(DialogId::generate, DialogId),
            task: check::optional_line("task_external_id", task, limits::EXTERNAL_ID)?,
            developer: check::optional_line("developer", self.developer, limits::NAME)?,
            messages: check::filled_records("messages", self.messages, limits::MESSAGES)?,
            distilled: distilled.map(|text| mc_sanitizer::mask(&text).text),
        })
    }
}

impl Check for MessageEntry {
    type Checked = Message;

    fn check(self) -> Result<Message, Invalid> {
        let content = check::text("content", &self.content, limits::MESSAGE)?;
        Ok(Message {
            role: self.role.as_str().to_owned(),
            content: mc_sanitizer::mask(&content).text,
        })
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

/// Keep a dialog.
#[utoipa::path(
    post, path = "/dialogs", tag = "memory", request_body = DialogEntry,
    responses((status = 201, description = "Kept", body = DialogAnswer))
)]
pub async fn create(
    State(api): State<ApiState>,
    ValidJson(dialog): ValidJson<DialogEntry>,
) -> Result<(StatusCode, Json<DialogAnswer>), Problem> {
    let project = projects::named(&api.store, &dialog.project).await?;
    let mut tx = api.store.begin().await?;
    let task = match &dialog.task {
        Some(external_id) => Some(tasks::ensure(&mut tx, project.id, external_id).await?),
        None => None,
    };
    let nothing = Sanitized::stored(String::new());
    let row = NewDialog {
        id: dialog.id,
        task,
        developer: dialog.developer.as_deref(),
        messages: &dialog.messages,
        distilled: dialog.distilled.as_ref().unwrap_or(&nothing),
    };
    if !dialogs::put(&mut tx, project.id, &row).await? {
        return Err(unknown_dialog(dialog.id).field("id"));
    }
    let passages: Vec<_> = dialog.distilled.into_iter().map(searchable).collect();
    passages::replace(&mut tx, project.id, PassageSource::Dialog(dialog.id), &passages).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(DialogAnswer { id: dialog.id.into() })))
}

/// Links the dialog that a request names to a task, or makes an empty one for it.
pub async fn linked_to(
    tx: &mut Tx,
    project: ProjectId,
    task: TaskId,
    dialog: Option<DialogId>,
) -> Result<DialogId, Problem> {
    if let Some(id) = dialog {
        let is_known = dialogs::link(tx, project, id, task).await?;
        return if is_known { Ok(id) } else { Err(unknown_dialog(id).field("dialog_id")) };
    }
    let id = DialogId::generate();
    let distilled = Sanitized::stored(String::new());
    let row =
        NewDialog { id, task: Some(task), developer: None, messages: &[], distilled: &distilled };
    dialogs::put(tx, project, &row).await?;
    Ok(id)
}

fn unknown_dialog(id: DialogId) -> Problem {
    Problem::not_found(format!("the project has no dialog {id}"))
        .hint("leave the id out to begin a new dialog")
}

fn searchable(distilled: Sanitized) -> NewPassage {
    NewPassage {
        record_kind: None,
        title: String::new(),
        place: String::new(),
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        language: String::new(),
        text: distilled,
    }
}
