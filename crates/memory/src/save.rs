//! After the work: keep what was learnt, once, and say what was done with it.

mod apply;
mod report;
mod sanitize;
mod together;
mod whole;
mod write;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{
    DialogId, DocId, Policy, ProjectId, QuarantineItemId, RecordId, RecordKind, SourceKind, Trust,
    UserId, Visibility,
};
use mc_embed::Purpose;
use mc_sanitizer::Sanitized;
use mc_search::ActiveModel;
use mc_store::citations::Citation;
use mc_store::dialogs;
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::records::{NO_END, Record};
use mc_store::vectors::{self, Model, VectorPlacement};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::citations::{CheckedNew, NewCitation, UnknownCitation, check_new};
use crate::content_filter::{
    ContentFilter, FilterDecision, MaskedCount, ReviewStatus, run_blocking,
};
use crate::distill::{self, Distilled, condense};
use crate::judge::{self, Evidence, ParsedNote, Reject, Scores};
use crate::normalize::content_hash;
use crate::quarantine::{self, QuarantineRequest};
use crate::simhash::simhash;
use crate::{Error, MemoryContext, uses};
pub(crate) use apply::{CITATIONS_MAX, is_same_place, merged_kind, passage_of, united};
use report::Report;
pub use report::{Contradicted, Kept};
use sanitize::SanitizedRequest;
pub(crate) use sanitize::mask_distilled;
use whole::Whole;
pub(crate) use write::Save;

/// How long a save waits for its vector; later ones come from the queue.
const EMBEDDING_WAIT: Duration = Duration::from_secs(2);

/// Bytes of a note that are read on the spot, in a fraction of a millisecond: to wake another thread takes as long.
const READ_AT_ONCE: usize = 1_024;

/// Something to be kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SaveRequest {
    /// Project.
    pub project: ProjectId,
    /// Who saves; kept in the history.
    pub principal: String,
    /// Who that is.
    pub saved_by: Option<UserId>,
    /// Who it is for.
    pub visibility: Visibility,
    /// Who vouches for it.
    pub trust: Trust,
    /// What it was taken from; empty for what somebody just says.
    pub source: String,
    /// What sort of knowledge it is.
    pub kind: RecordKind,
    /// What is known, as it was said.
    pub content: String,
    /// Title; by default the first sentence.
    pub title: Option<String>,
    /// The task it came from, by the tracker's id.
    pub task_external_id: Option<String>,
    /// Parts of the system it is about.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What the caller's own judge thinks of its use, 0 to 1.
    pub usefulness: Option<f32>,
    /// When it expires; by default after as many days as the project's policy says, or never.
    pub ttl: Option<DateTime<Utc>>,
    /// Anything else (`patch_sha`, `source_dialog_id`).
    pub meta: Map<String, Value>,
    /// Places in the code that it is true of.
    pub citations: Vec<NewCitation>,
    /// Steps of a worked example.
    pub steps: Vec<String>,
    /// The patch of a worked example.
    pub patch_ref: Option<String>,
    /// The address of a decision record.
    pub url: Option<String>,
    /// The dialog it came from.
    pub dialog: Option<DialogId>,
    /// Whether it contradicts what is known: the nearest related record is replaced.
    pub contradicts: bool,
    /// The record that it replaces.
    pub supersedes: Option<RecordId>,
}

impl SaveRequest {
    /// A request with nothing but a kind and a content.
    pub fn new(
        project: ProjectId,
        principal: impl Into<String>,
        kind: RecordKind,
        content: impl Into<String>,
    ) -> Self {
        Self {
            project,
            principal: principal.into(),
            saved_by: None,
            visibility: Visibility::Team,
            trust: Trust::Team,
            source: String::new(),
            kind,
            content: content.into(),
            title: None,
            task_external_id: None,
            scope: Vec::new(),
            tags: Vec::new(),
            owner: None,
            usefulness: None,
            ttl: None,
            meta: Map::new(),
            citations: Vec::new(),
            steps: Vec::new(),
            patch_ref: None,
            url: None,
            dialog: None,
            contradicts: false,
            supersedes: None,
        }
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A new record.
    Created(RecordId),
    /// An existing record was brought up to date.
    Merged(RecordId),
    /// A new record (or the one that says the same already) took the place of others.
    Superseded {
        /// The record that lives.
        by: RecordId,
        /// Those that it replaced.
        replaced: Vec<RecordId>,
    },
    /// A proposal waits for a person of the team.
    Proposed(RecordId),
    /// The team's record says the same already; nothing was changed.
    Duplicate(RecordId),
    /// It waits in quarantine.
    Quarantined(QuarantineItemId),
    /// Not kept.
    Rejected(Reject),
    /// The policy forbids what is in it.
    Forbidden,
}

impl Decision {
    /// The record that holds what was saved, if it was kept.
    pub fn record(&self) -> Option<RecordId> {
        match self {
            Self::Created(id)
            | Self::Merged(id)
            | Self::Proposed(id)
            | Self::Duplicate(id)
            | Self::Superseded { by: id, .. } => Some(*id),
            Self::Quarantined(_) | Self::Rejected(_) | Self::Forbidden => None,
        }
    }

    /// The records that what was saved took the place of.
    pub fn replaced(&self) -> &[RecordId] {
        match self {
            Self::Superseded { replaced, .. } => replaced,
            _ => &[],
        }
    }

    /// The word for it on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Merged(_) => "merged",
            Self::Superseded { .. } => "superseded",
            Self::Proposed(_) => "proposed",
            Self::Duplicate(_) => "duplicate",
            Self::Quarantined(_) => "quarantined",
            Self::Rejected(_) | Self::Forbidden => "rejected",
        }
    }
}

/// The answer to a save.
#[derive(Debug, Clone)]
pub struct SaveOutcome {
    /// What was done.
    pub decision: Decision,
    /// What was done, in words: `merged into <id>`.
    pub message: String,
    /// Why.
    pub reason: String,
    /// The judge's scores.
    pub scores: Scores,
    /// What was masked before anything was stored.
    pub redactions: Vec<MaskedCount>,
    /// In which ways the text addresses a model, for all that it may be harmless.
    pub injection_flags: Vec<&'static str>,
    /// What the record cites now, with verdicts.
    pub citations: Vec<Citation>,
    /// What it was to cite and is in no indexed repository.
    pub unknown_citations: Vec<UnknownCitation>,
    /// What became of the text.
    pub kept: Kept,
    /// The document behind the record that holds the whole text, where the record doesn't.
    pub document: Option<DocId>,
    /// What of the text is kept nowhere: greetings, thanks, comments that nobody is shown.
    pub left_out: Vec<String>,
    /// What else of the request was not taken as it came, and why; for people.
    pub notes: Vec<String>,
    /// The known record that it seems to contradict and does not replace.
    pub contradicts: Option<Contradicted>,
    /// The record as it is now; none when it was rejected.
    pub record: Option<Record>,
    /// Why the record can't be found by meaning yet (its vector follows from the queue).
    pub vector_pending_reason: Option<&'static str>,
}

/// A note that is ready to be judged and written.
pub(crate) struct Prepared {
    pub clean: SanitizedRequest,
    pub distilled: Distilled,
    pub content: Sanitized,
    /// The content, taken apart.
    pub note: Arc<ParsedNote>,
    pub title: Sanitized,
    /// What search will see of it.
    pub passage: NewPassage,
    pub content_hash: [u8; 32],
    pub simhash: u64,
    pub ttl: DateTime<Utc>,
    pub usefulness: f32,
    pub citations: Vec<Citation>,
    pub unknown_citations: Vec<UnknownCitation>,
    /// The whole text, where the content is a statement of it.
    pub whole: Option<Whole>,
    pub trust: Trust,
    pub looked: ReviewStatus,
    pub vector: Option<Embedded>,
}

/// The vector of a record, and what it is compared with.
pub(crate) struct Embedded {
    pub active: ActiveModel,
    pub vector: Vec<f32>,
    /// Where the vectors of the project's records are.
    pub others: VectorPlacement,
}

impl Embedded {
    /// It, and the model that made it.
    pub fn of_model(&self) -> (&Model, &[f32]) {
        (&self.active.model, &self.vector)
    }
}

/// Sanitizes, distils, judges and keeps a note, in one transaction, and says what was done and
/// why. Works without the embedding provider: the vector then follows from the queue.
pub async fn save(ctx: &MemoryContext, request: &SaveRequest) -> Result<SaveOutcome, Error> {
    save_reviewed(ctx, request, ReviewStatus::Nobody).await
}

/// Like [`save`], for a note that a person may have looked at and let out of quarantine.
pub async fn save_reviewed(
    ctx: &MemoryContext,
    request: &SaveRequest,
    looked: ReviewStatus,
) -> Result<SaveOutcome, Error> {
    let ttl = end_of(ctx, request)?;
    let (clean, distilled, mut gate) = read(ctx, request, looked).await;
    let trust = match gate.verdict() {
        FilterDecision::Refuse(reasons) => {
            return Ok(not_kept(Decision::Forbidden, forbids(&reasons), &gate));
        }
        FilterDecision::Hold(reasons) => {
            return held(ctx, request, &clean.text, reasons, &gate).await;
        }
        FilterDecision::Take { suspicious: true } => Trust::Untrusted,
        FilterDecision::Take { suspicious: false } => request.trust,
    };
    if let Some(reject) = judge::reject(&distilled.content) {
        return Ok(not_kept(Decision::Rejected(reject), reject.to_string(), &gate));
    }
    let dialog = known_dialog(ctx, request, &clean).await?;
    let (mut prepared, vector_pending_reason) =
        prepare(ctx, request, clean, distilled, ttl, &mut gate).await?;
    prepared.trust = trust;
    prepared.looked = looked;
    // Distilling may have laid open what was hidden from the first look.
    match gate.verdict() {
        FilterDecision::Refuse(reasons) => {
            return Ok(not_kept(Decision::Forbidden, forbids(&reasons), &gate));
        }
        FilterDecision::Hold(reasons) => {
            return held(ctx, request, &prepared.clean.text, reasons, &gate).await;
        }
        FilterDecision::Take { .. } => {}
    }
    let (store, notes) = (ctx.store.clone(), ctx.notes.clone());
    let save = Save { store, request: request.clone(), prepared, dialog, notes };
    let (written, Save { prepared, .. }) = ctx.writes.write(save).await;
    let written = written?;
    let cites = uses::cites(&prepared.clean.text, &prepared.clean.meta, &prepared.citations);
    let besides = [&[written.record.id], written.decision.replaced()].concat();
    uses::note_cited(ctx, request.project, besides, cites);
    let Report { kept, document, mut notes } = written.report;
    notes.extend(report::of_request(request, &prepared, document));
    Ok(SaveOutcome {
        message: message(&written.decision),
        decision: written.decision,
        reason: written.reason,
        scores: written.scores,
        redactions: gate.masked(),
        injection_flags: gate.flags(),
        citations: written.citations,
        unknown_citations: prepared.unknown_citations,
        kept,
        document,
        left_out: prepared.distilled.left_out,
        notes,
        contradicts: written.contradicts,
        record: Some(written.record),
        vector_pending_reason: vector_pending_reason.filter(|_| !written.has_vector),
    })
}

/// When what is saved ends: as the request says, else as the project's policy has it for its kind.
fn end_of(ctx: &MemoryContext, request: &SaveRequest) -> Result<DateTime<Utc>, Error> {
    let now = Utc::now();
    let ttl = request.ttl.unwrap_or_else(|| default_end(&ctx.policy, request.kind));
    if ttl <= now { Err(Error::TtlInThePast) } else { Ok(ttl) }
}

/// When a record of this kind ends that counts from now on and whose end nobody named.
pub(crate) fn default_end(policy: &Policy, kind: RecordKind) -> DateTime<Utc> {
    let days = policy.ttl_days.of(kind);
    days.map_or(NO_END, |days| Utc::now() + TimeDelta::days(i64::from(days)))
}

/// A request's texts, masked, and what they come to: with all its steps it may have some hundred kilobytes.
async fn read(
    ctx: &MemoryContext,
    request: &SaveRequest,
    looked: ReviewStatus,
) -> (SanitizedRequest, Distilled, ContentFilter) {
    let (policy, request) = (ctx.policy.clone(), request.clone());
    let bytes = request.content.len() + request.steps.iter().map(String::len).sum::<usize>();
    let read = move || {
        let mut gate = ContentFilter::new(&policy, looked);
        let clean = SanitizedRequest::of(&request, &mut gate);
        let distilled = clean.distil(request.kind);
        (clean, distilled, gate)
    };
    if bytes > READ_AT_ONCE { run_blocking(read).await } else { read() }
}

async fn held(
    ctx: &MemoryContext,
    request: &SaveRequest,
    text: &str,
    reasons: Vec<String>,
    gate: &ContentFilter,
) -> Result<SaveOutcome, Error> {
    let why = reasons.join(", ");
    // Others would decide about it, and would have to read it.
    if request.visibility == Visibility::Private {
        let reason = format!(
            "the project's policy would hold {why} back, and a private note is for nobody else to look at; take it out, or save it for the team"
        );
        return Ok(not_kept(Decision::Forbidden, reason, gate));
    }
    let holding = QuarantineRequest {
        project: request.project,
        kind: "save",
        reasons,
        beginning: text,
        request,
    };
    let id = quarantine::hold(ctx, holding).await?;
    let reason = format!(
        "the project's policy holds {why} back; a maintainer decides about it (GET /quarantine)"
    );
    Ok(not_kept(Decision::Quarantined(id), reason, gate))
}

fn forbids(reasons: &[String]) -> String {
    let why = reasons.join(", ");
    format!("the project's policy forbids {why}; take it out of the text and save again")
}

fn not_kept(decision: Decision, reason: String, gate: &ContentFilter) -> SaveOutcome {
    SaveOutcome {
        message: message(&decision),
        decision,
        reason,
        scores: Scores::default(),
        redactions: gate.masked(),
        injection_flags: gate.flags(),
        citations: Vec::new(),
        unknown_citations: Vec::new(),
        kept: Kept::Nothing,
        document: None,
        left_out: Vec::new(),
        notes: Vec::new(),
        contradicts: None,
        record: None,
        vector_pending_reason: None,
    }
}

fn message(decision: &Decision) -> String {
    let list =
        |ids: &[RecordId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match decision {
        Decision::Created(id) => format!("created {id}"),
        Decision::Merged(id) => format!("merged into {id}"),
        Decision::Superseded { by, replaced } => format!("{by} superseded {}", list(replaced)),
        Decision::Proposed(id) => format!("proposed {id}"),
        Decision::Duplicate(id) => format!("duplicate of {id}"),
        Decision::Quarantined(id) => format!("quarantined as {id}"),
        Decision::Rejected(_) | Decision::Forbidden => "rejected".to_owned(),
    }
}

/// The dialog to link: the one that is named (it must exist), or the one that `meta` names if it
/// exists (other tools' ids are kept in `meta` as they are).
async fn known_dialog(
    ctx: &MemoryContext,
    request: &SaveRequest,
    clean: &SanitizedRequest,
) -> Result<Option<DialogId>, Error> {
    if let Some(dialog) = request.dialog {
        let exists = dialogs::exists(&ctx.store, request.project, dialog).await?;
        return if exists { Ok(Some(dialog)) } else { Err(Error::UnknownDialog(dialog)) };
    }
    let named = clean.meta.get("source_dialog_id").and_then(Value::as_str);
    let Some(dialog) = named.and_then(|id| id.parse::<DialogId>().ok()) else { return Ok(None) };
    Ok(dialogs::exists(&ctx.store, request.project, dialog).await?.then_some(dialog))
}

async fn prepare(
    ctx: &MemoryContext,
    request: &SaveRequest,
    clean: SanitizedRequest,
    distilled: Distilled,
    ttl: DateTime<Utc>,
    gate: &mut ContentFilter,
) -> Result<(Prepared, Option<&'static str>), Error> {
    let CheckedNew { citations, unknown } =
        check_new(&ctx.store, request.project, &clean.citations).await?;
    let title = gate.filter_again(&distilled.title);
    let (content, whole) = text_of(request, &clean, &distilled, &title, gate)?;
    let passage = apply::passage(request.kind, &title, &content, &clean, &distilled, &citations);
    // The model takes longest. It is asked first, and what else there is to find out is found out meanwhile.
    let (embedded, (note, usefulness, content_hash, simhash)) = tokio::join!(
        biased;
        embed(ctx, request.project, &passage),
        async {
            let note = ParsedNote::read(content.as_str());
            let evidence = Evidence {
                citations: citations.len(),
                patch: clean.meta.contains_key("patch_sha") || clean.meta.contains_key("patch_ref"),
                task: request.task_external_id.is_some(),
                callers_opinion: request.usefulness,
            };
            let usefulness = judge::usefulness(&note, &evidence);
            // Two texts may come to one statement: they are the same when all of them is.
            let hashed = if whole.is_some() { clean.text.as_str() } else { content.as_str() };
            (Arc::new(note), usefulness, content_hash(hashed), simhash(content.as_str()))
        }
    );
    let (vector, pending) = match embedded {
        Ok(vector) => (Some(vector), None),
        Err(reason) => (None, Some(reason)),
    };
    let prepared = Prepared {
        clean,
        distilled,
        content,
        note,
        title,
        passage,
        content_hash,
        simhash,
        ttl,
        usefulness,
        citations,
        unknown_citations: unknown,
        whole,
        trust: request.trust,
        looked: ReviewStatus::Nobody,
        vector,
    };
    Ok((prepared, pending))
}

/// What the record is to hold, and the document behind it where that is not all. Nobody but its owner may find what is
/// private, which documents are not, so a private note has to fit.
fn text_of(
    request: &SaveRequest,
    clean: &SanitizedRequest,
    distilled: &Distilled,
    title: &Sanitized,
    gate: &mut ContentFilter,
) -> Result<(Sanitized, Option<Whole>), Error> {
    let masked = gate.filter_again(&distilled.content);
    if distilled.is_whole && masked.as_str().chars().count() <= CONTENT_MAX_CHARS {
        return Ok((masked, None));
    }
    if request.visibility == Visibility::Private {
        let length = clean.text.chars().count();
        return Err(Error::TooLongForOne { length, max: CONTENT_MAX_CHARS });
    }
    let statement = condense(&distilled.content, distill::MAX_CHARS);
    let statement = mask_distilled(gate, &statement, CONTENT_MAX_CHARS);
    let text = gate.filter_again(&clean.text);
    let whole = Whole::of(clean, distilled, request.kind, title, text, gate.sanitizing());
    Ok((statement, Some(whole)))
}

/// The vector of what search will see of a record, or why there is none now.
async fn embed(
    ctx: &MemoryContext,
    project: ProjectId,
    passage: &NewPassage,
) -> Result<Embedded, &'static str> {
    let active =
        ctx.search.models.usable().ok_or("the policy keeps texts from the embedding model")?;
    let text = mc_sanitizer::mask_with(&passage.embedding_text(), &ctx.search.sanitizing).text;
    let vectors = timeout(EMBEDDING_WAIT, active.embedder.embed(vec![text], Purpose::Save));
    let records =
        PassageFilter { sources: vec![SourceKind::Memory], ..PassageFilter::project(project) };
    let (vectors, others) =
        tokio::join!(vectors, vectors::extent(&ctx.store, &active.model, &records));
    match vectors {
        Ok(Ok(mut vectors)) => {
            let vector = vectors.pop().ok_or("the embedding provider gave no vector")?;
            // Why the database can't tell, it says of the save itself.
            Ok(Embedded { active, vector, others: others.unwrap_or(VectorPlacement::Flat) })
        }
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "saving without a vector");
            Err("the embedding provider is away; the vector follows from the queue")
        }
        Err(_) => Err("the embedding provider is slow; the vector follows from the queue"),
    }
}

/// Longest content of a record, for the edge to quote.
pub const CONTENT_MAX_CHARS: usize = distill::WHOLE_MAX_CHARS;
