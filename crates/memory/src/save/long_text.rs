//! A text too long for its record, stored in a document behind the record.

use mc_domain::{DocId, ProjectId, RecordId, RecordKind, Trust};
use mc_indexer::chunker::Limits;
use mc_indexer::document::{self, Page};
use mc_sanitizer::Sanitized;
use mc_store::docs::{self, NewDoc};
use mc_store::passages::NewPassage;
use mc_store::{Error, Tx};
use sha2::{Digest, Sha256};

use super::SaveRequest;
use super::sanitize::SanitizedRequest;
use crate::content_filter::{ContentFilter, FairnessKey, run_limited_save};
use crate::distill::Distilled;

/// Source of such a document if the save names none.
const SOURCE: &str = "memory";
/// Hexadecimal digits of the text's hash in the document's id.
const HASH_DIGITS: usize = 32;

/// The document with its passages.
#[derive(Debug)]
pub(crate) struct LongText {
    doc: NewDoc,
    passages: Vec<NewPassage>,
    /// Length of the text, in characters.
    pub length: usize,
}

impl LongText {
    /// Builds the document of the whole text, which is masked once more. `title` is the record's.
    /// Returns the filter, too.
    pub async fn of(
        key: FairnessKey,
        clean: &SanitizedRequest,
        distilled: &Distilled,
        kind: RecordKind,
        title: &Sanitized,
        mut filter: ContentFilter,
    ) -> (Self, ContentFilter) {
        let source = if clean.source.is_empty() { SOURCE } else { &clean.source };
        let page = Page {
            source: source.to_owned(),
            doc_id: String::new(),
            title: title.as_str().to_owned(),
            // Not the record's URL: that page has another text.
            url: String::new(),
            content: Sanitized::default(),
            scope: distilled.scope.clone(),
            tags: distilled.tags.clone(),
        };
        let text = clean.text.clone();
        let build = move || {
            let content = filter.filter_again(&text);
            let length = content.as_str().chars().count();
            let page = Page { doc_id: doc_id(kind, content.as_str()), content, ..page };
            let (doc, passages) = document::cut(page, Limits::default(), filter.sanitizing());
            (Self { doc, passages, length }, filter)
        };
        run_limited_save(key, build).await
    }

    /// Writes the document behind a record. The same text saved again is the same document; a
    /// document of another record lives and dies with that record and is left alone.
    pub async fn write(
        &self,
        tx: &mut Tx,
        project: ProjectId,
        record: RecordId,
        request: &SaveRequest,
        trust: Trust,
    ) -> Result<DocId, Error> {
        let trust = trust.min(Trust::Imported);
        let doc_id = docs::id_for_record(tx, project, &self.doc, record).await?;
        let doc = NewDoc { doc_id, saved_by: request.saved_by, trust, ..self.doc.clone() };
        let (id, _) = docs::upsert(tx, project, &doc, &self.passages).await?;
        docs::assign_to_record(tx, id, record).await?;
        Ok(id)
    }
}

fn doc_id(kind: RecordKind, text: &str) -> String {
    let hash = hex::encode(Sha256::digest(text));
    format!("{kind}:{}", &hash[..HASH_DIGITS])
}
