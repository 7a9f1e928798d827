//! The selection of a chat model from a text that is too long for a record: requested before the
//! transaction of its save, and for a limited time. The rules' text stays without one.

use std::sync::Arc;

use mc_chat::ModelRole;
use mc_store::records::{self, Fingerprint};

use super::SaveRequest;
use super::model_wait::{ModelWait, end_in_background, model_for};
use super::prepare::Filtered;
use super::write::NEARNESS;
use crate::chat::ProjectChat;
use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus, run_limited_save};
use crate::distill::model::{Note, Question, Selection, joined, question, statements};
use crate::judge::reject;
use crate::normalize::content_hash;
use crate::simhash::simhash;
use crate::{Error, MemoryContext};

/// Replaces the statement of a long text by the one that the model with the role `writer` selects,
/// if it may be asked ([`model_for`]) and answers in the time that is left.
pub(super) async fn revise(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: Filtered,
    wait: &mut ModelWait<'_>,
) -> Filtered {
    if filtered.distilled.is_whole {
        return filtered;
    }
    let (trust, status) = (filtered.trust, filtered.review_status);
    let Some(chat) = model_for(ctx, ModelRole::Writer, request, trust, status) else {
        return filtered;
    };
    match wait.limit(Box::pin(ask(ctx, request, &filtered, chat))).await {
        Some(Ok(Some(selection))) => apply(ctx, request, filtered, selection).await,
        Some(Ok(None)) | None => filtered,
        Some(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the rules distill a save alone"
            );
            filtered
        }
    }
}

/// Requests a selection; `None` if there is nothing to ask.
async fn ask(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: &Filtered,
    chat: ProjectChat,
) -> Result<Option<Selection>, Error> {
    // The record of a known text keeps its own statement.
    if is_known(ctx, request, filtered).await? {
        return Ok(None);
    }
    let max_bytes = chat.model(ModelRole::Writer)?.max_prompt_bytes();
    let Some(question) = question_about(ctx, request, filtered, max_bytes).await else {
        return Ok(None);
    };
    let selection = end_in_background(async move {
        let read = |answer: &_| question.selection(answer);
        Ok(chat.complete_json(ModelRole::Writer, &question.request, read).await?)
    });
    Ok(Some(selection.await?))
}

/// Whether the team has a record with exactly this text.
async fn is_known(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: &Filtered,
) -> Result<bool, Error> {
    let content_hash = &content_hash(&filtered.clean.text);
    let simhash = simhash(&filtered.distilled.content);
    let texts = [Fingerprint { content_hash, simhash, vector: None }];
    let mut tx = ctx.store.begin().await?;
    let found = records::candidates(&mut tx, request.project, None, None, &texts, NEARNESS);
    let found = found.await?;
    Ok(found.iter().flatten().any(|known| known.content_hash == *content_hash))
}

/// Builds the question on a blocking thread; `None` if the policy does not accept the statements,
/// or masks more in all of them than in each.
/// Removed markup may have hidden a secret or an instruction from the first pass.
async fn question_about(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: &Filtered,
    max_bytes: usize,
) -> Option<Question> {
    let (policy, kind) = (Arc::clone(&ctx.policy), request.kind);
    let (text, title) = (filtered.clean.text.clone(), filtered.clean.title.clone());
    let build = move || {
        let mut filter = ContentFilter::new(&policy, ReviewStatus::Unreviewed);
        let ranked = statements(&text, |statement| filter.filter_text(statement));
        // A secret may be on several lines, which are one text without their markup only.
        let text = joined(&ranked);
        let is_masked = filter.filter_text(&text) == text;
        if !is_masked || filter.decision() != (FilterDecision::Accept { suspicious: false }) {
            return None;
        }
        question(&Note { kind, title: title.as_deref() }, ranked, max_bytes)
    };
    run_limited_save(ctx.fairness_key(), build).await
}

/// Applies a selection on a blocking thread, unless the rules would reject its text.
async fn apply(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: Filtered,
    selection: Selection,
) -> Filtered {
    let kind = request.kind;
    let apply = move || {
        let selected = filtered.clean.distill_selected(kind, &selection);
        match selected.filter(|selected| reject(&selected.content).is_none()) {
            Some(distilled) => Filtered { distilled, ..filtered },
            None => filtered,
        }
    };
    run_limited_save(ctx.fairness_key(), apply).await
}
