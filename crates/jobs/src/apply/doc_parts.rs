//! Documents that are assembled from parts: the comments on an issue or pull request, and the notes
//! of a release. Each changed part rebuilds its document.

use chrono::{DateTime, Utc};
use mc_connectors::{Comment, Release, Thread};
use mc_domain::{Policy, ProjectId, Provider};
use mc_indexer::chunker::Limits;
use mc_indexer::conversation::{self, Message};
use mc_indexer::document::{self, Page};
use mc_memory::content_filter::{filter_field, filter_field_text, run_blocking};
use mc_memory::task_comment::is_ours;
use mc_sanitizer::{Sanitized, mask_with};
use mc_store::doc_parts::{self, DocKey, DocPart, NewDocPart};
use mc_store::policies::sanitizing;
use mc_store::{Error, Tx, Upserted, docs, task_comments};

use crate::apply::source_time;

/// Maximum number of comments in a document: the newest.
const MAX_COMMENTS: usize = 200;
/// Id of the only part of a release's document.
const RELEASE_PART: &str = "";

/// Comments on an issue or pull request, filtered by the project's policy. A batch is prepared
/// before the transaction that stores it, because masking can take long.
#[derive(Debug)]
pub struct DocPartBatch {
    source: String,
    doc_id: String,
    title: String,
    url: String,
    parts: Vec<NewDocPart>,
    listing: Option<Listing>,
}

/// A provider's list of comments.
#[derive(Debug)]
struct Listing {
    /// Time of the request.
    requested_at: DateTime<Utc>,
    /// Ids of the comments, if the list is complete.
    all_ids: Option<Vec<String>>,
}

impl DocPartBatch {
    /// Prepares comments that a webhook reported. A comment without a time gets `received_at`.
    /// Unless the policy imports comments, only deletions are kept.
    pub fn from_webhook(
        policy: &Policy,
        (provider, thread): (Provider, &Thread),
        comments: &[Comment],
        received_at: DateTime<Utc>,
    ) -> Self {
        let is_imported =
            |comment: &&Comment| comment.is_deleted || policy.trackers.import_comments;
        let imported =
            comments.iter().filter(is_imported).filter(|comment| !is_ours(&comment.text));
        Self {
            source: source(provider),
            doc_id: thread.external_id.clone(),
            title: filter_field_text(policy, &thread.title),
            url: filter_field_text(policy, &thread.url),
            parts: imported.map(|comment| new_part(policy, comment, received_at)).collect(),
            listing: None,
        }
    }

    /// Prepares comments that the provider listed, oldest first. If the list is complete
    /// (`is_complete`), stored comments that it lacks are deleted.
    pub fn from_listing(
        policy: &Policy,
        thread: (Provider, &Thread),
        comments: &[Comment],
        requested_at: DateTime<Utc>,
        is_complete: bool,
    ) -> Self {
        let ids = || comments.iter().map(|comment| comment.id.clone()).collect();
        let newest = comments.len().saturating_sub(MAX_COMMENTS);
        Self {
            listing: Some(Listing { requested_at, all_ids: is_complete.then(ids) }),
            ..Self::from_webhook(policy, thread, &comments[newest..], Utc::now())
        }
    }

    fn key(&self) -> DocKey<'_> {
        DocKey { source: &self.source, doc_id: &self.doc_id }
    }
}

/// Stores comments from a webhook or a sync; returns whether their document changed. The comments
/// on an issue or pull request are one document of the source [`source`]. Search finds each comment
/// by itself and shows it with the two before it. Of two states of a comment the later one wins, in
/// whichever order they arrive.
pub async fn write(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    batch: &DocPartBatch,
) -> Result<bool, Error> {
    doc_parts::lock(tx, project, batch.key()).await?;
    // A listing may also change the title and the address of the document.
    if !put_parts(tx, project, batch).await? && batch.listing.is_none() {
        return Ok(false);
    }
    let parts = list_parts(tx, project, batch.key()).await?;
    let page = empty_page(batch.key(), batch.title.clone(), batch.url.clone());
    rebuild_document(tx, project, policy, page, parts).await
}

/// Deletes the comments on an issue or pull request; returns whether there were any.
pub async fn delete(
    tx: &mut Tx,
    project: ProjectId,
    provider: Provider,
    external_id: &str,
) -> Result<bool, Error> {
    let source = source(provider);
    doc_parts::lock(tx, project, DocKey { source: &source, doc_id: external_id }).await?;
    docs::remove(tx, project, &source, external_id).await
}

/// Stores release notes as a document of `releases:owner/name`; returns whether it changed.
pub(crate) async fn apply_release(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    release: &Release,
    received_at: DateTime<Utc>,
) -> Result<bool, Error> {
    let source = format!("releases:{}", release.path);
    let key = DocKey { source: &source, doc_id: &release.id };
    doc_parts::lock(tx, project, key).await?;
    let title = filter_field(policy, &release.title);
    let heading = format!("# {} ({})\n\n", title.as_str(), release.tag);
    let part = NewDocPart {
        part_id: RELEASE_PART.to_owned(),
        author: filter_field_text(policy, release.author.as_deref().unwrap_or_default()),
        text: (!release.is_deleted)
            .then(|| filter_field(policy, &format!("{heading}{}", release.notes))),
        sent_at: release.sent_at,
        source_updated_at: source_time(release.updated_at, received_at),
    };
    if !doc_parts::put(tx, project, key, &part, None).await? {
        return Ok(false);
    }
    let Some(notes) = part.text else {
        return docs::remove(tx, project, &source, &release.id).await;
    };
    let page = Page {
        content: notes,
        tags: vec!["release".to_owned()],
        ..empty_page(key, title.into_string(), filter_field_text(policy, &release.url))
    };
    let masking = sanitizing(policy);
    let (doc, passages) =
        run_blocking(move || document::cut(page, Limits::default(), &masking)).await;
    docs::upsert(tx, project, &doc, &passages).await?;
    Ok(true)
}

/// Returns the source of the documents made of a provider's comments.
pub fn source(provider: Provider) -> String {
    format!("tracker:{provider}")
}

/// Returns the messages of a document from its stored parts, masked by `masking`.
pub(crate) async fn list_messages(
    tx: &mut Tx,
    project: ProjectId,
    key: DocKey<'_>,
    masking: &mc_sanitizer::Policy,
) -> Result<Vec<Message>, Error> {
    Ok(messages(list_parts(tx, project, key).await?, masking))
}

fn new_part(policy: &Policy, comment: &Comment, received_at: DateTime<Utc>) -> NewDocPart {
    NewDocPart {
        part_id: comment.id.clone(),
        author: filter_field_text(policy, comment.author.as_deref().unwrap_or_default()),
        text: (!comment.is_deleted).then(|| filter_field(policy, &comment.text)),
        sent_at: comment.sent_at,
        source_updated_at: source_time(comment.updated_at, received_at),
    }
}

/// Stores the parts of a batch; returns whether any of them changed.
async fn put_parts(tx: &mut Tx, project: ProjectId, batch: &DocPartBatch) -> Result<bool, Error> {
    let (key, mut has_changed) = (batch.key(), false);
    let listed_at = batch.listing.as_ref().map(|listing| listing.requested_at);
    // The comment that the service posted is never imported, even if a person edited it.
    let own_comment = if batch.parts.is_empty() {
        None
    } else {
        task_comments::own_comment(tx, project, &batch.doc_id).await?
    };
    for part in batch.parts.iter().filter(|part| Some(&part.part_id) != own_comment.as_ref()) {
        has_changed |= doc_parts::put(tx, project, key, part, listed_at).await?;
    }
    if let Some(Listing { requested_at, all_ids: Some(ids) }) = &batch.listing {
        has_changed |= doc_parts::delete_others(tx, project, key, ids, *requested_at).await?;
    }
    Ok(has_changed)
}

async fn list_parts(
    tx: &mut Tx,
    project: ProjectId,
    key: DocKey<'_>,
) -> Result<Vec<DocPart>, Error> {
    let limit = i64::try_from(MAX_COMMENTS).unwrap_or(i64::MAX);
    doc_parts::list(tx, project, key, limit).await
}

/// Rebuilds a document from its parts, and deletes it if it has none; returns whether it changed.
async fn rebuild_document(
    tx: &mut Tx,
    project: ProjectId,
    policy: &Policy,
    page: Page,
    parts: Vec<DocPart>,
) -> Result<bool, Error> {
    if parts.is_empty() {
        return docs::remove(tx, project, &page.source, &page.doc_id).await;
    }
    let masking = sanitizing(policy);
    let chunk = move || {
        let messages = messages(parts, &masking);
        conversation::cut(page, &messages, Limits::default(), &masking)
    };
    let (doc, passages) = run_blocking(chunk).await;
    let (_, outcome) = docs::upsert(tx, project, &doc, &passages).await?;
    Ok(outcome != Upserted::Unchanged)
}

fn messages(parts: Vec<DocPart>, masking: &mc_sanitizer::Policy) -> Vec<Message> {
    let message = |part: DocPart| Message {
        author: part.author,
        sent_at: part.sent_at,
        // The part was masked on receipt; the policy may have changed since.
        text: mask_with(&part.text, masking).text,
    };
    parts.into_iter().map(message).collect()
}

fn empty_page(key: DocKey<'_>, title: String, url: String) -> Page {
    Page {
        source: key.source.to_owned(),
        doc_id: key.doc_id.to_owned(),
        title,
        url,
        content: Sanitized::default(),
        scope: Vec::new(),
        tags: Vec::new(),
    }
}
