//! A wiki's pages as documents.

use std::collections::BTreeMap;

use mc_connectors::client::System;
use mc_connectors::system::{Page, WikiPage};
use mc_domain::{Act, ConnectionId};
use mc_memory::documents::{self, Body, Document, Incoming, Prepared};
use mc_memory::gate::{Looked, Verdict};
use mc_memory::quarantine::{self, Holding};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::docs::Outcome;
use mc_store::{Tx, unlisted};
use serde_json::json;

use super::{Ended, Place, Progress, Stopped, Syncing, cleaned, written};

/// Characters of a page's texts.
const ID: usize = 200;
const TITLE: usize = 300;
const WORD: usize = 120;
const URL: usize = 2_048;
const TEXT: usize = 1_000_000;
/// Attachments that are listed.
const ATTACHMENTS: usize = 200;

impl Syncing<'_> {
    pub(super) async fn pages(&self, system: &System) -> Result<Ended, Stopped> {
        let wiki = system.wiki(&self.asking.what)?;
        let mut place = Place::of(self.asking);
        let mut at: Progress = place.read();
        loop {
            let page = wiki.changed(&at.cursor).await?;
            let is_last = page.is_last;
            if !is_last && page.next == at.cursor {
                return Err(super::stands_still());
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
        self.compare(place, at, &*wiki).await
    }

    /// Writes a page of them, and where the next one begins, or nothing; `false` where somebody else has gone on.
    async fn take_pages(
        &self,
        place: &mut Place,
        page: Page<WikiPage>,
        at: &mut Progress,
    ) -> Result<bool, Stopped> {
        let next = Progress { cursor: page.next, ..at.clone() };
        let (connection, source) = (self.asking.id, format!("wiki:{}", self.asking.system));
        let each = page.items.iter().map(|page| as_document(connection, &source, page));
        let policy = &self.asking.policy;
        let prepared = documents::prepare_all(policy, each.collect(), Looked::Nobody).await;
        let ids: Vec<_> = page.items.iter().map(|page| page.id.clone()).collect();
        let mut tx = self.store.begin().await?;
        if !self.advance(&mut tx, place, written(&next)?).await? {
            return Ok(false);
        }
        // Whatever a list says that was begun before: they are there.
        unlisted::seen(&mut tx, connection, &ids).await?;
        let taken = self.write_pages(&mut tx, prepared).await?;
        self.came(&mut tx, taken).await?;
        tx.commit().await?;
        *at = next;
        Ok(true)
    }

    /// Answers how many were taken in.
    async fn write_pages(&self, tx: &mut Tx, prepared: Vec<Prepared>) -> Result<usize, Stopped> {
        let (mut counts, mut taken) = (BTreeMap::new(), 0);
        for one in prepared {
            let came = self.write_page(tx, one).await?;
            taken += usize::from(!matches!(came, "refused" | "quarantined"));
            *counts.entry(came).or_insert(0_u32) += 1;
        }
        counts.remove("unchanged");
        if !counts.is_empty() {
            let event = NewEvent::new(Act::DocumentsIngested, self.asking.id).with(json!(counts));
            audit::add(tx, Chain::Project(self.asking.project), None, &[event]);
        }
        Ok(taken)
    }

    /// Writes a page, has a person decide about it, or leaves it out, as the policy has it. What was taken in of it
    /// before stays meanwhile.
    async fn write_page(&self, tx: &mut Tx, page: Prepared) -> Result<&'static str, Stopped> {
        // Masked its id would be another's.
        if page.doc.doc_id != page.incoming.document.doc_id {
            return Ok("refused");
        }
        match page.verdict {
            Verdict::Refuse(_) => Ok("refused"),
            Verdict::Hold(reasons) => {
                let holding = Holding {
                    project: self.asking.project,
                    kind: "document",
                    reasons,
                    beginning: page.doc.content.as_str(),
                    request: &page.incoming,
                };
                let policy = &self.asking.policy;
                quarantine::hold_under(tx, policy, self.sealer, holding).await?;
                Ok("quarantined")
            }
            Verdict::Take { .. } => {
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

/// A page as a document: known by the wiki's own id, so that it stays one when it is renamed or moved.
fn as_document(connection: ConnectionId, source: &str, page: &WikiPage) -> Incoming {
    let line = |text: &str, most| cleaned(text, most).replace(['\n', '\r', '\t'], " ");
    let words = |words: &[String]| words.iter().map(|word| line(word, WORD)).collect();
    let text = with_attachments(cleaned(&page.markdown, TEXT), &page.attachments);
    let is_web = page.url.starts_with("http://") || page.url.starts_with("https://");
    let url = if is_web && page.url.chars().count() <= URL {
        line(&page.url, URL)
    } else {
        String::new()
    };
    Incoming {
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

/// The text with the names of what is attached, which nobody reads here, under a heading at its end.
fn with_attachments(mut text: String, attachments: &[String]) -> String {
    if attachments.is_empty() {
        return text;
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n\n## Attachments\n");
    for name in attachments.iter().take(ATTACHMENTS) {
        text.push_str("\n- ");
        text.push_str(&cleaned(name, TITLE).replace(['\n', '\r', '\t'], " "));
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
        let Incoming { source, document, .. } =
            as_document(ConnectionId::generate(), "wiki:ours", &page());
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
