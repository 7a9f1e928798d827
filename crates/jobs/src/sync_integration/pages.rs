//! A wiki's pages as documents.

use std::collections::BTreeMap;

use mc_connectors::client::Connector;
use mc_connectors::traits::{Page, WikiPage};
use mc_domain::{AuditAction, IntegrationId};
use mc_memory::content_filter::{FilterDecision, ReviewStatus};
use mc_memory::documents::{self, Body, Document, NewDocument, Prepared};
use mc_memory::quarantine::{self, QuarantineRequest};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::docs::Outcome;
use mc_store::{Tx, deletion_candidates};
use serde_json::json;

use super::{Ended, Place, SyncError, SyncSession, SyncState, strip_control, to_json};

/// Characters of a page's texts.
const ID: usize = 200;
const TITLE: usize = 300;
const WORD: usize = 120;
const URL: usize = 2_048;
const TEXT: usize = 1_000_000;
/// Attachments that are listed.
const ATTACHMENTS: usize = 200;

impl SyncSession<'_> {
    pub(super) async fn pages(&self, system: &Connector) -> Result<Ended, SyncError> {
        let wiki = system.wiki(&self.asking.resource)?;
        let mut place = Place::of(self.asking);
        let mut at: SyncState = place.read();
        loop {
            let page = wiki.list_changed(&at.cursor).await?;
            let is_last = page.is_last;
            if !is_last && page.next == at.cursor {
                return Err(super::no_progress());
            }
            if !self.take_pages(&mut place, page, &mut at).await? {
                return Ok(Ended::Overtaken);
            }
            if is_last {
                break;
            }
            if self.is_over() {
                return Ok(Ended::More);
            }
        }
        self.reconcile(place, at, &*wiki).await
    }

    /// Writes a page of them, and where the next one begins, or nothing; `false` where somebody
    /// else has gone on.
    async fn take_pages(
        &self,
        place: &mut Place,
        page: Page<WikiPage>,
        at: &mut SyncState,
    ) -> Result<bool, SyncError> {
        let next = SyncState { cursor: page.next, ..at.clone() };
        let (connection, source) = (self.asking.id, format!("wiki:{}", self.asking.connector));
        let each = page.items.iter().map(|page| as_document(connection, &source, page));
        let policy = &self.asking.policy;
        let prepared =
            documents::prepare_all(policy, each.collect(), ReviewStatus::Unreviewed).await;
        let ids: Vec<_> = page.items.iter().map(|page| page.id.clone()).collect();
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, to_json(&next)?).await? {
            return Ok(false);
        }
        // Whatever a list says that was begun before: they are there.
        deletion_candidates::mark_seen(&mut tx, connection, &ids).await?;
        let taken = self.write_pages(&mut tx, prepared).await?;
        self.count_items(&mut tx, taken).await?;
        tx.commit().await?;
        *at = next;
        Ok(true)
    }

    /// Answers how many were taken in.
    async fn write_pages(&self, tx: &mut Tx, prepared: Vec<Prepared>) -> Result<usize, SyncError> {
        let (mut counts, mut taken) = (BTreeMap::new(), 0);
        for one in prepared {
            let came = self.write_page(tx, one).await?;
            taken += usize::from(!matches!(came, "refused" | "quarantined"));
            *counts.entry(came).or_insert(0_u32) += 1;
        }
        counts.remove("unchanged");
        if !counts.is_empty() {
            let event =
                NewEvent::new(AuditAction::DocumentsIngested, self.asking.id).with(json!(counts));
            audit::add(tx, Chain::Project(self.asking.project), None, &[event]);
        }
        Ok(taken)
    }

    /// Writes a page, has a person decide about it, or leaves it out, as the policy has it. What
    /// was taken in of it before stays meanwhile.
    async fn write_page(&self, tx: &mut Tx, page: Prepared) -> Result<&'static str, SyncError> {
        // Masked its id would be another's.
        if page.doc.doc_id != page.incoming.document.doc_id {
            return Ok("refused");
        }
        match page.decision {
            FilterDecision::Reject(_) => Ok("refused"),
            FilterDecision::Quarantine(reasons) => {
                let holding = QuarantineRequest {
                    project: self.asking.project,
                    kind: "document",
                    reasons,
                    beginning: page.doc.content.as_str(),
                    request: &page.incoming,
                };
                let policy = &self.asking.policy;
                quarantine::create_with_policy(tx, policy, self.sealer, holding).await?;
                Ok("quarantined")
            }
            FilterDecision::Accept { .. } => {
                let (_, outcome) = page.write(tx, self.asking.project).await?;
                Ok(match outcome {
                    Outcome::Created => "created",
                    Outcome::Updated => "updated",
                    Outcome::Unchanged => "unchanged",
                })
            }
        }
    }
}

/// A page as a document: known by the wiki's own id, so that it stays one when it is renamed or
/// moved.
fn as_document(connection: IntegrationId, source: &str, page: &WikiPage) -> NewDocument {
    let line = |text: &str, most| strip_control(text, most).replace(['\n', '\r', '\t'], " ");
    let words = |words: &[String]| words.iter().map(|word| line(word, WORD)).collect();
    let text = with_attachments(strip_control(&page.markdown, TEXT), &page.attachments);
    let is_web = page.url.starts_with("http://") || page.url.starts_with("https://");
    let url = if is_web && page.url.chars().count() <= URL {
        line(&page.url, URL)
    } else {
        String::new()
    };
    NewDocument {
        saved_by: None,
        connection: Some(connection),
        source: source.to_owned(),
        document: Document {
            doc_id: line(&page.id, ID),
            title: line(&page.title, TITLE),
            body: Body::Text(text),
            url,
            scope: words(&page.path),
            tags: words(&page.labels),
        },
    }
}

/// The text with the names of what is attached, which nobody reads here, under a heading at its
/// end.
fn with_attachments(mut text: String, attachments: &[String]) -> String {
    if attachments.is_empty() {
        return text;
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n\n## Attachments\n");
    for name in attachments.iter().take(ATTACHMENTS) {
        text.push_str("\n- ");
        text.push_str(&strip_control(name, TITLE).replace(['\n', '\r', '\t'], " "));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> WikiPage {
        WikiPage {
            id: "12345".to_owned(),
            title: "Timing\nrules".to_owned(),
            url: "javascript:alert(1)".to_owned(),
            markdown: "Delays have units.\n\n".to_owned(),
            labels: vec!["cart".to_owned()],
            path: vec!["Home".to_owned(), "Decisions".to_owned()],
            attachments: vec!["delays.png".to_owned()],
            updated_at: None,
        }
    }

    #[test]
    fn a_page_is_a_document_with_its_place_and_attachments() {
        let NewDocument { source, document, .. } =
            as_document(IntegrationId::generate(), "wiki:ours", &page());
        assert_eq!((source.as_str(), document.doc_id.as_str()), ("wiki:ours", "12345"));
        assert_eq!(document.title, "Timing rules");
        assert_eq!(
            (document.scope, document.tags),
            (vec!["Home".into(), "Decisions".into()], vec!["cart".into()])
        );
        assert_eq!(document.url, "", "only what a browser opens safely");
        let Body::Text(text) = document.body else { panic!("a text") };
        assert_eq!(text, "Delays have units.\n\n## Attachments\n\n- delays.png\n");
    }
}
