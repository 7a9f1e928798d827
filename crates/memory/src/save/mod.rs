//! After the work: keep what was learnt, once, and say what was done with it.

mod apply;
mod clean;
mod group;
mod report;
mod whole;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{
    Act, DialogId, DocId, HoldId, Policy, ProjectId, RecordId, RecordKind, Trust, UserId,
    Visibility,
};
use mc_llm::Purpose;
use mc_sanitizer::Sanitized;
use mc_search::ActiveModel;
use mc_store::audit::{self, NewEvent};
use mc_store::citations::Citation;
use mc_store::records::{Fingerprint, NO_END, PROPOSAL_DAYS, Record};
use mc_store::{Tx, dialogs, records, tasks};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::citations::{CheckedNew, NewCitation, UnknownCitation, check_new};
use crate::distil::{self, Distilled, condense};
use crate::gate::{Gate, Looked, MaskedCount, Verdict, beside};
use crate::judge::{
    self, Action, CANDIDATE_DISTANCE_MAX, Evidence, Incoming, Known, Reject, Scores, judge,
};
use crate::normalise::content_hash;
use crate::quarantine::{self, Holding};
use crate::simhash::simhash;
use crate::{Error, MemoryContext, uses};
pub(crate) use apply::{CITATIONS_MAX, is_same_place, merged_kind, passage_of, united};
use clean::Clean;
pub(crate) use clean::mask_distilled;
use group::Save;
pub(crate) use group::WriteQueue;
use report::Report;
pub use report::{Contradicted, Kept};
use whole::Whole;

/// How long a save waits for its vector; later ones come from the queue.
const EMBEDDING_WAIT: Duration = Duration::from_secs(2);
/// Records that a new one is compared with, by fingerprint and by vector each.
const CANDIDATES: i64 = 30;

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
    Known(RecordId),
    /// It waits in quarantine.
    Quarantined(HoldId),
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
            | Self::Known(id)
            | Self::Superseded { by: id, .. } => Some(*id),
            Self::Quarantined(_) | Self::Rejected(_) | Self::Forbidden => None,
        }
    }

    /// The word for it on the wire.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Merged(_) => "merged",
            Self::Superseded { .. } => "superseded",
            Self::Proposed(_) => "proposed",
            Self::Known(_) => "known",
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
    pub masked: Vec<MaskedCount>,
    /// In which ways the text addresses a model, for all that it may be harmless.
    pub flags: Vec<&'static str>,
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
    pub vector_pending: Option<&'static str>,
}

/// A note that is ready to be judged and written.
pub(crate) struct Prepared {
    pub clean: Clean,
    pub distilled: Distilled,
    pub content: Sanitized,
    pub title: Sanitized,
    pub content_hash: [u8; 32],
    pub simhash: u64,
    pub ttl: DateTime<Utc>,
    pub usefulness: f32,
    pub citations: Vec<Citation>,
    pub unknown_citations: Vec<UnknownCitation>,
    /// The whole text, where the content is a statement of it.
    pub whole: Option<Whole>,
    pub trust: Trust,
    pub looked: Looked,
    pub vector: Option<(ActiveModel, Vec<f32>)>,
}

/// Sanitizes, distils, judges and keeps a note, in one transaction, and says what was done and
/// why. Works without the embedding provider: the vector then follows from the queue.
pub async fn save(ctx: &MemoryContext, request: &SaveRequest) -> Result<SaveOutcome, Error> {
    save_looked(ctx, request, Looked::Nobody).await
}

/// Like [`save`], for a note that a person may have looked at and let out of quarantine.
pub async fn save_looked(
    ctx: &MemoryContext,
    request: &SaveRequest,
    looked: Looked,
) -> Result<SaveOutcome, Error> {
    let ttl = end_of(ctx, request)?;
    let (clean, distilled, mut gate) = read(ctx, request, looked).await;
    let trust = match gate.verdict() {
        Verdict::Refuse(reasons) => {
            return Ok(not_kept(Decision::Forbidden, forbids(&reasons), &gate));
        }
        Verdict::Hold(reasons) => return held(ctx, request, &clean.text, reasons, &gate).await,
        Verdict::Take { suspicious: true } => Trust::Untrusted,
        Verdict::Take { suspicious: false } => request.trust,
    };
    if let Some(reject) = judge::reject(&distilled.content) {
        return Ok(not_kept(Decision::Rejected(reject), reject.to_string(), &gate));
    }
    let dialog = known_dialog(ctx, request, &clean).await?;
    let (mut prepared, vector_pending) =
        prepare(ctx, request, clean, distilled, ttl, &mut gate).await?;
    prepared.trust = trust;
    prepared.looked = looked;
    // Distilling may have laid open what was hidden from the first look.
    match gate.verdict() {
        Verdict::Refuse(reasons) => {
            return Ok(not_kept(Decision::Forbidden, forbids(&reasons), &gate));
        }
        Verdict::Hold(reasons) => {
            return held(ctx, request, &prepared.clean.text, reasons, &gate).await;
        }
        Verdict::Take { .. } => {}
    }
    let save = Save { store: ctx.store.clone(), request: request.clone(), prepared, dialog };
    let (written, prepared) = ctx.writes.write(save).await;
    let written = written?;
    let cites = uses::cites(&prepared.clean.text, &prepared.clean.meta, &prepared.citations);
    uses::note_cited(ctx, request.project, &request.principal, written.record.id, cites);
    let Report { kept, document, mut notes } = written.report;
    notes.extend(report::of_request(request, &prepared, document));
    Ok(SaveOutcome {
        message: message(&written.decision),
        decision: written.decision,
        reason: written.reason,
        scores: written.scores,
        masked: gate.masked(),
        flags: gate.flags(),
        citations: written.citations,
        unknown_citations: prepared.unknown_citations,
        kept,
        document,
        left_out: prepared.distilled.left_out,
        notes,
        contradicts: written.contradicts,
        record: Some(written.record),
        vector_pending: vector_pending.filter(|_| !written.has_vector),
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
    looked: Looked,
) -> (Clean, Distilled, Gate) {
    let (policy, request) = (ctx.policy.clone(), request.clone());
    beside(move || {
        let mut gate = Gate::new(&policy, looked);
        let clean = Clean::of(&request, &mut gate);
        let distilled = clean.distil(request.kind);
        (clean, distilled, gate)
    })
    .await
}

async fn held(
    ctx: &MemoryContext,
    request: &SaveRequest,
    text: &str,
    reasons: Vec<String>,
    gate: &Gate,
) -> Result<SaveOutcome, Error> {
    let why = reasons.join(", ");
    // Others would decide about it, and would have to read it.
    if request.visibility == Visibility::Private {
        let reason = format!(
            "the project's policy would hold {why} back, and a private note is for nobody else to look at; take it out, or save it for the team"
        );
        return Ok(not_kept(Decision::Forbidden, reason, gate));
    }
    let holding =
        Holding { project: request.project, kind: "save", reasons, beginning: text, request };
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

fn not_kept(decision: Decision, reason: String, gate: &Gate) -> SaveOutcome {
    SaveOutcome {
        message: message(&decision),
        decision,
        reason,
        scores: Scores::default(),
        masked: gate.masked(),
        flags: gate.flags(),
        citations: Vec::new(),
        unknown_citations: Vec::new(),
        kept: Kept::Nothing,
        document: None,
        left_out: Vec::new(),
        notes: Vec::new(),
        contradicts: None,
        record: None,
        vector_pending: None,
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
        Decision::Known(id) => format!("known as {id}"),
        Decision::Quarantined(id) => format!("quarantined as {id}"),
        Decision::Rejected(_) | Decision::Forbidden => "rejected".to_owned(),
    }
}

/// The dialog to link: the one that is named (it must exist), or the one that `meta` names if it
/// exists (other tools' ids are kept in `meta` as they are).
async fn known_dialog(
    ctx: &MemoryContext,
    request: &SaveRequest,
    clean: &Clean,
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
    clean: Clean,
    distilled: Distilled,
    ttl: DateTime<Utc>,
    gate: &mut Gate,
) -> Result<(Prepared, Option<&'static str>), Error> {
    let CheckedNew { citations, unknown } =
        check_new(&ctx.store, request.project, &clean.citations).await?;
    let (content, whole) = text_of(request, &clean, &distilled, gate)?;
    let title = gate.again(&distilled.title);
    let usefulness = judge::usefulness(
        content.as_str(),
        &Evidence {
            citations: citations.len(),
            patch: clean.meta.contains_key("patch_sha") || clean.meta.contains_key("patch_ref"),
            task: request.task_external_id.is_some(),
            callers_opinion: request.usefulness,
        },
    );
    // Two texts may come to one statement: they are the same when all of them is.
    let hashed = if whole.is_some() { clean.text.as_str() } else { content.as_str() };
    let mut prepared = Prepared {
        content_hash: content_hash(hashed),
        simhash: simhash(content.as_str()),
        clean,
        distilled,
        content,
        title,
        ttl,
        usefulness,
        citations,
        unknown_citations: unknown,
        whole,
        trust: request.trust,
        looked: Looked::Nobody,
        vector: None,
    };
    let pending = match embed(ctx, &prepared).await {
        Ok(vector) => {
            prepared.vector = Some(vector);
            None
        }
        Err(reason) => Some(reason),
    };
    Ok((prepared, pending))
}

/// What the record is to hold, and the document behind it where that is not all. Nobody but its owner may find what is
/// private, which documents are not, so a private note has to fit.
fn text_of(
    request: &SaveRequest,
    clean: &Clean,
    distilled: &Distilled,
    gate: &mut Gate,
) -> Result<(Sanitized, Option<Whole>), Error> {
    let masked = gate.again(&distilled.content);
    if distilled.is_whole && masked.as_str().chars().count() <= CONTENT_MAX_CHARS {
        return Ok((masked, None));
    }
    if request.visibility == Visibility::Private {
        let length = clean.text.chars().count();
        return Err(Error::TooLongForOne { length, max: CONTENT_MAX_CHARS });
    }
    let statement = condense(&distilled.content, distil::MAX_CHARS);
    let statement = mask_distilled(gate, &statement, CONTENT_MAX_CHARS);
    let text = gate.again(&clean.text);
    let whole = Whole::of(clean, distilled, request.kind, text, gate.sanitizing());
    Ok((statement, Some(whole)))
}

/// The vector of the record as it would be found, or why there is none now.
async fn embed(
    ctx: &MemoryContext,
    prepared: &Prepared,
) -> Result<(ActiveModel, Vec<f32>), &'static str> {
    let model =
        ctx.search.models.usable().ok_or("the policy keeps texts from the embedding model")?;
    let passage = apply::passage(RecordKind::Fact, prepared);
    let text = mc_sanitizer::mask_with(&passage.embedding_text(), &ctx.search.sanitizing).text;
    let vectors = model.embedder.embed(vec![text], Purpose::Save);
    match tokio::time::timeout(EMBEDDING_WAIT, vectors).await {
        Ok(Ok(mut vectors)) => vectors
            .pop()
            .map(|vector| (model, vector))
            .ok_or("the embedding provider gave no vector"),
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "saving without a vector");
            Err("the embedding provider is away; the vector follows from the queue")
        }
        Err(_) => Err("the embedding provider is slow; the vector follows from the queue"),
    }
}

/// What was written.
pub(crate) struct Written {
    pub record: Record,
    pub decision: Decision,
    pub reason: String,
    pub scores: Scores,
    pub citations: Vec<Citation>,
    pub report: Report,
    pub contradicts: Option<Contradicted>,
    pub has_vector: bool,
}

/// Judges and writes in a transaction that has the project's lock, so that of two people who save the same thing at
/// once the second meets the record of the first. Where it fails, what it has written is to be undone.
async fn judge_and_write(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &mut Prepared,
    dialog: Option<DialogId>,
) -> Result<Written, Error> {
    quarantine::claim(tx, prepared.looked).await?;
    let task = match &request.task_external_id {
        Some(id) => Some(tasks::ensure(tx, request.project, id).await?),
        None => None,
    };
    let known = candidates(tx, request, prepared).await?;
    let incoming = Incoming {
        kind: request.kind,
        content: prepared.content.as_str(),
        content_hash: prepared.content_hash,
        contradicts: request.contradicts,
        supersedes: request.supersedes,
        usefulness: prepared.usefulness,
    };
    let judgement = judge(&incoming, &known);
    let links = apply::Links { task, dialog };
    // What was held may be older than what would be changed: a person decides with both before them.
    let is_overtaken = match prepared.looked {
        Looked::Released(hold) => {
            mc_store::quarantine::is_overtaken(tx, hold, &judgement.touches()).await?
        }
        _ => false,
    };
    if request.visibility == Visibility::Proposed || is_overtaken {
        return propose(tx, request, prepared, links, judgement).await;
    }
    // All of them now and in one order: recalls count their hits on several records at once.
    let touched = judgement.touches();
    if !touched.is_empty() {
        records::lock(tx, &touched).await?;
    }
    let applied = match judgement.action {
        Action::Create => apply::create(tx, request, prepared, links, judgement.scores).await?,
        Action::Merge { into, exact } => {
            apply::merge(tx, request, prepared, links, apply::Twin { id: into, exact }, &judgement)
                .await?
        }
    };
    let id = applied.record.id;
    for replaced in &judgement.supersede {
        apply::supersede(tx, request.project, *replaced, id).await?;
    }
    let contradicts = judgement.contradicts.map(Contradicted::from);
    let decision = match (judgement.action, judgement.supersede) {
        (Action::Create, replaced) if replaced.is_empty() => Decision::Created(id),
        (Action::Merge { .. }, replaced) if replaced.is_empty() => Decision::Merged(id),
        (_, replaced) => Decision::Superseded { by: id, replaced },
    };
    quarantine::settle(tx, prepared.looked).await?;
    note(tx, request, &decision, id);
    Ok(Written {
        record: applied.record,
        decision,
        reason: judgement.reason,
        scores: judgement.scores,
        citations: applied.citations,
        report: applied.report,
        contradicts,
        has_vector: applied.has_vector,
    })
}

/// What may say the same among the records that the note may be merged into, or would change.
async fn candidates(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &Prepared,
) -> Result<Vec<Known>, Error> {
    let vector = prepared.vector.as_ref().map(|(model, vector)| (&model.model, vector.as_slice()));
    let text = Fingerprint {
        content_hash: &prepared.content_hash,
        simhash: prepared.simhash,
        max_distance: i32::try_from(CANDIDATE_DISTANCE_MAX).unwrap_or(i32::MAX),
    };
    let private_to = private_to(request);
    let found =
        records::candidates(tx, request.project, private_to, text, vector, CANDIDATES).await?;
    Ok(found.into_iter().map(known).collect())
}

/// Who alone may see what is saved.
fn private_to(request: &SaveRequest) -> Option<UserId> {
    request.saved_by.filter(|_| request.visibility == Visibility::Private)
}

/// Puts a note before the reviewers. It is never merged into what the team has: where it comes close to
/// one record, it is a proposal to change that.
async fn propose(
    tx: &mut Tx,
    request: &SaveRequest,
    prepared: &mut Prepared,
    links: apply::Links,
    judgement: judge::Judgement,
) -> Result<Written, Error> {
    if request.ttl.is_none() {
        // One that nobody decides about ends in any case.
        let waits = Utc::now() + TimeDelta::days(i64::from(PROPOSAL_DAYS));
        prepared.ttl = prepared.ttl.min(waits);
    }
    let amends = match judgement.action {
        Action::Merge { into, exact: true } => {
            let record = records::find_in(tx, into).await?.ok_or(Error::UnknownRecord(into))?;
            quarantine::settle(tx, prepared.looked).await?;
            let reason = "the team knows this already".to_owned();
            return Ok(unchanged(record, Decision::Known(into), reason, judgement.scores));
        }
        Action::Merge { into, exact: false } => Some(into),
        Action::Create => None,
    };
    let hash = &prepared.content_hash;
    if let Some(same) = records::same_proposal(tx, request.project, request.kind, hash).await? {
        // One that expired unread is before the reviewers again: that is what the caller is told.
        records::prolong(tx, same, prepared.ttl).await?;
        let record = records::find_in(tx, same).await?.ok_or(Error::UnknownRecord(same))?;
        let decision = Decision::Proposed(same);
        // It is theirs as well, and stays when those are forgotten who proposed it before.
        let is_noted = records::seconded(tx, same, &apply::origin(request, prepared)).await?;
        quarantine::settle(tx, prepared.looked).await?;
        if is_noted {
            note(tx, request, &decision, same);
        }
        let reason = "it was proposed already and waits for a person of the team".to_owned();
        return Ok(unchanged(record, decision, reason, judgement.scores));
    }
    let applied = apply::propose(tx, request, prepared, links, amends, judgement.scores).await?;
    let decision = Decision::Proposed(applied.record.id);
    quarantine::settle(tx, prepared.looked).await?;
    note(tx, request, &decision, applied.record.id);
    let reason = match amends {
        Some(id) => format!("a person of the team decides whether record {id} is to say this"),
        None => "a person of the team decides whether it is to count".to_owned(),
    };
    Ok(Written {
        record: applied.record,
        decision,
        reason,
        scores: judgement.scores,
        citations: applied.citations,
        report: applied.report,
        contradicts: judgement.contradicts.map(Contradicted::from),
        has_vector: true,
    })
}

fn unchanged(record: Record, decision: Decision, reason: String, scores: Scores) -> Written {
    let report = Report { kept: Kept::Existing, ..Report::default() };
    let citations = Vec::new();
    Written {
        record,
        decision,
        reason,
        scores,
        citations,
        report,
        contradicts: None,
        has_vector: true,
    }
}

fn note(tx: &mut Tx, request: &SaveRequest, decision: &Decision, id: RecordId) {
    let replaced = match decision {
        Decision::Superseded { replaced, .. } => replaced.clone(),
        _ => Vec::new(),
    };
    let detail = json!({
        "outcome": decision.as_str(),
        "kind": request.kind,
        "visibility": request.visibility,
        "replaced": replaced,
    });
    audit::note(tx, NewEvent::new(Act::RecordSaved, id).with(detail));
}

fn known(candidate: records::Candidate) -> Known {
    Known {
        id: candidate.id,
        kind: candidate.kind,
        content: candidate.content,
        content_hash: candidate.content_hash,
        cosine: candidate.similarity,
    }
}

/// Longest content of a record, for the edge to quote.
pub const CONTENT_MAX_CHARS: usize = distil::WHOLE_MAX_CHARS;
