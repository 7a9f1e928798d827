//! `/ingest/docs`: ADRs, wiki pages, guides and conversations, as their source sends them.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{Action, ProjectKey};
use mc_indexer::conversation::{self, Message};
use mc_indexer::cut;
use mc_indexer::document::{self, Page};
use mc_sanitizer::{Sanitized, mask};
use mc_store::docs::{self, NewDoc, Outcome};
use mc_store::passages::NewPassage;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::ValidJson;
use crate::limits;
use crate::problem::Problem;

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
pub struct DocsIngest {
    project_key: String,
    /// Where they come from, such as `confluence`.
    source: String,
    /// 1 to 200.
    documents: Vec<DocumentEntry>,
}

/// A document; one with the same source and id is replaced.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentEntry {
    /// Its id at its source.
    doc_id: String,
    title: String,
    /// Markdown or plain text; tags and scope of a YAML front matter are added to those given.
    content: Option<String>,
    /// What was said, oldest first, in place of `content`: an issue with its comments, a thread.
    /// Each message is found by itself and read with the two before it. 1 to 500.
    messages: Option<Vec<ThreadMessage>>,
    url: Option<String>,
    #[serde(default)]
    scope: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// A message of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadMessage {
    /// Who wrote it, as people call them.
    author: Option<String>,
    sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    text: String,
}

/// A [`DocsIngest`] as checked; not yet masked.
#[derive(Debug)]
pub struct CheckedDocs {
    project: ProjectKey,
    source: String,
    documents: Vec<CheckedDocument>,
}

/// A [`DocumentEntry`] as checked.
#[derive(Debug)]
pub struct CheckedDocument {
    doc_id: String,
    title: String,
    body: Body,
    url: String,
    scope: Vec<String>,
    tags: Vec<String>,
}

/// What a document says.
#[derive(Debug)]
enum Body {
    Text(String),
    Conversation(Vec<ThreadMessage>),
}

impl Check for DocsIngest {
    type Checked = CheckedDocs;

    fn check(self) -> Result<CheckedDocs, Invalid> {
        Ok(CheckedDocs {
            project: check::project_key("project_key", &self.project_key)?,
            source: check::line("source", &self.source, limits::WORD)?,
            documents: check::filled_records("documents", self.documents, limits::DOCUMENTS)?,
        })
    }
}

impl Check for DocumentEntry {
    type Checked = CheckedDocument;

    fn check(self) -> Result<CheckedDocument, Invalid> {
        let url = check::optional("url", self.url, |field, url| check::http_url(field, &url))?;
        Ok(CheckedDocument {
            doc_id: check::line("doc_id", &self.doc_id, limits::EXTERNAL_ID)?,
            title: check::line("title", &self.title, limits::TITLE)?,
            body: body(self.content, self.messages)?,
            url: url.unwrap_or_default(),
            scope: check::words("scope", self.scope)?,
            tags: check::words("tags", self.tags)?,
        })
    }
}

fn body(content: Option<String>, messages: Option<Vec<ThreadMessage>>) -> Result<Body, Invalid> {
    match (content, messages) {
        (Some(text), None) => Ok(Body::Text(check::text("content", &text, limits::DOCUMENT)?)),
        (None, Some(messages)) => {
            let messages = check::filled_records("messages", messages, limits::MESSAGES)?;
            Ok(Body::Conversation(messages))
        }
        (None, None) => Err(Invalid::new("content", "is missing; give it, or `messages`")),
        (Some(_), Some(_)) => {
            Err(Invalid::new("messages", "can't stand beside `content`; give one of them"))
        }
    }
}

impl Check for ThreadMessage {
    type Checked = Self;

    fn check(self) -> Result<Self, Invalid> {
        Ok(Self {
            author: check::optional_line("author", self.author, limits::NAME)?,
            sent_at: self.sent_at,
            text: check::text("text", &self.text, limits::MESSAGE)?,
        })
    }
}

/// What was done with the documents.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct DocsAnswer {
    created: usize,
    updated: usize,
    unchanged: usize,
    /// In the order of the request.
    documents: Vec<DocumentOutcome>,
}

/// What was done with one document.
#[derive(Debug, Serialize, ToSchema)]
pub struct DocumentOutcome {
    /// Its id at its source.
    doc_id: String,
    /// Its id here.
    id: Uuid,
    /// `created`, `updated` or `unchanged`.
    outcome: &'static str,
}

/// Keep documents.
#[utoipa::path(
    post, path = "/ingest/docs", tag = "ingest", request_body = DocsIngest,
    responses((status = 200, description = "Kept, and keyword-searchable", body = DocsAnswer))
)]
pub async fn ingest(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<DocsIngest>,
) -> Result<Json<DocsAnswer>, Problem> {
    let here = api.enter(&caller, &request.project, Action::Ingest).await?;
    let prepared = tokio::task::spawn_blocking(move || request.cut())
        .await
        .unwrap_or_else(|failure| std::panic::resume_unwind(failure.into_panic()));
    let mut answer = DocsAnswer::default();
    let mut tx = here.store.begin().await?;
    for (doc, passages) in prepared {
        let (id, outcome) = docs::upsert(&mut tx, here.project.id, &doc, &passages).await?;
        answer.note(doc.doc_id, id.into(), outcome);
    }
    tx.commit().await?;
    Ok(Json(answer))
}

impl CheckedDocs {
    /// Masks and cuts the documents; may take seconds for the largest of batches.
    fn cut(self) -> Vec<(NewDoc, Vec<NewPassage>)> {
        let source = mask(&self.source).text.into_string();
        self.documents.into_iter().map(|document| document.cut(&source)).collect()
    }
}

impl CheckedDocument {
    fn cut(self, source: &str) -> (NewDoc, Vec<NewPassage>) {
        let limits = cut::Limits::default();
        let masked = |text: &String| mask(text).text.into_string();
        let page = |content: Sanitized| Page {
            source: source.to_owned(),
            doc_id: masked(&self.doc_id),
            title: masked(&self.title),
            url: masked(&self.url),
            content,
            scope: self.scope.iter().map(masked).collect(),
            tags: self.tags.iter().map(masked).collect(),
        };
        match &self.body {
            Body::Text(text) => document::cut(page(mask(text).text), limits),
            Body::Conversation(messages) => {
                let messages: Vec<_> = messages.iter().map(ThreadMessage::masked).collect();
                conversation::cut(page(Sanitized::default()), &messages, limits)
            }
        }
    }
}

impl ThreadMessage {
    fn masked(&self) -> Message {
        let author = self.author.as_deref().unwrap_or_default();
        Message {
            author: mask(author).text.into_string(),
            sent_at: self.sent_at,
            text: mask(&self.text).text,
        }
    }
}

impl DocsAnswer {
    fn note(&mut self, doc_id: String, id: Uuid, outcome: Outcome) {
        let (count, outcome) = match outcome {
            Outcome::Created => (&mut self.created, "created"),
            Outcome::Updated => (&mut self.updated, "updated"),
            Outcome::Unchanged => (&mut self.unchanged, "unchanged"),
        };
        *count += 1;
        self.documents.push(DocumentOutcome { doc_id, id, outcome });
    }
}
