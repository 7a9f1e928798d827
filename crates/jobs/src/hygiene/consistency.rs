//! The task `consistency`: compares search data with the rows it is derived from, and repairs it. A
//! dry run repairs one batch in a transaction that is rolled back.

use std::collections::BTreeMap;

use mc_domain::{AuditAction, DocId, ProjectId};
use mc_indexer::chunker::Limits;
use mc_indexer::conversation;
use mc_indexer::document::{self, Page};
use mc_memory::Error;
use mc_memory::consistency::{repair_dialogs, repair_records};
use mc_memory::content_filter::run_blocking;
use mc_sanitizer::Sanitized;
use mc_store::consistency::UnindexedDoc;
use mc_store::doc_parts::DocKey;
use mc_store::docs::Doc;
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::passages::{NewPassage, PassageSource};
use mc_store::{Store, Tx, consistency, passages, policies, repositories};
use serde_json::json;

use crate::apply::doc_parts;
use crate::job::record_event;
use crate::reindex;

/// Numbers of repaired items, by kind of damage.
type Counts = BTreeMap<&'static str, u64>;

/// Maximum number of repaired items of each kind in one transaction.
const BATCH_SIZE: i64 = 500;
/// Maximum number of transactions of one run. Damage that returns at once would need more forever.
const MAX_BATCHES: usize = 200;
/// Beginning of the sources of documents made of comments (`doc_parts::source`).
const TRACKER_PREFIX: &str = "tracker:";

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let (mut outcome, mut last_doc) = (Outcome::default(), None);
    for _ in 0..MAX_BATCHES {
        let mut tx = store.begin().await?;
        let repaired = repair_batch(&mut tx, target, &mut last_doc, &mut outcome).await?;
        let is_consistent = repaired.values().all(|count| *count == 0);
        for (kind, count) in &repaired {
            outcome.count(kind, *count);
        }
        if target.is_dry_run {
            // Kinds of damage of which there may be more than one batch.
            let is_full = |count: &&u64| **count >= BATCH_SIZE.unsigned_abs();
            outcome.count("and_more", repaired.values().filter(is_full).count() as u64);
        }
        if target.is_dry_run || is_consistent {
            // Drops the transaction, which rolls it back.
            break;
        }
        let action = AuditAction::SearchIndexRepaired;
        record_event(&mut tx, target.project, action, "consistency", json!(repaired));
        tx.commit().await?;
    }
    Ok(outcome)
}

/// Repairs a batch of each kind of damage. Documents up to `last_doc` are skipped.
async fn repair_batch(
    tx: &mut Tx,
    target: &HygieneTarget,
    last_doc: &mut Option<DocId>,
    outcome: &mut Outcome,
) -> Result<Counts, Error> {
    let project = target.project;
    let orphans = consistency::delete_orphans(tx, project, BATCH_SIZE).await?;
    let records = repair_records(tx, project, BATCH_SIZE).await?;
    let stray_dialogs = consistency::remove_stray_dialogs(tx, project, BATCH_SIZE).await?;
    let dialogs = repair_dialogs(tx, project, BATCH_SIZE).await?;
    let docs = repair_docs(tx, target, last_doc, outcome).await?;
    let vectors = consistency::sync_vector_visibility(tx, project, BATCH_SIZE).await?;
    let queued = consistency::queue_unembedded(tx, project, BATCH_SIZE).await?;
    // Last, because enqueued runs lock the head of the audit chain until the transaction ends.
    let files = repair_files(tx, target).await?;
    // Private records are counted, but not named.
    for (id, _) in orphans.iter().chain(&records).filter(|(_, is_shared)| *is_shared) {
        outcome.found(json!({ "record": id }));
    }
    for id in stray_dialogs.iter().chain(&dialogs) {
        outcome.found(json!({ "dialog": id }));
    }
    Ok(Counts::from([
        ("stray_passages", (orphans.len() + stray_dialogs.len()) as u64),
        ("records_not_found", records.len() as u64),
        ("dialogs_not_found", dialogs.len() as u64),
        ("documents_not_found", docs),
        ("code_without_location", files),
        ("vectors_with_wrong_readers", vectors),
        ("passages_without_vector", queued),
    ]))
}

/// Chunks documents without a passage; returns the number of those that have one now. A document
/// that yields no passage would be selected each time, so the search continues after `last_doc`.
async fn repair_docs(
    tx: &mut Tx,
    target: &HygieneTarget,
    last_doc: &mut Option<DocId>,
    outcome: &mut Outcome,
) -> Result<u64, Error> {
    let masking = policies::sanitizing(&target.policy);
    let mut repaired = 0_i64;
    while repaired < BATCH_SIZE {
        let limit = BATCH_SIZE - repaired;
        let docs = consistency::list_unindexed_docs(tx, target.project, *last_doc, limit).await?;
        let Some(last) = docs.last() else { break };
        *last_doc = Some(last.doc.id);
        for unindexed in docs {
            let id = unindexed.doc.id;
            let Some(passages) = chunk_doc(tx, target.project, unindexed, &masking).await? else {
                outcome.count("conversations_not_found", 1);
                outcome.found(json!({ "document": id }));
                continue;
            };
            passages::replace(tx, target.project, PassageSource::Doc(id), &passages).await?;
            repaired += i64::from(!passages.is_empty());
        }
    }
    Ok(repaired.unsigned_abs())
}

/// Returns the passages of a document, chunked as at its import. Returns `None` for a document of
/// comments whose parts are not stored: its text does not have their authors. The next comment or
/// sync rebuilds it.
async fn chunk_doc(
    tx: &mut Tx,
    project: ProjectId,
    UnindexedDoc { doc, message_spans }: UnindexedDoc,
    masking: &mc_sanitizer::Policy,
) -> Result<Option<Vec<NewPassage>>, Error> {
    let has_comments = doc.source.starts_with(TRACKER_PREFIX);
    let messages = match message_spans {
        Some(spans) => conversation::messages(&doc.content, &spans).unwrap_or_default(),
        None if has_comments => {
            let key = DocKey { source: &doc.source, doc_id: &doc.doc_id };
            doc_parts::list_messages(tx, project, key, masking).await?
        }
        None => Vec::new(),
    };
    let (page, limits) = (page_of(doc), Limits::default());
    if messages.is_empty() && has_comments {
        return Ok(None);
    }
    let masking = masking.clone();
    let cut = move || {
        if messages.is_empty() {
            document::cut(page, limits, &masking).1
        } else {
            conversation::cut(page, &messages, limits, &masking).1
        }
    };
    Ok(Some(run_blocking(cut).await))
}

/// Returns a stored document in the form in which it was imported.
fn page_of(doc: Doc) -> Page {
    Page {
        source: doc.source,
        doc_id: doc.doc_id,
        title: doc.title,
        url: doc.url,
        content: Sanitized::stored(doc.content),
        scope: doc.scope,
        tags: doc.tags,
    }
}

/// Deletes passages of code whose lines are lost, and enqueues index runs; returns their number.
async fn repair_files(tx: &mut Tx, target: &HygieneTarget) -> Result<u64, Error> {
    let files = consistency::remove_unplaced(tx, target.project, BATCH_SIZE).await?;
    let affected = consistency::mark_for_chunking(tx, &files).await?;
    if !target.is_dry_run && !affected.is_empty() {
        let repositories = repositories::list_in(tx, target.project).await?;
        let affected: Vec<_> =
            repositories.iter().filter(|repository| affected.contains(&repository.id)).collect();
        reindex::enqueue_runs(tx, affected, |_| true).await?;
    }
    Ok(files.len() as u64)
}
