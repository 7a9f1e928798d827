//! Conversations between a developer and an assistant.

use mc_domain::{DialogId, DialogOutcome, ProjectId, QuarantineItemId, TaskId, UserId};
use mc_sanitizer::Sanitized;
use serde_json::Value;

use crate::{Result, Store, Tx};

/// A message of a dialog.
#[derive(Debug, Clone)]
pub struct Message {
    /// `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// Text of the message.
    pub content: Sanitized,
}

/// A dialog to write.
#[derive(Debug, Clone)]
pub struct NewDialog<'a> {
    /// Identifier; an existing dialog of the project is replaced.
    pub id: DialogId,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The developer who talked to the assistant.
    pub developer: Option<&'a Sanitized>,
    /// The messages, oldest first.
    pub messages: &'a [Message],
    /// The distilled text, by which search finds the dialog.
    pub distilled: &'a Sanitized,
    /// How it ended; `None` keeps the stored outcome.
    pub outcome: Option<DialogOutcome>,
    /// Version of the system prompt used in it; `None` keeps the stored one.
    pub prompt_version: Option<&'a Sanitized>,
    /// The answer by a reasoning schema; `None` keeps the stored one.
    pub answer: Option<&'a NewAnswer>,
    /// Whether search may find the dialog, which then has a passage.
    pub is_searchable: bool,
    /// The author; the transaction's principal if absent.
    pub saved_by: Option<UserId>,
    /// Whether it may replace another author's dialog.
    pub replaces_any: bool,
}

/// An answer by a reasoning schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAnswer {
    /// Name of the schema.
    pub schema: String,
    /// Its fields with content, by name.
    pub fields: Vec<(String, AnswerField)>,
}

/// The content of a field of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerField {
    /// A text.
    Text(Sanitized),
    /// A list of texts.
    List(Vec<Sanitized>),
}

impl NewAnswer {
    fn to_json(&self) -> Value {
        let field = |(name, field): &(String, AnswerField)| {
            let value = match field {
                AnswerField::Text(text) => text.as_str().into(),
                AnswerField::List(items) => items.iter().map(Sanitized::as_str).collect(),
            };
            (name.clone(), value)
        };
        Value::Object(self.fields.iter().map(field).collect())
    }
}

/// Writes a dialog. Returns `false` if the id belongs to another project, or to another author and
/// `replaces_any` is not set.
pub async fn put(tx: &mut Tx, project: ProjectId, dialog: &NewDialog<'_>) -> Result<bool> {
    let messages: Vec<_> = dialog
        .messages
        .iter()
        .map(|m| serde_json::json!({ "role": m.role, "content": m.content.as_str() }))
        .collect();
    let is_put = tx.has_changed(sqlx::query!(
        "insert into dialogs (id, project_id, task_id, developer, messages, distilled, saved_by,
             is_searchable, outcome, prompt_version, sgr_schema, sgr_answer)
         values ($1, $2, $3, $4, $5, $6, $7, $9, $10, $11, $12, $13)
         on conflict (id) do update set
             task_id = coalesce(excluded.task_id, dialogs.task_id),
             developer = coalesce(excluded.developer, dialogs.developer),
             messages = excluded.messages, distilled = excluded.distilled,
             outcome = coalesce(excluded.outcome, dialogs.outcome),
             prompt_version = coalesce(excluded.prompt_version, dialogs.prompt_version),
             sgr_schema = coalesce(excluded.sgr_schema, dialogs.sgr_schema),
             sgr_answer = coalesce(excluded.sgr_answer, dialogs.sgr_answer),
             saved_by = excluded.saved_by, is_searchable = excluded.is_searchable,
                 updated_at = now(), sent_at = now()
         where dialogs.project_id = excluded.project_id
             and ($8 or dialogs.saved_by is null or dialogs.saved_by = excluded.saved_by)",
        dialog.id.0,
        project.0,
        dialog.task.map(|id| id.0),
        dialog.developer.map(Sanitized::as_str),
        Value::Array(messages),
        dialog.distilled.as_str(),
        dialog.saved_by.or(tx.principal()).map(|user| user.0),
        dialog.replaces_any,
        dialog.is_searchable,
        dialog.outcome.map(DialogOutcome::as_str),
        dialog.prompt_version.map(Sanitized::as_str),
        dialog.answer.map(|answer| answer.schema.as_str()),
        dialog.answer.map(NewAnswer::to_json)
    ));
    if !is_put.await? {
        return Ok(false);
    }
    if dialog.outcome.is_some() || dialog.prompt_version.is_some() {
        put_outcome(tx, dialog.id).await?;
    }
    Ok(true)
}

/// Records the outcome of a dialog that states a version of the system prompt, unless the same was
/// reported before. Nobody reports for others: a dialog that a maintainer releases from quarantine
/// has no outcome here.
async fn put_outcome(tx: &mut Tx, dialog: DialogId) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into dialog_outcomes (project_id, dialog_id, user_id, prompt_version, outcome)
         select d.project_id, d.id, d.saved_by, d.prompt_version::int, d.outcome from dialogs d
         where d.id = $1 and d.saved_by = $2 and d.outcome is not null
             and d.prompt_version ~ '^[0-9]{1,9}$'
         on conflict do nothing",
        dialog.0,
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Returns whether the stored dialog was submitted after a quarantine item was created. Locks the
/// dialog until the transaction ends.
pub async fn is_newer(tx: &mut Tx, dialog: DialogId, than: QuarantineItemId) -> Result<bool> {
    let newer = sqlx::query_scalar!(
        r#"select d.sent_at > q.created_at and d.messages <> '[]' as "is_newer!"
           from dialogs d join quarantine_items q on q.id = $2 where d.id = $1 for update of d"#,
        dialog.0,
        than.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    Ok(newer.unwrap_or(false))
}

/// Sets the dialog's submission time to that of the quarantine item that it was released from.
pub async fn copy_sent_at(tx: &mut Tx, dialog: DialogId, item: QuarantineItemId) -> Result<()> {
    tx.run(sqlx::query!(
        "update dialogs d set sent_at = q.created_at from quarantine_items q where d.id = $1
             and q.id = $2",
        dialog.0,
        item.0
    ))
    .await
}

/// Links a dialog to a task. Returns `false` if the project has no such dialog, or another author's
/// and `moves_any` is not set.
pub async fn link(
    tx: &mut Tx,
    project: ProjectId,
    dialog: DialogId,
    task: TaskId,
    moves_any: bool,
) -> Result<bool> {
    tx.has_changed(sqlx::query!(
        "update dialogs set task_id = $3, updated_at = now() where id = $1 and project_id = $2
             and ($4 or saved_by is null or saved_by = $5)",
        dialog.0,
        project.0,
        task.0,
        moves_any,
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Returns whether the project has the dialog.
pub async fn exists(store: &Store, project: ProjectId, dialog: DialogId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists(select 1 from dialogs where id = $1 and project_id = $2) as "exists!""#,
        dialog.0,
        project.0
    )
    .fetch_one(&mut *store.read().await?)
    .await?)
}
