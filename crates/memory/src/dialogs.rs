//! Dialogs: stored masked, condensed for search, and linked to tasks and records.

mod answer;

use std::sync::Arc;

use mc_contract::operations::task::Task;
use mc_domain::{
    AuditAction, DialogId, DialogOutcome, Policy, ProjectId, QuarantineItemId, RecordId, TaskId,
    UserId,
};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, NewEvent};
use mc_store::dialogs::{self, Message, NewAnswer, NewDialog};
use mc_store::passages::{self, NewPassage, PassageSource};
use mc_store::{Tx, tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus, run_limited};
use crate::distill::{MAX_CHARS, WHOLE_MAX_CHARS, condense};
use crate::judge::reject;
use crate::quarantine::{self, QuarantineRequest};
use crate::text::cut;
use crate::{Error, MemoryContext};
use answer::CheckedAnswer;
pub use answer::{DialogAnswer, ProposedNote};

/// A dialog to save, not yet masked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaveDialog {
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Id of a known dialog, which is replaced.
    pub id: Option<DialogId>,
    /// Task of the dialog, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Developer who spoke with the assistant.
    pub developer: Option<String>,
    /// Name of the user who saves it, for the history of records that it proposes.
    #[serde(default)]
    pub principal: String,
    /// User who saves it.
    pub saved_by: Option<UserId>,
    /// Whether its saver may decide what the team recalls; else it is stored and not searchable.
    pub is_searchable: bool,
    /// Whether dialogs of others may be replaced.
    pub replaces_any: bool,
    /// Role and content of each message, oldest first.
    pub messages: Vec<(String, String)>,
    /// The caller's summary; if there is none, the dialog is condensed.
    pub distilled: Option<String>,
    /// How the dialog ended.
    #[serde(default)]
    pub outcome: Option<DialogOutcome>,
    /// Version of the system prompt used in it.
    #[serde(default)]
    pub prompt_version: Option<String>,
    /// The answer by a reasoning schema.
    #[serde(default)]
    pub answer: Option<DialogAnswer>,
}

/// A link between a task and a dialog, records, or both.
#[derive(Debug, Clone)]
pub struct LinkIssue {
    /// Project of the task.
    pub project: ProjectId,
    /// Task, by the tracker's id; one not synced yet is stored with its id alone.
    pub task_external_id: String,
    /// Dialog that belongs to the task.
    pub dialog: Option<DialogId>,
    /// Whether dialogs of others may be moved to the task.
    pub moves_any: bool,
    /// Records that belong to the task.
    pub records: Vec<RecordId>,
}

/// Linked task, dialog and records.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The task, as far as it is known.
    pub task: Task,
    /// The dialog that was linked.
    pub dialog: Option<DialogId>,
    /// The records that were linked.
    pub records: Vec<RecordId>,
    /// Requested records that do not exist or are not live in this project.
    pub unknown: Vec<RecordId>,
}

/// Outcome of saving a dialog.
#[derive(Debug, Clone)]
pub enum SaveDialogOutcome {
    /// The dialog was saved.
    Kept {
        /// Its id.
        id: DialogId,
        /// The notes that its answer proposes to the team, with the decision about each.
        proposals: Vec<ProposedNote>,
    },
    /// The dialog is in quarantine.
    Quarantined(QuarantineItemId),
}

/// Saves a dialog, masked, and indexes its summary for search. Its answer has to follow its
/// reasoning schema; if the dialog has succeeded, notes of the answer are proposed to the team.
pub async fn save_dialog(
    ctx: &MemoryContext,
    request: &SaveDialog,
    review_status: ReviewStatus,
) -> Result<SaveDialogOutcome, Error> {
    let id = request.id.unwrap_or_else(DialogId::generate);
    let answer = match &request.answer {
        Some(given) => Some(Arc::new(CheckedAnswer::of(ctx, request.project, given).await?)),
        None => None,
    };
    let SanitizedDialog { messages, distilled, developer, prompt_version, new_answer, decision } = {
        let (request, policy, answer) = (request.clone(), ctx.policy.clone(), answer.clone());
        let work = move || sanitize(&request, answer.as_deref(), &policy, review_status);
        run_limited(ctx.fairness_key(), work).await
    };
    match decision {
        FilterDecision::Reject(reasons) => return Err(Error::Forbidden(reasons.join(", "))),
        FilterDecision::Quarantine(reasons) => {
            return quarantine_dialog(ctx, request, &distilled, reasons).await;
        }
        FilterDecision::Accept { .. } => {}
    }
    let is_trusted =
        request.is_searchable && decision == FilterDecision::Accept { suspicious: false };
    let is_indexed = is_trusted && reject(distilled.as_str()).is_none();
    let mut tx = ctx.store.begin().await?;
    quarantine::claim(&mut tx, review_status).await?;
    if let ReviewStatus::Released(hold) = review_status
        && dialogs::is_newer(&mut tx, id, hold).await?
    {
        return Err(Error::QuarantineItemOutdated(hold));
    }
    let task = match &request.task_external_id {
        Some(external) => Some(tasks::ensure(&mut tx, request.project, external).await?),
        None => None,
    };
    let dialog = NewDialog {
        id,
        task,
        developer: developer.as_ref(),
        messages: &messages,
        distilled: &distilled,
        outcome: request.outcome,
        prompt_version: prompt_version.as_ref(),
        answer: new_answer.as_ref(),
        is_searchable: is_indexed,
        saved_by: request.saved_by,
        replaces_any: request.replaces_any,
    };
    if !dialogs::put(&mut tx, request.project, &dialog).await? {
        return Err(Error::UnknownDialog(id));
    }
    let source = PassageSource::Dialog(id);
    if is_indexed {
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
    let proposals = match answer {
        Some(answer) => answer.propose(ctx, request, id, review_status).await,
        None => Vec::new(),
    };
    Ok(SaveDialogOutcome::Kept { id, proposals })
}

/// Quarantines a dialog, without tool results, which no dialog stores.
async fn quarantine_dialog(
    ctx: &MemoryContext,
    request: &SaveDialog,
    distilled: &Sanitized,
    reasons: Vec<String>,
) -> Result<SaveDialogOutcome, Error> {
    let messages = without_tool_results(&request.messages);
    let request = SaveDialog { messages, ..request.clone() };
    let item = QuarantineRequest {
        project: request.project,
        kind: "dialog",
        reasons,
        beginning: distilled.as_str(),
        request: &request,
    };
    Ok(SaveDialogOutcome::Quarantined(quarantine::create(ctx, item).await?))
}

/// Links an issue with a dialog and records.
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
        .ok_or(mc_store::Error::DeletedConcurrently)?;
    let mut unknown = request.records.clone();
    unknown.retain(|id| !records.contains(id));
    Ok(Linked { task, dialog, records, unknown })
}

async fn link_dialog(
    tx: &mut Tx,
    request: &LinkIssue,
    task: TaskId,
) -> Result<Option<DialogId>, Error> {
    let Some(dialog) = request.dialog else { return Ok(None) };
    let linked = dialogs::link(tx, request.project, dialog, task, request.moves_any).await?;
    if linked { Ok(Some(dialog)) } else { Err(Error::UnknownDialog(dialog)) }
}

/// A masked dialog with the policy's decision.
struct SanitizedDialog {
    messages: Vec<Message>,
    distilled: Sanitized,
    developer: Option<Sanitized>,
    prompt_version: Option<Sanitized>,
    new_answer: Option<NewAnswer>,
    decision: FilterDecision,
}

fn sanitize(
    request: &SaveDialog,
    answer: Option<&CheckedAnswer>,
    policy: &Policy,
    review_status: ReviewStatus,
) -> SanitizedDialog {
    let mut filter = ContentFilter::new(policy, review_status);
    let messages: Vec<_> =
        request.messages.iter().map(|(role, text)| message(role, text, &mut filter)).collect();
    let new_answer = answer.map(|answer| answer.masked(&mut filter));
    let distilled = distilled(request, answer, &messages, &mut filter);
    let developer = request.developer.as_ref().map(|name| filter.filter(name));
    let prompt_version = request.prompt_version.as_ref().map(|version| filter.filter(version));
    let decision = filter.decision();
    SanitizedDialog { messages, distilled, developer, prompt_version, new_answer, decision }
}

/// Masks a message. A tool result is replaced by a note of its length.
fn message(role: &str, text: &str, filter: &mut ContentFilter) -> Message {
    let content = if role == "tool" {
        filter.filter_again(&tool_result_note(text))
    } else {
        filter.filter(text)
    };
    Message { role: role.to_owned(), content }
}

fn without_tool_results(messages: &[(String, String)]) -> Vec<(String, String)> {
    let kept = |(role, text): &(String, String)| {
        let text = if role == "tool" { tool_result_note(text) } else { text.clone() };
        (role.clone(), text)
    };
    messages.iter().map(kept).collect()
}

/// Replaces a tool result by a note of its length. A note already there, as in a dialog from
/// quarantine, stays; text that only resembles one is replaced.
fn tool_result_note(text: &str) -> String {
    let note = |characters: usize| format!("(a tool's answer of {characters} characters)");
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_note = digits.parse().is_ok_and(|characters| text == note(characters));
    if is_note { text.to_owned() } else { note(text.chars().count()) }
}

/// Returns the caller's summary, else that of the answer, else the condensed messages of users and
/// the assistant.
fn distilled(
    request: &SaveDialog,
    answer: Option<&CheckedAnswer>,
    messages: &[Message],
    filter: &mut ContentFilter,
) -> Sanitized {
    let of_answer = || answer.and_then(CheckedAnswer::summary);
    let (text, max) = if let Some(given) = &request.distilled.clone().or_else(of_answer) {
        (filter.filter_text(given), WHOLE_MAX_CHARS)
    } else {
        let spoken = messages.iter().filter(|m| matches!(m.role.as_str(), "user" | "assistant"));
        (spoken.map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n"), MAX_CHARS)
    };
    filter.filter_again(&condense(&text, max))
}

/// Builds the passage of a dialog from its summary and task.
pub(crate) fn passage(distilled: Sanitized, task_external_id: Option<String>) -> NewPassage {
    NewPassage {
        // A part of a sanitized text.
        title: Sanitized::stored(cut(distilled.as_str().lines().next().unwrap_or_default(), 80)),
        tags: task_external_id.into_iter().collect(),
        text: distilled,
        ..NewPassage::default()
    }
}
