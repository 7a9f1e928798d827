//! Conversations: kept, condensed to what is worth finding, linked to tasks and records.

use mc_domain::{
    AuditAction, DialogId, Policy, ProjectId, QuarantineItemId, RecordId, TaskId, UserId,
};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, NewEvent};
use mc_store::dialogs::{self, Message, NewDialog};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::{Tx, tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus, run_blocking};
use crate::distill::{MAX_CHARS, WHOLE_MAX_CHARS, condense};
use crate::judge::reject;
use crate::quarantine::{self, QuarantineRequest};
use crate::text::cut;
use crate::{Error, MemoryContext};

/// A dialog to keep.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaveDialog {
    /// Project.
    pub project: ProjectId,
    /// The dialog, if it is known already: it is replaced.
    pub id: Option<DialogId>,
    /// The task it belongs to, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Who spoke with the assistant.
    pub developer: Option<String>,
    /// Who saves it.
    pub saved_by: Option<UserId>,
    /// Whether its saver may decide what the team recalls; else it is kept, and not found.
    pub is_searchable: bool,
    /// Whether dialogs of others may be replaced.
    pub replaces_any: bool,
    /// Role and content of each message, oldest first.
    pub messages: Vec<(String, String)>,
    /// What is worth finding of it, if the caller knows; else it is condensed here.
    pub distilled: Option<String>,
}

/// A link between a task, a dialog and records.
#[derive(Debug, Clone)]
pub struct LinkIssue {
    /// Project.
    pub project: ProjectId,
    /// The task, by the tracker's id; one that is not synced yet is noted by its id alone.
    pub task_external_id: String,
    /// The dialog; when none is named, the task's newest one that is still empty, else a new one.
    pub dialog: Option<DialogId>,
    /// Whether dialogs of others may be moved to the task.
    pub moves_any: bool,
    /// Who speaks in the new dialog.
    pub developer: Option<String>,
    /// Records that belong to the task.
    pub records: Vec<RecordId>,
}

/// What was linked.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The task as it is known.
    pub task: tasks::Task,
    /// The dialog.
    pub dialog: DialogId,
    /// The records that were linked.
    pub records: Vec<RecordId>,
    /// The records asked for that are not there, or not live in this project.
    pub unknown: Vec<RecordId>,
}

/// What became of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveDialogOutcome {
    /// It was kept.
    Kept(DialogId),
    /// It waits in quarantine.
    Quarantined(QuarantineItemId),
}

/// Keeps a dialog, masked, and makes it searchable by what it comes to.
pub async fn save_dialog(
    ctx: &MemoryContext,
    request: &SaveDialog,
    review_status: ReviewStatus,
) -> Result<SaveDialogOutcome, Error> {
    let id = request.id.unwrap_or_else(DialogId::generate);
    let Read { messages, distilled, developer, decision } = {
        let (request, policy) = (request.clone(), ctx.policy.clone());
        run_blocking(move || read(&request, &policy, review_status)).await
    };
    match decision {
        FilterDecision::Reject(reasons) => return Err(Error::Forbidden(reasons.join(", "))),
        FilterDecision::Quarantine(reasons) => {
            // What tools answered is not kept, here neither.
            let request =
                SaveDialog { messages: without_answers(&request.messages), ..request.clone() };
            let (project, kind, beginning) = (request.project, "dialog", distilled.as_str());
            let holding =
                QuarantineRequest { project, kind, reasons, beginning, request: &request };
            return Ok(SaveDialogOutcome::Quarantined(quarantine::hold(ctx, holding).await?));
        }
        FilterDecision::Accept { .. } => {}
    }
    let is_trusted =
        request.is_searchable && decision == FilterDecision::Accept { suspicious: false };
    let is_found = is_trusted && reject(distilled.as_str()).is_none();
    let mut tx = ctx.store.begin().await?;
    quarantine::claim(&mut tx, review_status).await?;
    if let ReviewStatus::Released(hold) = review_status
        && dialogs::is_newer(&mut tx, id, hold).await?
    {
        return Err(Error::Overtaken(hold));
    }
    let task = match &request.task_external_id {
        Some(external) => Some(tasks::ensure(&mut tx, request.project, external).await?),
        None => None,
    };
    let dialog = NewDialog {
        id,
        task,
        developer: developer.as_deref(),
        messages: &messages,
        distilled: &distilled,
        is_searchable: is_found,
        saved_by: request.saved_by,
        replaces_any: request.replaces_any,
    };
    if !dialogs::put(&mut tx, request.project, &dialog).await? {
        return Err(Error::UnknownDialog(id));
    }
    let source = PassageSource::Dialog(id);
    if is_found {
        let passage = passage(distilled, request.task_external_id.clone());
        passages::put_only(&mut tx, request.project, source, &passage).await?;
    } else {
        passages::remove(&mut tx, source).await?;
    }
    if let ReviewStatus::Released(hold) = review_status {
        dialogs::copy_sent_at(&mut tx, id, hold).await?;
    }
    quarantine::settle(&mut tx, review_status).await?;
    audit::record(&mut tx, NewEvent::new(AuditAction::DialogSaved, id));
    tx.commit().await?;
    Ok(SaveDialogOutcome::Kept(id))
}

/// Links an issue with the dialog at hand and with records.
pub async fn link_issue(ctx: &MemoryContext, request: &LinkIssue) -> Result<Linked, Error> {
    let mut tx = ctx.store.begin().await?;
    let task = tasks::ensure(&mut tx, request.project, &request.task_external_id).await?;
    let dialog = link_dialog(&mut tx, request, task).await?;
    let records = tasks::link_records(&mut tx, request.project, task, &request.records).await?;
    let detail = json!({ "dialog": dialog, "records": records });
    audit::record(&mut tx, NewEvent::new(AuditAction::TaskLinked, task).with(detail));
    tx.commit().await?;
    let task = tasks::find(&ctx.store, request.project, &request.task_external_id)
        .await?
        .ok_or(mc_store::Error::Gone)?;
    let mut unknown = request.records.clone();
    unknown.retain(|id| !records.contains(id));
    Ok(Linked { task, dialog, records, unknown })
}

async fn link_dialog(tx: &mut Tx, request: &LinkIssue, task: TaskId) -> Result<DialogId, Error> {
    if let Some(dialog) = request.dialog {
        let linked = dialogs::link(tx, request.project, dialog, task, request.moves_any).await?;
        return if linked { Ok(dialog) } else { Err(Error::UnknownDialog(dialog)) };
    }
    // The task's row is locked until the end, so two calls at once don't both open a dialog.
    if let Some(dialog) = dialogs::empty_of(tx, request.project, task).await? {
        return Ok(dialog);
    }
    let id = DialogId::generate();
    let developer =
        request.developer.as_ref().map(|name| mc_sanitizer::mask(name).text.into_string());
    let dialog = NewDialog {
        id,
        task: Some(task),
        developer: developer.as_deref(),
        messages: &[],
        distilled: &Sanitized::default(),
        is_searchable: false,
        saved_by: None,
        replaces_any: false,
    };
    dialogs::put(tx, request.project, &dialog).await?;
    Ok(id)
}

/// A dialog without secrets, and what is to become of it.
struct Read {
    messages: Vec<Message>,
    distilled: Sanitized,
    developer: Option<String>,
    decision: FilterDecision,
}

fn read(request: &SaveDialog, policy: &Policy, review_status: ReviewStatus) -> Read {
    let mut filter = ContentFilter::new(policy, review_status);
    let messages: Vec<_> =
        request.messages.iter().map(|(role, text)| message(role, text, &mut filter)).collect();
    let distilled = distilled(request, &messages, &mut filter);
    let developer = request.developer.as_ref().map(|name| filter.filter_text(name));
    Read { messages, distilled, developer, decision: filter.decision() }
}

/// What a tool answered is not kept: only that it did, and how much.
fn message(role: &str, text: &str, filter: &mut ContentFilter) -> Message {
    let content =
        if role == "tool" { filter.filter_again(&answer(text)) } else { filter.filter(text) };
    Message { role: role.to_owned(), content }
}

fn without_answers(messages: &[(String, String)]) -> Vec<(String, String)> {
    let kept = |(role, text): &(String, String)| {
        let text = if role == "tool" { answer(text) } else { text.clone() };
        (role.clone(), text)
    };
    messages.iter().map(kept).collect()
}

/// What is kept of a tool's answer. The note that stands for one already, as in a dialog that was
/// held, stays as it is; what merely looks like it is an answer like any other.
fn answer(text: &str) -> String {
    if is_note(text) { text.to_owned() } else { note(text.chars().count()) }
}

fn note(characters: usize) -> String {
    format!("(a tool's answer of {characters} characters)")
}

fn is_note(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<usize>().is_ok_and(|characters| text == note(characters))
}

/// The caller's own summary, whole; or what users and the assistant said, condensed, whose messages
/// are kept as they are. What tools and system prompts said is left out.
fn distilled(request: &SaveDialog, messages: &[Message], filter: &mut ContentFilter) -> Sanitized {
    let (text, max) = if let Some(given) = &request.distilled {
        (filter.filter_text(given), WHOLE_MAX_CHARS)
    } else {
        let said = messages.iter().filter(|m| matches!(m.role.as_str(), "user" | "assistant"));
        (said.map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n"), MAX_CHARS)
    };
    filter.filter_again(&condense(&text, max))
}

/// What search sees of a dialog that comes to this, and belongs to that task.
pub(crate) fn passage(distilled: Sanitized, task_external_id: Option<String>) -> NewPassage {
    NewPassage {
        title: cut(distilled.as_str().lines().next().unwrap_or_default(), 80),
        tags: task_external_id.into_iter().collect(),
        text: distilled,
        ..NewPassage::default()
    }
}
