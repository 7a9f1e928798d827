//! Preparing documents of clients, of quarantine and of wikis: masking by the project's policy, and
//! chunking for search.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use mc_domain::{IntegrationId, Policy, ProjectId, Trust, UserId};
use mc_indexer::chunker;
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_sanitizer::Sanitized;
use mc_store::docs::{self, MessageSpan, NewDoc};
use mc_store::passages::NewPassage;
use mc_store::{Error, Tx, Upserted, integrations};
use serde::{Deserialize, Serialize};

use crate::content_filter::{
    ContentFilter, FairnessKey, FilterDecision, ReviewStatus, run_limited,
};

/// A document with its source, not masked, as quarantine stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewDocument {
    /// User who submitted it; if unknown, the user who releases it.
    #[serde(default)]
    pub saved_by: Option<UserId>,
    /// Integration that synced it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<IntegrationId>,
    /// Source (`confluence`, `wiki:our-wiki`).
    pub source: String,
    /// Content of the document, not yet masked.
    pub document: Document,
}

/// A document, as its source has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document {
    /// Id at the source.
    pub doc_id: String,
    /// Title at the source.
    pub title: String,
    /// Content.
    pub body: Body,
    /// URL for people; may be empty.
    pub url: String,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
}

/// Content of a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Body {
    /// Markdown or plain text.
    Text(String),
    /// Messages of a conversation, oldest first.
    Conversation(Vec<ConversationMessage>),
}

/// A message of a conversation, such as a comment of an issue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConversationMessage {
    /// Author's display name.
    pub author: Option<String>,
    /// When it was sent, if the source has the time.
    pub sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    pub text: String,
}

/// A document ready to be written, with the policy's decision.
#[derive(Debug)]
pub struct Prepared {
    /// The document row.
    pub doc: NewDoc,
    /// Passages for search.
    pub passages: Vec<NewPassage>,
    /// Spans of the messages in the text of a conversation.
    pub message_spans: Vec<MessageSpan>,
    /// The policy's decision.
    pub decision: FilterDecision,
    /// The document as it arrived.
    pub incoming: NewDocument,
}

/// Masks and chunks documents one by one, each with its own permit: large batches take seconds.
pub async fn prepare_all(
    key: FairnessKey,
    policy: &Policy,
    documents: Vec<NewDocument>,
    review_status: ReviewStatus,
) -> Vec<Prepared> {
    let policy = Arc::new(policy.clone());
    let mut prepared = Vec::with_capacity(documents.len());
    for one in documents {
        let policy = Arc::clone(&policy);
        prepared.push(run_limited(key, move || one.prepare(&policy, review_status)).await);
    }
    prepared
}

impl NewDocument {
    /// Masks and chunks the document.
    fn prepare(self, policy: &Policy, review_status: ReviewStatus) -> Prepared {
        let limits = chunker::Limits::default();
        let mut filter = ContentFilter::new(policy, review_status);
        let document = &self.document;
        let page = Page {
            source: filter.filter_text(&self.source),
            doc_id: filter.filter_text(&document.doc_id),
            title: filter.filter_text(&document.title),
            url: filter.filter_text(&document.url),
            content: Sanitized::default(),
            scope: document.scope.iter().map(|scope| filter.filter_text(scope)).collect(),
            tags: document.tags.iter().map(|tag| filter.filter_text(tag)).collect(),
        };
        let mut message_spans = Vec::new();
        let (doc, passages) = match &document.body {
            Body::Text(text) => {
                let page = Page { content: filter.filter(text), ..page };
                document::cut(page, limits, filter.sanitizing())
            }
            Body::Conversation(messages) => {
                let messages: Vec<_> =
                    messages.iter().map(|one| one.sanitize(&mut filter)).collect();
                message_spans = conversation::message_spans(&messages);
                conversation::cut(page, &messages, limits, filter.sanitizing())
            }
        };
        let decision = filter.decision();
        let is_suspicious = decision == FilterDecision::Accept { suspicious: true };
        let trust = if is_suspicious { Trust::Untrusted } else { Trust::Imported };
        let doc = NewDoc { saved_by: self.saved_by, trust, ..doc };
        Prepared { doc, passages, message_spans, decision, incoming: self }
    }
}

impl ConversationMessage {
    fn sanitize(&self, filter: &mut ContentFilter) -> Message {
        Message {
            author: filter.filter_text(self.author.as_deref().unwrap_or_default()),
            sent_at: self.sent_at,
            text: filter.filter(&self.text),
        }
    }
}

impl Prepared {
    /// Writes the document and assigns it to its integration.
    pub async fn write(
        &self,
        tx: &mut Tx,
        project: ProjectId,
    ) -> Result<(mc_domain::DocId, Upserted), Error> {
        let (id, outcome) = docs::upsert(tx, project, &self.doc, &self.passages).await?;
        if !self.message_spans.is_empty() {
            docs::set_message_spans(tx, id, &self.message_spans).await?;
        }
        if let Some(connection) = self.incoming.connection {
            integrations::assign_integration(tx, project, connection, &[], &[id]).await?;
        }
        Ok((id, outcome))
    }
}
