//! The second stage of a save: everything that the judge and the database need of a note.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mc_contract::operations::save::UnknownCitation;
use mc_domain::{Policy, ProjectId, RecordKind, Trust, Visibility};
use mc_embed::Purpose;
use mc_sanitizer::Sanitized;
use mc_search::ActiveModel;
use mc_store::citations::Citation;
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::records::{NO_END, RecordBody};
use mc_store::vectors::{self, Model, VectorPlacement};
use serde_json::Value;
use tokio::time::timeout;

use super::long_text::LongText;
use super::sanitize::{SanitizedRequest, mask_distilled};
use super::{CONTENT_MAX_CHARS, SaveRequest, apply};
use crate::citations::{CheckedNew, check_new};
use crate::content_filter::{ContentFilter, ReviewStatus};
use crate::distill::{self, Distilled, condense};
use crate::judge::{self, Evidence, ParsedNote};
use crate::normalize::content_hash;
use crate::simhash::simhash;
use crate::{Error, MemoryContext};

/// How long a save waits for its vector; later ones come from the queue.
const EMBEDDING_WAIT: Duration = Duration::from_secs(2);

/// A note whose texts are masked and distilled, and that the policy accepts.
pub(super) struct Filtered {
    pub clean: SanitizedRequest,
    pub distilled: Distilled,
    pub ttl: DateTime<Utc>,
    pub trust: Trust,
    pub review_status: ReviewStatus,
}

/// A note that is ready to be judged and written.
pub(crate) struct Prepared {
    /// All of the text, masked.
    pub text: String,
    /// Source of the note; may be empty.
    pub source: String,
    /// Parts of the text that are stored nowhere.
    pub left_out: Vec<String>,
    /// A record of the note, without quality and links.
    pub body: RecordBody,
    /// The content, parsed for comparison.
    pub note: Arc<ParsedNote>,
    /// The passage under which search finds the record.
    pub passage: NewPassage,
    pub usefulness: f32,
    pub citations: Vec<Citation>,
    pub unknown_citations: Vec<UnknownCitation>,
    /// The whole text, where the content is only a statement of it.
    pub long_text: Option<LongText>,
    pub trust: Trust,
    pub review_status: ReviewStatus,
    /// The vector of the passage, or why it follows later from the queue.
    pub vector: Result<Embedded, &'static str>,
}

impl Prepared {
    /// Returns the vector, if there is one yet, with its model.
    pub fn vector(&self) -> Option<(&Model, &[f32])> {
        let embedded = self.vector.as_ref().ok()?;
        Some((&embedded.active.model, &embedded.vector))
    }
}

/// The vector of a record with its model.
pub(crate) struct Embedded {
    pub active: ActiveModel,
    pub vector: Vec<f32>,
    /// Where the vectors of the project's records are stored.
    pub others: VectorPlacement,
}

/// Decides when a new record ends: at the request's `ttl`, else after the days that the project's
/// policy sets for its kind. A time in the past is an error.
pub(super) fn decide_ttl(
    ctx: &MemoryContext,
    request: &SaveRequest,
) -> Result<DateTime<Utc>, Error> {
    let ttl = request.ttl.unwrap_or_else(|| default_ttl(&ctx.policy, request.kind));
    if ttl <= Utc::now() { Err(Error::TtlInThePast) } else { Ok(ttl) }
}

/// Returns the end that the policy sets for a record of this kind created now.
pub(crate) fn default_ttl(policy: &Policy, kind: RecordKind) -> DateTime<Utc> {
    let days = policy.ttl_days.of(kind);
    days.map_or(NO_END, |days| Utc::now() + TimeDelta::days(i64::from(days)))
}

/// Checks the citations, decides content and title, and embeds, parses and hashes the content.
/// Returns the filter, too.
pub(super) async fn prepare(
    ctx: &MemoryContext,
    request: &SaveRequest,
    filtered: Filtered,
    mut filter: ContentFilter,
) -> Result<(Prepared, ContentFilter), Error> {
    let Filtered { clean, distilled, ttl, trust, review_status } = filtered;
    let CheckedNew { citations, unknown: unknown_citations } =
        check_new(&ctx.store, request.project, &clean.citations).await?;
    let title = filter.filter_again(&distilled.title);
    let (content, long_text, filter) =
        split_content(ctx, request, &clean, &distilled, &title, filter).await?;
    let SanitizedRequest { text, source, owner, meta, .. } = clean;
    let mut body = RecordBody {
        kind: request.kind,
        title,
        content,
        scope: distilled.scope,
        tags: distilled.tags,
        owner,
        ttl,
        is_ttl_explicit: request.ttl.is_some(),
        quality: Value::Null,
        meta,
        task: None,
        dialog: None,
        // Computed below.
        content_hash: Vec::new(),
        simhash: 0,
    };
    let passage = apply::passage_of(&body, &citations);
    // The model takes longest, so it starts first and the rest is computed meanwhile.
    let (vector, (note, usefulness, content_hash, simhash)) = tokio::join!(
        biased;
        embed(ctx, request.project, &passage),
        async {
            let (content, meta) = (body.content.as_str(), &body.meta);
            let note = ParsedNote::read(content);
            let evidence = Evidence {
                citations: citations.len(),
                patch: meta.patch_ref.is_some() || meta.fields.contains_key("patch_sha"),
                task: request.task_external_id.is_some(),
                callers_opinion: request.usefulness,
            };
            let usefulness = judge::usefulness(&note, &evidence);
            // Two long texts may have one statement. They are equal only if all of their text is.
            let hashed = if long_text.is_some() { text.as_str() } else { content };
            (Arc::new(note), usefulness, content_hash(hashed), simhash(content))
        }
    );
    (body.content_hash, body.simhash) = (content_hash, simhash);
    let prepared = Prepared {
        text,
        source,
        left_out: distilled.left_out,
        body,
        note,
        passage,
        usefulness,
        citations,
        unknown_citations,
        long_text,
        trust,
        review_status,
        vector,
    };
    Ok((prepared, filter))
}

/// Splits a note into the record's content and, where it is too long for a record, the document
/// behind it. A private note has to fit, as the team can find documents.
async fn split_content(
    ctx: &MemoryContext,
    request: &SaveRequest,
    clean: &SanitizedRequest,
    distilled: &Distilled,
    title: &Sanitized,
    mut filter: ContentFilter,
) -> Result<(Sanitized, Option<LongText>, ContentFilter), Error> {
    let masked = filter.filter_again(&distilled.content);
    if distilled.is_whole && masked.as_str().chars().count() <= CONTENT_MAX_CHARS {
        return Ok((masked, None, filter));
    }
    if request.visibility == Visibility::Private {
        return Err(Error::PrivateNoteTooLong(clean.text.chars().count()));
    }
    let statement = condense(&distilled.content, distill::MAX_CHARS);
    let statement = mask_distilled(&mut filter, &statement, CONTENT_MAX_CHARS);
    let kind = request.kind;
    let (whole, filter) =
        LongText::of(ctx.fairness_key(), clean, distilled, kind, title, filter).await;
    Ok((statement, Some(whole), filter))
}

/// Embeds the passage of a record, or returns why it has no vector now.
async fn embed(
    ctx: &MemoryContext,
    project: ProjectId,
    passage: &NewPassage,
) -> Result<Embedded, &'static str> {
    let active =
        ctx.search.models.usable().ok_or("the policy keeps texts from the embedding model")?;
    let text = mc_sanitizer::mask_with(&passage.embedding_text(), &ctx.search.sanitizing).text;
    let vectors = timeout(EMBEDDING_WAIT, active.embedder.embed(vec![text], Purpose::Save));
    let records = PassageFilter::records(project);
    let (vectors, others) =
        tokio::join!(vectors, vectors::placement(&ctx.store, &active.model, &records));
    match vectors {
        Ok(Ok(mut vectors)) => {
            let vector = vectors.pop().ok_or("the embedding provider gave no vector")?;
            // A failing database makes the save itself fail with its own error.
            Ok(Embedded { active, vector, others: others.unwrap_or(VectorPlacement::Flat) })
        }
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "saving without a vector");
            Err("the embedding provider is unavailable; the vector follows from the queue")
        }
        Err(_) => Err("the embedding provider is slow; the vector follows from the queue"),
    }
}
