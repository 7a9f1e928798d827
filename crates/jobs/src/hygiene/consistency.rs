//! What search sees is held against what it was made of, and made to fit. A dry run does the same
//! in a transaction that is taken back.

use std::collections::BTreeMap;

use mc_domain::{AuditAction, DocId, ProjectId};
use mc_indexer::chunker::Limits;
use mc_indexer::conversation;
use mc_indexer::document::{self, Page};
use mc_memory::Error;
use mc_memory::consistency::{repair_dialogs, repair_records};
use mc_sanitizer::Sanitized;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::consistency::UnindexedDoc;
use mc_store::doc_parts::DocKey;
use mc_store::docs::Doc;
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::passages::{NewPassage, PassageSource};
use mc_store::{Store, Tx, consistency, ingest_runs, passages, policies, repositories};
use serde_json::json;

use crate::apply::doc_parts;

/// What, and how many.
type Counts = BTreeMap<&'static str, u64>;

/// What one transaction repairs of each sort, at most.
const PART: i64 = 500;
/// Transactions of one job at most: what is repaired and found again at once is no case for more of
/// them.
const PARTS: usize = 200;
/// What the sources of documents begin with that are made of comments (`doc_parts::source`).
const TRACKER: &str = "tracker:";

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let (mut outcome, mut looked_at) = (Outcome::default(), None);
    for _ in 0..PARTS {
        let mut tx = store.begin().await?;
        let repaired = repair(&mut tx, given, &mut looked_at, &mut outcome).await?;
        let is_whole = repaired.values().all(|count| *count == 0);
        for (what, count) in &repaired {
            outcome.count(what, *count);
        }
        if given.is_dry_run {
            // It looks at one part, and says of how much it has not seen the end.
            let is_cut_off = |count: &&u64| **count >= PART.unsigned_abs();
            outcome.count("and_more", repaired.values().filter(is_cut_off).count() as u64);
        }
        if given.is_dry_run || is_whole {
            // Dropped: nothing of it happened.
            break;
        }
        let event =
            NewEvent::new(AuditAction::SearchIndexRepaired, "consistency").with(json!(repaired));
        audit::add(&mut tx, Chain::Project(given.project), None, &[event]);
        tx.commit().await?;
    }
    Ok(outcome)
}

/// Mends a part of all; answers how much that was of what. Documents up to `looked_at` are passed
/// over.
async fn repair(
    tx: &mut Tx,
    given: &HygieneTarget,
    looked_at: &mut Option<DocId>,
    outcome: &mut Outcome,
) -> Result<Counts, Error> {
    let project = given.project;
    let strays = consistency::delete_orphans(tx, project, PART).await?;
    let records = repair_records(tx, project, PART).await?;
    let stray_dialogs = consistency::remove_stray_dialogs(tx, project, PART).await?;
    let dialogs = repair_dialogs(tx, project, PART).await?;
    let docs = repair_docs(tx, given, looked_at, outcome).await?;
    let relabelled = consistency::sync_vector_visibility(tx, project, PART).await?;
    let queued = consistency::queue_unembedded(tx, project, PART).await?;
    // Last: it notes runs in the audit, which nobody else can add to until the transaction ends.
    let files = repair_files(tx, given).await?;
    // What somebody keeps to themselves is counted, and nobody's to hear of.
    for (id, _) in strays.iter().chain(&records).filter(|(_, is_shared)| *is_shared) {
        outcome.found(json!({ "record": id }));
    }
    for id in stray_dialogs.iter().chain(&dialogs) {
        outcome.found(json!({ "dialog": id }));
    }
    Ok(Counts::from([
        ("stray_passages", (strays.len() + stray_dialogs.len()) as u64),
        ("records_not_found", records.len() as u64),
        ("dialogs_not_found", dialogs.len() as u64),
        ("documents_not_found", docs),
        ("code_without_place", files),
        ("vectors_of_others", relabelled),
        ("passages_without_vector", queued),
    ]))
}

/// Cuts documents that have no passage; answers how many have one now. Those of which nothing can
/// be made are found each time, so it goes on from the last that was looked at.
async fn repair_docs(
    tx: &mut Tx,
    given: &HygieneTarget,
    looked_at: &mut Option<DocId>,
    outcome: &mut Outcome,
) -> Result<u64, Error> {
    let sanitizing = policies::sanitizing(&given.policy);
    let mut repaired = 0_i64;
    while repaired < PART {
        let docs = consistency::list_unindexed_docs(tx, given.project, *looked_at, PART - repaired)
            .await?;
        let Some(last) = docs.last() else { break };
        *looked_at = Some(last.doc.id);
        for unfound in docs {
            let id = unfound.doc.id;
            let Some(cut) = cut_anew(tx, given.project, unfound, &sanitizing).await? else {
                outcome.count("conversations_not_found", 1);
                outcome.found(json!({ "document": id }));
                continue;
            };
            passages::replace(tx, given.project, PassageSource::Doc(id), &cut).await?;
            repaired += i64::from(!cut.is_empty());
        }
    }
    Ok(repaired.unsigned_abs())
}

/// What search is to see of a document, cut as it was before; `None` where it was made of comments
/// and nothing but its text is known: who said which, and in answer to what, is not in that.
/// Whatever is said next, or a sync, makes it anew.
async fn cut_anew(
    tx: &mut Tx,
    project: ProjectId,
    UnindexedDoc { doc, message_spans: turns }: UnindexedDoc,
    sanitizing: &mc_sanitizer::Policy,
) -> Result<Option<Vec<NewPassage>>, Error> {
    let is_of_comments = doc.source.starts_with(TRACKER);
    let messages = match turns {
        Some(turns) => conversation::messages(&doc.content, &turns).unwrap_or_default(),
        None if is_of_comments => {
            let whole = DocKey { source: &doc.source, doc_id: &doc.doc_id };
            doc_parts::find_known(tx, project, whole, sanitizing).await?
        }
        None => Vec::new(),
    };
    let (page, limits) = (page(doc), Limits::default());
    if !messages.is_empty() {
        return Ok(Some(conversation::cut(page, &messages, limits, sanitizing).1));
    }
    Ok((!is_of_comments).then(|| document::cut(page, limits, sanitizing).1))
}

/// The document as it was before it was cut.
fn page(doc: Doc) -> Page {
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

/// Has files read again of which a piece lost its place; answers how many pieces that were.
async fn repair_files(tx: &mut Tx, given: &HygieneTarget) -> Result<u64, Error> {
    let pieces = consistency::remove_unplaced(tx, given.project, PART).await?;
    let of = consistency::mark_for_chunking(tx, &pieces).await?;
    if given.is_dry_run || of.is_empty() {
        return Ok(pieces.len() as u64);
    }
    let known = repositories::list_in(tx, given.project).await?;
    // All of them are held before the first run is noted: who asks for a run holds its repository
    // first, and then the audit.
    let mut held = Vec::new();
    for repository in known.iter().filter(|known| of.contains(&known.id)) {
        match ingest_runs::last_requested_ref(tx, repository).await {
            Ok(asked_for) => held.push((repository, asked_for)),
            // Removed meanwhile, and its files with it.
            Err(mc_store::Error::Gone) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for (repository, asked_for) in held {
        ingest_runs::enqueue(tx, repository, &asked_for).await?;
    }
    Ok(pieces.len() as u64)
}
