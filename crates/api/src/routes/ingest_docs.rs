//! `/ingest/docs`: ADRs, wiki pages, guides and conversations, as their source sends them.

use axum::Json;
use axum::extract::State;
use mc_contract::ValidationError;
use mc_contract::operations::ingest::{
    DocumentInput, DocumentOutcome, IngestDocs, IngestDocsResponse, StoredDocument, ThreadMessage,
};
use mc_domain::{AuditAction, Permission};
use mc_memory::ReviewStatus;
use mc_memory::content_filter::FilterDecision;
use mc_memory::documents::{self, Body, ConversationMessage, Document, NewDocument};
use mc_memory::quarantine::{self, QuarantineRequest};
use mc_sanitizer::mask;
use mc_store::Tx;
use mc_store::audit::{self, NewEvent};
use mc_store::docs::Outcome;
use serde_json::json;
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::JsonBody;
use crate::problem::Problem;

/// Store documents.
///
/// Stores all documents of the request or none. All members find them at once, so this takes the
/// role that may save for the team.
#[utoipa::path(
    post, path = "/ingest/docs", tag = "ingest", request_body = IngestDocs,
    responses((status = 200, description = "Stored; keyword search finds them",
               body = IngestDocsResponse))
)]
pub async fn ingest(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<IngestDocs>,
) -> Result<Json<IngestDocsResponse>, Problem> {
    let here = api.authorize(&caller, &request.project_key, Permission::Ingest).await?;
    let source = String::from(request.source);
    let saved_by = Some(caller.user);
    let each = request.documents.into_iter().map(|input| NewDocument {
        saved_by,
        connection: None,
        source: source.clone(),
        document: document(input),
    });
    let policy = &here.memory.policy;
    let prepared = documents::prepare_all(policy, each.collect(), ReviewStatus::Unreviewed).await;
    let forbidden = prepared.iter().enumerate().find_map(|(at, one)| match &one.decision {
        FilterDecision::Reject(reasons) => Some((at, reasons.join(", "))),
        _ => None,
    });
    if let Some((at, reasons)) = forbidden {
        let rule = format!("holds what the project's policy forbids: {reasons}");
        return Err(ValidationError::new(format!("documents[{at}]"), rule).into());
    }
    let mut response = IngestDocsResponse::default();
    let mut tx = here.store.begin().await?;
    let mut held = Vec::new();
    for one in prepared {
        if let FilterDecision::Quarantine(reasons) = one.decision {
            held.push((one.incoming, one.doc, reasons));
            continue;
        }
        let (id, outcome) = one.write(&mut tx, here.project.id).await?;
        add(&mut response, one.doc.doc_id, id.into(), stored(outcome));
    }
    record_event(&mut tx, mask(&source).text.as_str(), &response);
    for (incoming, doc, reasons) in held {
        let holding = QuarantineRequest {
            project: here.project.id,
            kind: "document",
            reasons,
            beginning: doc.content.as_str(),
            request: &incoming,
        };
        let id = quarantine::create_in(&mut tx, &here.memory, holding).await?;
        add(&mut response, doc.doc_id, id.into(), DocumentOutcome::Quarantined);
    }
    tx.commit().await?;
    Ok(Json(response))
}

fn record_event(tx: &mut Tx, source: &str, response: &IngestDocsResponse) {
    let (created, updated) = (response.created, response.updated);
    let event = NewEvent::new(AuditAction::DocumentsIngested, source);
    audit::record(tx, event.with(json!({ "created": created, "updated": updated })));
}

fn stored(outcome: Outcome) -> DocumentOutcome {
    match outcome {
        Outcome::Created => DocumentOutcome::Created,
        Outcome::Updated => DocumentOutcome::Updated,
        Outcome::Unchanged => DocumentOutcome::Unchanged,
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
