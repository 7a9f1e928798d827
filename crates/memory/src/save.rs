//! Saves what was learned, once, and reports what was done with it. The flow of
//! [`save_reviewed`]:
//!
//! 1. `sanitize_and_distill` masks the request's texts and reduces them to what a record holds.
//! 2. `apply_policy` accepts, quarantines or rejects the texts, and [`judge::reject`] drops notes
//!    that say too little.
//! 3. `distiller::revise` may let a chat model select the statements of a long text, before the
//!    transaction and for a limited time.
//! 4. `prepare::prepare` checks citations, embeds the text and computes what the judge compares.
//! 5. `opinion::ask` may ask a chat model about it, in the time that is left.
//! 6. `write::judge_and_write` finds similar records and lets [`judge::judge`] decide: create,
//!    merge or supersede. `batch::create_batch` does this for several plain saves at once.
//! 7. `apply` (new records) and `merge` (duplicates) write it; `SaveOutcome::of_written` reports.
//!
//! The TTL of a new record is decided in `prepare::decide_ttl`, of a merged one in
//! `merge::merged_ttl`, of a proposal in `write::proposal_ttl`.

mod apply;
mod batch;
mod distiller;
mod long_text;
mod merge;
mod model_wait;
mod opinion;
mod outcome;
mod prepare;
mod report;
mod request;
mod sanitize;
mod write;

use std::ops::ControlFlow;
use std::sync::Arc;

use mc_domain::{DialogId, Policy, Trust, Visibility};
use mc_store::dialogs;

use crate::content_filter::{
    ContentFilter, FairnessKey, FilterDecision, LARGE_SAVES, ReviewStatus, SavePermit,
    run_limited_save,
};
use crate::distill::{self, Distilled};
use crate::quarantine::{self, QuarantineRequest};
use crate::{Error, MemoryContext, judge, usage_log, uses};
pub(crate) use apply::passage_of;
pub(crate) use merge::{CITATIONS_MAX, is_same_place, merged_kind, union_capped};
use model_wait::ModelWait;
use opinion::Opinion;
pub(crate) use opinion::verdict;
use outcome::not_kept;
pub use outcome::{Decision, SaveOutcome};
pub(crate) use prepare::default_ttl;
use prepare::{Filtered, Prepared, decide_ttl, prepare};
pub use request::SaveRequest;
use sanitize::SanitizedRequest;
pub(crate) use sanitize::sanitize_citation;
pub(crate) use write::{NEARNESS, Save, as_known};

/// Longest content of a record, in characters.
pub const CONTENT_MAX_CHARS: usize = distill::WHOLE_MAX_CHARS;

/// Longest note, in bytes, that is processed on the calling thread. It takes a fraction of a
/// millisecond, as long as waking another thread does. The work of longer notes is limited.
const INLINE_MAX_BYTES: usize = 1_024;

/// Saves a note in one transaction and reports what was done and why. Works without the embedding
/// provider: the vector then follows from the queue.
pub async fn save(ctx: &MemoryContext, request: &SaveRequest) -> Result<SaveOutcome, Error> {
    save_reviewed(ctx, request, ReviewStatus::Unreviewed).await
}

/// Saves a note like [`save`], for a text that a person may have reviewed or released. The outcome
/// is stored after the response, also of a save that is rejected or fails.
pub async fn save_reviewed(
    ctx: &MemoryContext,
    request: &SaveRequest,
    review_status: ReviewStatus,
) -> Result<SaveOutcome, Error> {
    let result = Box::pin(decide_and_write(ctx, request, review_status)).await;
    usage_log::record_outcome(ctx, request, review_status, &result);
    result
}

async fn decide_and_write(
    ctx: &MemoryContext,
    request: &SaveRequest,
    review_status: ReviewStatus,
) -> Result<SaveOutcome, Error> {
    let ttl = decide_ttl(ctx, request)?;
    let (policy, key) = (&ctx.policy, ctx.fairness_key());
    let permit = acquire_permit_if_large(request, key).await;
    let (clean, distilled, filter) =
        sanitize_and_distill(policy, key, request, review_status).await;
    let trust = match apply_policy(ctx, request, &clean.text, &filter).await? {
        ControlFlow::Continue(trust) => trust,
        ControlFlow::Break(outcome) => return Ok(outcome),
    };
    if let Some(reject) = judge::reject(&distilled.content) {
        return Ok(not_kept(Decision::Rejected(reject), reject.to_string(), &filter));
    }
    let dialog = find_dialog(ctx, request, &clean).await?;
    let filtered = Filtered { clean, distilled, ttl, trust, review_status };
    let mut wait = ModelWait::new(ctx.judge_wait, request, key, permit);
    let filtered = distiller::revise(ctx, request, filtered, &mut wait).await;
    let (prepared, filter) = prepare(ctx, request, filtered, filter).await?;
    // Distilling may have uncovered a finding that markup hid from the first pass.
    let text = &prepared.text;
    if let ControlFlow::Break(outcome) = apply_policy(ctx, request, text, &filter).await? {
        return Ok(outcome);
    }
    let (store, notes) = (ctx.store.clone(), ctx.notes.clone());
    let opinion = Opinion::default();
    let mut save = Save { store, request: request.clone(), prepared, dialog, notes, opinion };
    save.opinion = opinion::ask(ctx, &save, &mut wait).await;
    let model_wait_left = wait.left();
    let (written, Save { prepared, .. }) = ctx.writes.write(save).await;
    let written = written?;
    let cites = uses::cites(&prepared.text, &prepared.body.meta, &prepared.citations);
    let own_records = [&[written.applied.record.id], written.decision.replaced()].concat();
    uses::note_cited(ctx, request.project, own_records, cites);
    let outcome = SaveOutcome::of_written(request, written, prepared, &filter);
    Ok(SaveOutcome { model_wait_left, ..outcome })
}

/// Waits for a permit if the text may be too long for a record. The save keeps it until all is
/// written, except while it waits for a chat model: its vector and its document keep the embedding
/// model and the database busy for some time.
async fn acquire_permit_if_large(request: &SaveRequest, key: FairnessKey) -> Option<SavePermit> {
    if request.text_bytes() <= CONTENT_MAX_CHARS {
        return None;
    }
    Some(LARGE_SAVES.acquire(key).await)
}

/// Masks and distills the texts of a request. A long request, which may have some hundred
/// kilobytes with its steps, is processed on a blocking thread with a permit.
async fn sanitize_and_distill(
    policy: &Arc<Policy>,
    key: FairnessKey,
    request: &SaveRequest,
    review_status: ReviewStatus,
) -> (SanitizedRequest, Distilled, ContentFilter) {
    let is_long = request.text_bytes() > INLINE_MAX_BYTES;
    let (policy, request) = (Arc::clone(policy), request.clone());
    let read = move || {
        let mut filter = ContentFilter::new(&policy, review_status);
        let clean = SanitizedRequest::of(&request, &mut filter);
        let distilled = clean.distill(request.kind);
        (clean, distilled, filter)
    };
    if is_long { run_limited_save(key, read).await } else { read() }
}

/// Applies the policy's decision about the texts filtered so far: continues with the trust level
/// of the record, or breaks with the outcome of a save that is rejected or quarantined.
async fn apply_policy(
    ctx: &MemoryContext,
    request: &SaveRequest,
    text: &str,
    filter: &ContentFilter,
) -> Result<ControlFlow<SaveOutcome, Trust>, Error> {
    let (decision, reason) = match filter.decision() {
        FilterDecision::Accept { suspicious: true } => {
            return Ok(ControlFlow::Continue(Trust::Untrusted));
        }
        FilterDecision::Accept { suspicious: false } => {
            return Ok(ControlFlow::Continue(request.trust));
        }
        FilterDecision::Reject(reasons) => (
            Decision::Forbidden,
            format!(
                "the project's policy forbids {}; take it out of the text and save again",
                reasons.join(", ")
            ),
        ),
        // A reviewer would have to read a note that only its owner may see.
        FilterDecision::Quarantine(reasons) if request.visibility == Visibility::Private => (
            Decision::Forbidden,
            format!(
                "the project's policy would quarantine {}, and no reviewer may read a private \
                 note; remove it, or save the note for the team",
                reasons.join(", ")
            ),
        ),
        FilterDecision::Quarantine(reasons) => {
            let findings = reasons.join(", ");
            let item = QuarantineRequest {
                project: request.project,
                kind: "save",
                reasons,
                beginning: text,
                request,
            };
            let reason = format!(
                "the project's policy holds {findings} back; a maintainer decides about it \
                 (GET /quarantine)"
            );
            (Decision::Quarantined(quarantine::create(ctx, item).await?), reason)
        }
    };
    Ok(ControlFlow::Break(not_kept(decision, reason, filter)))
}

/// Returns the dialog to link: `dialog`, which must exist, else `meta.source_dialog_id` if it
/// exists. Ids of other tools stay in `meta` as they are.
async fn find_dialog(
    ctx: &MemoryContext,
    request: &SaveRequest,
    clean: &SanitizedRequest,
) -> Result<Option<DialogId>, Error> {
    if let Some(dialog) = request.dialog {
        let exists = dialogs::exists(&ctx.store, request.project, dialog).await?;
        return if exists { Ok(Some(dialog)) } else { Err(Error::UnknownDialog(dialog)) };
    }
    let named = clean.meta.text("source_dialog_id");
    let Some(dialog) = named.and_then(|id| id.parse::<DialogId>().ok()) else { return Ok(None) };
    Ok(dialogs::exists(&ctx.store, request.project, dialog).await?.then_some(dialog))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt as _;
    use futures::future::join_all;
    use mc_domain::{ProjectId, RecordKind};
    use mc_sanitizer::Sanitized;

    use super::long_text::LongText;
    use super::*;
    use crate::content_filter::SAVES;

    fn note(content: &str) -> SaveRequest {
        SaveRequest::new(ProjectId::generate(), "ann", RecordKind::Fact, content)
    }

    #[tokio::test]
    async fn a_large_save_waits_until_another_one_is_written() {
        let (short, large) = (note("a fact"), note(&"many facts ".repeat(CONTENT_MAX_CHARS)));
        let permits = join_all((0..LARGE_SAVES.free()).map(|_| LARGE_SAVES.acquire(None))).await;
        let permit_of_short = acquire_permit_if_large(&short, None).now_or_never();
        assert!(permit_of_short.is_some_and(|permit| permit.is_none()), "it needs none");
        let mut waiting = pin!(acquire_permit_if_large(&large, None));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(permits);
        assert!(waiting.await.is_some());
    }

    /// No other test of this library saves long notes: with `cargo test`, all share `SAVES`.
    #[tokio::test]
    async fn long_notes_wait_for_a_permit_and_short_ones_do_not() {
        let policy = Arc::default();
        let sanitize = |note| sanitize_and_distill(&policy, None, note, ReviewStatus::Unreviewed);
        let sentence = "The cart keeps the unit of the delay. ";
        let (short, long) = (note(sentence), note(&sentence.repeat(30)));
        let many_steps = SaveRequest { steps: vec![sentence.to_owned(); 30], ..note(sentence) };
        let permits = join_all((0..SAVES.free()).map(|_| SAVES.acquire(None))).await;

        assert!(sanitize(&short).now_or_never().is_some(), "on this thread");
        let mut one = pin!(sanitize(&long));
        let mut other = pin!(sanitize(&many_steps));
        assert!(one.as_mut().now_or_never().is_none());
        assert!(other.as_mut().now_or_never().is_none());
        assert_eq!(SAVES.waiting(), 2);
        drop(permits);
        let ((clean, distilled, filter), _) = futures::future::join(one, other).await;

        let permits = join_all((0..SAVES.free()).map(|_| SAVES.acquire(None))).await;
        let (title, kind) = (Sanitized::default(), RecordKind::Fact);
        let document = LongText::of(None, &clean, &distilled, kind, &title, filter);
        let mut document = pin!(document);
        assert!(document.as_mut().now_or_never().is_none());
        assert_eq!(SAVES.waiting(), 1, "the document of a long text, too");
        drop(permits);
        assert_eq!(document.await.0.length, clean.text.chars().count());
    }
}
