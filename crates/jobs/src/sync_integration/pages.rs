//! Sync of pages: imports a wiki's pages as documents.

use std::collections::BTreeMap;

use mc_connectors::client::Connector;
use mc_connectors::traits::{Page, WikiPage};
use mc_domain::{AuditAction, IntegrationId};
use mc_memory::content_filter::{FilterDecision, ReviewStatus, run_limited};
use mc_memory::documents::{self, Body, Document, NewDocument, Prepared};
use mc_memory::quarantine::{self, QuarantineRequest};
use mc_store::{Tx, deletion_candidates};
use serde_json::json;

use super::{
    Position, SyncError, SyncOutcome, SyncSession, SyncState, check_progress, strip_control,
};
use crate::job::record_event;

/// Maximum lengths of a page's texts, in characters.
const MAX_ID_CHARS: usize = 200;
const MAX_TITLE_CHARS: usize = 300;
const MAX_WORD_CHARS: usize = 120;
const MAX_URL_CHARS: usize = 2_048;
const MAX_TEXT_CHARS: usize = 1_000_000;
/// Maximum number of attachments that a document names.
const MAX_ATTACHMENTS: usize = 200;

impl SyncSession<'_> {
    /// Imports the pages that changed since the stored position, then reconciles.
    pub(super) async fn sync_pages(&self, connector: &Connector) -> Result<SyncOutcome, SyncError> {
        let wiki = connector.wiki(&self.target.resource)?;
        let mut position = Position::<SyncState>::load(self.target);
        loop {
            let page = wiki.list_changed(&position.state.cursor).await?;
            let is_last = page.is_last;
            check_progress(&page, &position.state.cursor)?;
            self.store_pages(&mut position, page).await?;
            if is_last {
                return self.reconcile(position, &*wiki).await;
            }
            if self.is_time_slice_over() {
                return Ok(SyncOutcome::Incomplete);
            }
        }
    }

    /// Stores a page of the list with the position of the next one.
    async fn store_pages(
        &self,
        position: &mut Position<SyncState>,
        page: Page<WikiPage>,
    ) -> Result<(), SyncError> {
        let next = SyncState { cursor: page.next, ..position.state.clone() };
        let (integration, source) = (self.target.id, format!("wiki:{}", self.target.connector));
        let ids: Vec<_> = page.items.iter().map(|page| page.id.clone()).collect();
        let mut documents = Vec::with_capacity(ids.len());
        for page in page.items {
            let source = source.clone();
            let document = move || to_document(integration, source, &page);
            documents.push(run_limited(None, document).await);
        }
        let policy = &self.target.policy;
        let review_status = ReviewStatus::Unreviewed;
        let prepared = documents::prepare_all(None, policy, documents, review_status).await;
        let mut tx = self.store.begin().await?;
        self.advance(&mut tx, position, next).await?;
        // A listing that started earlier may lack them.
        deletion_candidates::mark_seen(&mut tx, integration, &ids).await?;
        let imported = self.write_pages(&mut tx, prepared).await?;
        self.count_items(&mut tx, imported).await?;
        Ok(tx.commit().await?)
    }

    /// Writes pages; returns the number of those that the policy accepts.
    async fn write_pages(&self, tx: &mut Tx, pages: Vec<Prepared>) -> Result<usize, SyncError> {
        let (mut counts, mut imported) = (BTreeMap::new(), 0);
        for page in pages {
            let outcome = self.write_page(tx, page).await?;
            imported += usize::from(!matches!(outcome, "refused" | "quarantined"));
            *counts.entry(outcome).or_insert(0_u32) += 1;
        }
        counts.remove("unchanged");
        if !counts.is_empty() {
            let (project, id) = (self.target.project, self.target.id);
            record_event(tx, project, AuditAction::DocumentsIngested, id, json!(counts));
        }
        Ok(imported)
    }

    /// Writes, quarantines or rejects a page, as the policy decides; returns the outcome's name in
    /// the audit. A page that is not written keeps its former document.
    async fn write_page(&self, tx: &mut Tx, page: Prepared) -> Result<&'static str, SyncError> {
        // A masked id could be another page's.
        if page.doc.doc_id != page.incoming.document.doc_id {
            return Ok("refused");
        }
        match page.decision {
            FilterDecision::Reject(_) => Ok("refused"),
            FilterDecision::Quarantine(reasons) => {
                let request = QuarantineRequest {
                    project: self.target.project,
                    kind: "document",
                    reasons,
                    beginning: page.doc.content.as_str(),
                    request: &page.incoming,
                };
                let policy = &self.target.policy;
                quarantine::create_with_policy(tx, policy, self.encryptor, request).await?;
                Ok("quarantined")
            }
            FilterDecision::Accept { .. } => {
                let (_, outcome) = page.write(tx, self.target.project).await?;
                Ok(outcome.as_str())
            }
        }
    }
}

/// Returns the document of a page, identified by the wiki's id, which survives a rename. Blocks its
/// thread while a child process converts the content.
fn to_document(integration: IntegrationId, source: String, page: &WikiPage) -> NewDocument {
    let words = |words: &[String]| words.iter().map(|word| line(word, MAX_WORD_CHARS)).collect();
    let markdown = strip_control(&page.body.to_markdown(), MAX_TEXT_CHARS);
    let text = with_attachments(markdown, &page.attachments);
    let is_web = page.url.starts_with("http://") || page.url.starts_with("https://");
    let url = if is_web && page.url.chars().count() <= MAX_URL_CHARS {
        line(&page.url, MAX_URL_CHARS)
    } else {
        String::new()
    };
    NewDocument {
        saved_by: None,
        connection: Some(integration),
        source,
        document: Document {
            doc_id: line(&page.id, MAX_ID_CHARS),
            title: line(&page.title, MAX_TITLE_CHARS),
            body: Body::Text(text),
            url,
            scope: words(&page.path),
            tags: words(&page.labels),
        },
    }
}

/// Appends a list of the attachments' names under a heading; their content is not read.
fn with_attachments(mut text: String, attachments: &[String]) -> String {
    if attachments.is_empty() {
        return text;
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n\n## Attachments\n");
    for name in attachments.iter().take(MAX_ATTACHMENTS) {
        text.push_str("\n- ");
        text.push_str(&line(name, MAX_TITLE_CHARS));
    }
    text.push('\n');
    text
}

/// Returns a text as one line without control characters, truncated.
fn line(text: &str, max_chars: usize) -> String {
    strip_control(text, max_chars).replace(['\n', '\r', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use mc_connectors::PageBody;

    use super::*;

    fn page() -> WikiPage {
        WikiPage {
            id: "12345".to_owned(),
            title: "Timing\nrules".to_owned(),
            url: "javascript:alert(1)".to_owned(),
            body: PageBody::new("<p>Delays have <strong>units</strong>.</p>".to_owned()),
            labels: vec!["cart".to_owned()],
            path: vec!["Home".to_owned(), "Decisions".to_owned()],
            attachments: vec!["delays.png".to_owned()],
            updated_at: None,
        }
    }

    #[test]
    fn page_becomes_a_document_with_scope_and_attachments() {
        let NewDocument { source, document, .. } =
            to_document(IntegrationId::generate(), "wiki:ours".to_owned(), &page());
        assert_eq!((source.as_str(), document.doc_id.as_str()), ("wiki:ours", "12345"));
        assert_eq!(document.title, "Timing rules");
        assert_eq!(
            (document.scope, document.tags),
            (vec!["Home".into(), "Decisions".into()], vec!["cart".into()])
        );
        assert_eq!(document.url, "", "the scheme is not safe in a browser");
        let Body::Text(text) = document.body else { panic!("a text") };
        assert_eq!(text, "Delays have **units**.\n\n## Attachments\n\n- delays.png\n");
    }
}
