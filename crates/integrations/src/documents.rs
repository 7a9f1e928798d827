//! Documents that a client sends: ADRs, wiki pages, guides and conversations.

use mc_contract::ValidationError;
use mc_contract::operations::ingest::{
    DocumentInput, DocumentOutcome, IngestDocs, IngestDocsResponse, StoredDocument, ThreadMessage,
};
use mc_domain::{AuditAction, UserId};
use mc_memory::content_filter::{FilterDecision, acquire_batch_permit};
use mc_memory::documents::{self, Body, ConversationMessage, Document, NewDocument, Prepared};
use mc_memory::quarantine::{self, QuarantineRequest};
use mc_memory::{ProjectContext, ReviewStatus};
use mc_sanitizer::mask;
use mc_store::audit::{self, NewEvent};
use mc_store::{Tx, Upserted};
use serde_json::json;
use uuid::Uuid;

use crate::Error;

/// Stores all documents of a request, or none. The policy may quarantine some of them.
pub async fn store(
    ctx: &ProjectContext,
    saved_by: UserId,
    request: IngestDocs,
) -> Result<IngestDocsResponse, Error> {
    let source = String::from(request.source);
    let documents = request.documents.into_iter().map(|input| NewDocument {
        saved_by: Some(saved_by),
        connection: None,
        source: source.clone(),
        document: document(input),
    });
    let (key, policy) = (ctx.memory.fairness_key(), &ctx.memory.policy);
    let _permit = acquire_batch_permit(key).await;
    let review_status = ReviewStatus::Unreviewed;
    let prepared = documents::prepare_all(key, policy, documents.collect(), review_status).await;
    check_policy(&prepared)?;
    let mut response = IngestDocsResponse::default();
    let mut tx = ctx.store.begin().await?;
    let mut quarantined = Vec::new();
    for one in prepared {
        if let FilterDecision::Quarantine(reasons) = one.decision {
            quarantined.push((one.incoming, one.doc, reasons));
            continue;
        }
        let (id, outcome) = one.write(&mut tx, ctx.project.id).await?;
        add(&mut response, one.doc.doc_id, id.into(), stored(outcome));
    }
    record_event(&mut tx, &source, &response);
    for (incoming, doc, reasons) in quarantined {
        let request = QuarantineRequest {
            project: ctx.project.id,
            kind: quarantine::DOCUMENT,
            reasons,
            beginning: doc.content.as_str(),
            request: &incoming,
        };
        let id = quarantine::create_in(&mut tx, &ctx.memory, request).await?;
        add(&mut response, doc.doc_id, id.into(), DocumentOutcome::Quarantined);
    }
    tx.commit().await?;
    Ok(response)
}

/// Checks that the policy rejects no document.
fn check_policy(prepared: &[Prepared]) -> Result<(), ValidationError> {
    for (index, one) in prepared.iter().enumerate() {
        if let FilterDecision::Reject(reasons) = &one.decision {
            let reasons = reasons.join(", ");
            let rule = format!("holds what the project's policy forbids: {reasons}");
            return Err(ValidationError::new(format!("documents[{index}]"), rule));
        }
    }
    Ok(())
}

fn record_event(tx: &mut Tx, source: &str, response: &IngestDocsResponse) {
    let (created, updated) = (response.created, response.updated);
    let event = NewEvent::new(AuditAction::DocumentsIngested, mask(source).text.as_str());
    audit::record(tx, event.with(json!({ "created": created, "updated": updated })));
}

fn stored(outcome: Upserted) -> DocumentOutcome {
    match outcome {
        Upserted::Created => DocumentOutcome::Created,
        Upserted::Updated => DocumentOutcome::Updated,
        Upserted::Unchanged => DocumentOutcome::Unchanged,
    }
}

/// Adds a document to the response, and counts it.
fn add(response: &mut IngestDocsResponse, doc_id: String, id: Uuid, outcome: DocumentOutcome) {
    let count = match outcome {
        DocumentOutcome::Created => &mut response.created,
        DocumentOutcome::Updated => &mut response.updated,
        DocumentOutcome::Unchanged => &mut response.unchanged,
        DocumentOutcome::Quarantined => &mut response.quarantined,
    };
    *count += 1;
    response.documents.push(StoredDocument { doc_id, id, outcome });
}

fn document(input: DocumentInput) -> Document {
    let text = input.content.map(|content| Body::Text(content.into()));
    let thread = || {
        let messages = input.messages.into_iter().flatten().map(message);
        Body::Conversation(messages.collect())
    };
    Document {
        doc_id: input.doc_id.into(),
        title: input.title.into(),
        body: text.unwrap_or_else(thread),
        url: input.url.map(Into::into).unwrap_or_default(),
        scope: input.scope.into_items(),
        tags: input.tags.into_items(),
    }
}

fn message(message: ThreadMessage) -> ConversationMessage {
    ConversationMessage {
        author: message.author.map(Into::into),
        sent_at: message.sent_at,
        text: message.text.into(),
    }
}
