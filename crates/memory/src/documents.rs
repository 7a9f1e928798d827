//! Documents as they come in: masked under the project's policy, judged, and cut for the search.
//! The same for what a client sends, what a person lets out of quarantine, and what a wiki is asked
//! for.

use chrono::{DateTime, Utc};
use mc_domain::{IntegrationId, Policy, ProjectId, Trust, UserId};
use mc_indexer::chunker;
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_sanitizer::Sanitized;
use mc_store::docs::{self, MessageSpan, NewDoc, Outcome};
use mc_store::passages::NewPassage;
use mc_store::{Error, Tx, integrations};
use serde::{Deserialize, Serialize};

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus, run_blocking};

/// A document with its source, not masked: what is kept of it in quarantine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewDocument {
    /// Who handed it in; whoever releases it where that is not known.
    #[serde(default)]
    pub saved_by: Option<UserId>,
    /// By which connection it came, if by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<IntegrationId>,
    /// Where it comes from (`confluence`, `wiki:our-wiki`).
    pub source: String,
    /// The document.
    pub document: Document,
}

/// A document as its source has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document {
    /// Its id at its source.
    pub doc_id: String,
    /// Title.
    pub title: String,
    /// What it says.
    pub body: Body,
    /// Where people read it; may be empty.
    pub url: String,
    /// Scopes.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
}

/// What a document says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Body {
    /// Markdown or plain text.
    Text(String),
    /// What was said, oldest first.
    Conversation(Vec<ConversationMessage>),
}

/// A message of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConversationMessage {
    /// Who wrote it, as people call them.
    pub author: Option<String>,
    /// When.
    pub sent_at: Option<DateTime<Utc>>,
    /// Markdown or plain text.
    pub text: String,
}

/// A document ready to be written, and what is to become of it.
#[derive(Debug)]
pub struct Prepared {
    /// The row.
    pub doc: NewDoc,
    /// What search is to see of it.
    pub passages: Vec<NewPassage>,
    /// The messages that its text is, where it is a conversation.
    pub message_spans: Vec<MessageSpan>,
    /// What the policy says to it.
    pub decision: FilterDecision,
    /// As it came.
    pub incoming: NewDocument,
}

/// Masks and cuts documents beside the others: may take seconds for the largest of batches.
pub async fn prepare_all(
    policy: &Policy,
    documents: Vec<NewDocument>,
    review_status: ReviewStatus,
) -> Vec<Prepared> {
    let policy = policy.clone();
    run_blocking(move || {
        documents.into_iter().map(|one| one.prepare(&policy, review_status)).collect()
    })
    .await
}

impl NewDocument {
    /// The document as the policy has it.
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
        let mut turns = Vec::new();
        let (doc, passages) = match &document.body {
            Body::Text(text) => {
                let page = Page { content: filter.filter(text), ..page };
                document::cut(page, limits, filter.sanitizing())
            }
            Body::Conversation(messages) => {
                let messages: Vec<_> = messages.iter().map(|one| one.passed(&mut filter)).collect();
                turns = conversation::turns(&messages);
                conversation::cut(page, &messages, limits, filter.sanitizing())
            }
        };
        let decision = filter.decision();
        let is_suspicious = decision == FilterDecision::Accept { suspicious: true };
        let trust = if is_suspicious { Trust::Untrusted } else { Trust::Imported };
        let doc = NewDoc { saved_by: self.saved_by, trust, ..doc };
        Prepared { doc, passages, message_spans: turns, decision, incoming: self }
    }
}

impl ConversationMessage {
    fn passed(&self, filter: &mut ContentFilter) -> Message {
        Message {
            author: filter.filter_text(self.author.as_deref().unwrap_or_default()),
            sent_at: self.sent_at,
            text: filter.filter(&self.text),
        }
    }
}

impl Prepared {
    /// Writes it, with the connection that it came by.
    pub async fn write(
        &self,
        tx: &mut Tx,
        project: ProjectId,
    ) -> Result<(mc_domain::DocId, Outcome), Error> {
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
