//! The answer of a dialog that follows a reasoning schema, and the notes that it proposes.

use mc_domain::{DialogId, DialogOutcome, ProjectId, RecordKind, Trust, Visibility};
use mc_sgr::{Answer, FieldValue, Note, Schema, notes, summary};
use mc_store::dialogs::{AnswerField, NewAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SaveDialog;
use crate::content_filter::{ContentFilter, ReviewStatus};
use crate::{Error, MemoryContext, SaveOutcome, SaveRequest, save_reviewed, sgr};

/// An answer by a reasoning schema, not yet checked or masked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DialogAnswer {
    /// Name of the schema.
    pub schema: String,
    /// A JSON object with one field for each step.
    pub answer: Value,
}

/// A note that was proposed from an answer.
#[derive(Debug, Clone)]
pub struct ProposedNote {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// What became of it; `None` if it could not be saved.
    pub outcome: Option<SaveOutcome>,
}

/// An answer that follows its schema.
pub(super) struct CheckedAnswer {
    schema: Schema,
    answer: Answer,
}

impl CheckedAnswer {
    /// Checks an answer by its schema, as the project has it now.
    pub(super) async fn of(
        ctx: &MemoryContext,
        project: ProjectId,
        given: &DialogAnswer,
    ) -> Result<Self, Error> {
        let schema = sgr::get(&ctx.store, Some(project), &given.schema).await?.schema;
        let answer = schema.check_answer(&given.answer)?;
        Ok(Self { schema, answer })
    }

    /// Returns the answer with its texts masked.
    pub(super) fn masked(&self, filter: &mut ContentFilter) -> NewAnswer {
        let field = |value: &FieldValue, filter: &mut ContentFilter| match value {
            FieldValue::Text(text) | FieldValue::Diff(text) => {
                AnswerField::Text(filter.filter(text))
            }
            FieldValue::List(items) => {
                AnswerField::List(items.iter().map(|item| filter.filter(item)).collect())
            }
        };
        let fields = self.answer.fields();
        let fields = fields.map(|(name, value)| (name.to_owned(), field(value, filter))).collect();
        NewAnswer { schema: self.schema.name().to_owned(), fields }
    }

    /// Returns the result of the dialog as text, if the schema has fields for it.
    pub(super) fn summary(&self) -> Option<String> {
        summary(&self.answer)
    }

    /// Proposes the notes of a dialog that has succeeded to the team. Each is judged as any other
    /// proposal, so a repeated request proposes none twice. The dialog is stored before, so a note
    /// that can't be saved is reported and fails no request.
    pub(super) async fn propose(
        &self,
        ctx: &MemoryContext,
        request: &SaveDialog,
        dialog: DialogId,
        review_status: ReviewStatus,
    ) -> Vec<ProposedNote> {
        if request.outcome != Some(DialogOutcome::Succeeded) {
            return Vec::new();
        }
        // The quarantine item has the dialog, and not its notes.
        let review_status = match review_status {
            ReviewStatus::Released(_) => ReviewStatus::Reviewed,
            status => status,
        };
        let mut proposed = Vec::new();
        for note in notes(&self.schema, &self.answer) {
            let kind = note.kind;
            let proposal = proposal(request, dialog, note);
            let outcome = save_reviewed(ctx, &proposal, review_status).await.inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::error!(error, dialog.id = %dialog, "a note of a dialog was not proposed");
            });
            proposed.push(ProposedNote { kind, outcome: outcome.ok() });
        }
        proposed
    }
}

fn proposal(request: &SaveDialog, dialog: DialogId, note: Note) -> SaveRequest {
    let Note { kind, title, content, steps, tags } = note;
    SaveRequest {
        saved_by: request.saved_by,
        visibility: Visibility::Proposed,
        trust: if request.is_searchable { Trust::Team } else { Trust::Untrusted },
        title,
        task_external_id: request.task_external_id.clone(),
        tags,
        steps,
        dialog: Some(dialog),
        ..SaveRequest::new(request.project, request.principal.as_str(), kind, content)
    }
}
