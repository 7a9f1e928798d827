//! `/ingest/docs`: ADRs, wiki pages, guides and conversations, as their source sends them.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{AuditAction, Permission, ProjectKey, QuarantineItemId};
use mc_memory::ReviewStatus;
use mc_memory::content_filter::FilterDecision;
use mc_memory::documents::{self, Body, ConversationMessage, Document, NewDocument};
use mc_memory::quarantine::{self, QuarantineRequest};
use mc_sanitizer::mask;
use mc_store::Tx;
use mc_store::audit::{self, NewEvent};
use mc_store::docs::{self, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::ValidJson;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// Documents to keep, all or none of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "source": "confluence",
    "documents": [{
        "doc_id": "12345",
        "title": "ADR Timing Rules",
        "content": "# Decision\n\nDelays are stored with their unit.",
        "url": "https://wiki.example.org/x/12345",
        "tags": ["adr"]
    }]
}))]
pub struct IngestDocs {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    /// Where they come from, such as `confluence`.
    #[schema(value_type = schemas::Word)]
    source: String,
    /// 1 to 200.
    #[schema(min_items = 1, max_items = 200)]
    documents: Vec<DocumentInput>,
}

/// A document; one with the same source and id is replaced.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentInput {
    /// Its id at its source.
    #[schema(value_type = schemas::ExternalId)]
    doc_id: String,
    #[schema(value_type = schemas::Title)]
    title: String,
    /// Markdown or plain text; tags and scope of a YAML front matter are added to those given.
    #[schema(value_type = Option<schemas::DocumentText>)]
    content: Option<String>,
    /// What was said, oldest first, in place of `content`: an issue with its comments, a thread.
    /// Each message is found by itself and read with the two before it. 1 to 500.
    #[schema(min_items = 1, max_items = 500)]
    messages: Option<Vec<ThreadMessage>>,
    #[schema(value_type = Option<schemas::WebUrl>)]
    url: Option<String>,
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    scope: Vec<String>,
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    tags: Vec<String>,
}

/// A message of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadMessage {
    /// Who wrote it, as people call them.
    #[schema(value_type = Option<schemas::Name>)]
    author: Option<String>,
    sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    #[schema(value_type = schemas::MessageText)]
    text: String,
}

/// A [`DocsIngest`] as checked; not yet masked.
#[derive(Debug)]
pub struct ValidatedDocs {
    project: ProjectKey,
    source: String,
    documents: Vec<Document>,
}

impl Validate for IngestDocs {
    type Checked = ValidatedDocs;

    fn check(self) -> Result<ValidatedDocs, ValidationError> {
        Ok(ValidatedDocs {
            project: validate::project_key("project_key", &self.project_key)?,
            source: source(&self.source)?,
            documents: validate::filled_records("documents", self.documents, limits::DOCUMENTS)?,
        })
    }
}

/// Where documents come from; files of repositories come by indexing them, and by that alone.
fn source(source: &str) -> Result<String, ValidationError> {
    let source = validate::line("source", source, limits::WORD)?;
    if source.starts_with("repo:") {
        return Err(ValidationError::new(
            "source",
            "must not begin with `repo:`; index the repository",
        ));
    }
    Ok(source)
}

impl Validate for DocumentInput {
    type Checked = Document;

    fn check(self) -> Result<Document, ValidationError> {
        let url =
            validate::optional("url", self.url, |field, url| validate::http_url(field, &url))?;
        Ok(Document {
            doc_id: validate::line("doc_id", &self.doc_id, limits::EXTERNAL_ID)?,
            title: validate::line("title", &self.title, limits::TITLE)?,
            body: body(self.content, self.messages)?,
            url: url.unwrap_or_default(),
            scope: validate::words("scope", self.scope)?,
            tags: validate::words("tags", self.tags)?,
        })
    }
}

fn body(
    content: Option<String>,
    messages: Option<Vec<ThreadMessage>>,
) -> Result<Body, ValidationError> {
    match (content, messages) {
        (Some(text), None) => Ok(Body::Text(validate::text("content", &text, limits::DOCUMENT)?)),
        (None, Some(messages)) => {
            let messages = validate::filled_records("messages", messages, limits::MESSAGES)?;
            Ok(Body::Conversation(messages))
        }
        (None, None) => Err(ValidationError::new("content", "is missing; give it, or `messages`")),
        (Some(_), Some(_)) => {
            Err(ValidationError::new("messages", "can't stand beside `content`; give one of them"))
        }
    }
}

impl Validate for ThreadMessage {
    type Checked = ConversationMessage;

    fn check(self) -> Result<ConversationMessage, ValidationError> {
        Ok(ConversationMessage {
            author: validate::optional_line("author", self.author, limits::NAME)?,
            sent_at: self.sent_at,
            text: validate::text("text", &self.text, limits::MESSAGE)?,
        })
    }
}

/// What was done with the documents.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct IngestDocsResponse {
    created: usize,
    updated: usize,
    unchanged: usize,
    /// Held back by the project's policy: a maintainer decides.
    quarantined: usize,
    /// In the order of the request, those in quarantine last.
    documents: Vec<DocumentOutcome>,
}

/// What was done with one document.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentOutcome {
    /// Its id at its source.
    doc_id: String,
    /// Its id here; in quarantine, that of what is held.
    id: Uuid,
    /// `created`, `updated`, `unchanged` or `quarantined`.
    outcome: &'static str,
}

/// Keep documents.
///
/// Everybody finds them at once, so this takes the role that saving for the team takes.
#[utoipa::path(
    post, path = "/ingest/docs", tag = "ingest", request_body = IngestDocs,
    responses((status = 200, description = "Kept, and keyword-searchable", body = IngestDocsResponse))
)]
pub async fn ingest(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<IngestDocs>,
) -> Result<Json<IngestDocsResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Ingest).await?;
    let ValidatedDocs { source, documents, .. } = request;
    let saved_by = Some(caller.user);
    let each = documents.into_iter().map(|document| NewDocument {
        saved_by,
        connection: None,
        source: source.clone(),
        document,
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
    let mut answer = IngestDocsResponse::default();
    let mut tx = here.store.begin().await?;
    let mut held = Vec::new();
    for one in prepared {
        if let FilterDecision::Quarantine(reasons) = one.decision {
            held.push((one.incoming, one.doc, reasons));
            continue;
        }
        let (id, outcome) = one.write(&mut tx, here.project.id).await?;
        answer.note(one.doc.doc_id, id.into(), outcome);
    }
    note(&mut tx, mask(&source).text.as_str(), &answer);
    for (incoming, doc, reasons) in held {
        let holding = QuarantineRequest {
            project: here.project.id,
            kind: "document",
            reasons,
            beginning: doc.content.as_str(),
            request: &incoming,
        };
        let id = quarantine::create_in(&mut tx, &here.memory, holding).await?;
        answer.held(doc.doc_id, id);
    }
    tx.commit().await?;
    Ok(Json(answer))
}

fn note(tx: &mut Tx, source: &str, answer: &IngestDocsResponse) {
    let (created, updated) = (answer.created, answer.updated);
    let event = NewEvent::new(AuditAction::DocumentsIngested, source);
    audit::record(tx, event.with(json!({ "created": created, "updated": updated })));
}

/// Takes a document in that was held, and is no more; answers its id and what was done with it.
pub async fn take(
    here: &ProjectContext,
    id: QuarantineItemId,
    held: NewDocument,
) -> Result<(Uuid, &'static str), Problem> {
    let looked = ReviewStatus::Released(id);
    let mut prepared = documents::prepare_all(&here.memory.policy, vec![held], looked).await;
    let Some(one) = prepared.pop() else { return Err(Problem::internal()) };
    if let FilterDecision::Reject(reasons) = one.decision {
        return Err(mc_memory::Error::Forbidden(reasons.join(", ")).into());
    }
    let mut tx = here.store.begin().await?;
    quarantine::claim(&mut tx, looked).await?;
    if docs::is_newer(&mut tx, here.project.id, &one.doc, id).await? {
        return Err(mc_memory::Error::QuarantineItemOutdated(id).into());
    }
    let (doc, outcome) = one.write(&mut tx, here.project.id).await?;
    let mut answer = IngestDocsResponse::default();
    let source = one.doc.source.clone();
    answer.note(one.doc.doc_id, doc.into(), outcome);
    docs::copy_sent_at(&mut tx, doc, id).await?;
    quarantine::settle(&mut tx, looked).await?;
    note(&mut tx, &source, &answer);
    tx.commit().await?;
    Ok((doc.into(), word(outcome)))
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Created => "created",
        Outcome::Updated => "updated",
        Outcome::Unchanged => "unchanged",
    }
}

impl IngestDocsResponse {
    fn note(&mut self, doc_id: String, id: Uuid, outcome: Outcome) {
        let count = match outcome {
            Outcome::Created => &mut self.created,
            Outcome::Updated => &mut self.updated,
            Outcome::Unchanged => &mut self.unchanged,
        };
        *count += 1;
        self.documents.push(DocumentOutcome { doc_id, id, outcome: word(outcome) });
    }

    fn held(&mut self, doc_id: String, id: QuarantineItemId) {
        self.quarantined += 1;
        self.documents.push(DocumentOutcome { doc_id, id: id.into(), outcome: "quarantined" });
    }
}
