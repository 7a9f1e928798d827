//! Putting into quarantine what a policy forbids to be taken in, and opening it again.

use chrono::{TimeDelta, Utc};
use mc_crypto::{AssociatedData, Encryptor};
use mc_domain::{AuditAction, Policy, ProjectId, QuarantineItemId, QuarantineState};
use mc_sanitizer::{Policy as Sanitizing, Sanitized, mask_with};
use mc_store::Tx;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::quarantine::{self, NewQuarantineItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::content_filter::{ContentFilter, ReviewStatus, run_blocking};
use crate::text::cut;
use crate::{Error, MemoryContext};

/// What an envelope of the quarantine belongs to, beside its row.
const PURPOSE: &str = "quarantine_items.ciphertext";
/// Characters of what is shown of a text.
const SUMMARY_MAX: usize = 200;

/// Something to hold.
#[derive(Debug)]
pub struct QuarantineRequest<'a, T> {
    /// Project.
    pub project: ProjectId,
    /// What was sent: `save`, `dialog` or `document`.
    pub kind: &'static str,
    /// Why.
    pub reasons: Vec<String>,
    /// Of what is shown of it; masked here once more, by the strictest rules.
    pub beginning: &'a str,
    /// The request as it came.
    pub request: &'a T,
}

/// Seals a request and keeps it until somebody decides about it.
pub async fn hold<T: Serialize>(
    ctx: &MemoryContext,
    holding: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    let mut tx = ctx.store.begin().await?;
    let id = hold_in(&mut tx, ctx, holding).await?;
    tx.commit().await?;
    Ok(id)
}

/// The same within a transaction.
pub async fn hold_in<T: Serialize>(
    tx: &mut Tx,
    ctx: &MemoryContext,
    holding: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    hold_under(tx, &ctx.policy, &ctx.encryptor, holding).await
}

/// The same under a policy, for work in the background that has entered no project.
pub async fn hold_under<T: Serialize>(
    tx: &mut Tx,
    policy: &Policy,
    encryptor: &Encryptor,
    holding: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    let id = QuarantineItemId::generate();
    let text = serde_json::to_vec(holding.request).map_err(|_| Error::Sealed)?;
    let days = i64::from(policy.retention_days.quarantine);
    let hold = NewQuarantineItem {
        id,
        kind: holding.kind,
        reasons: holding.reasons,
        excerpt: summary(holding.beginning),
        ciphertext: encryptor.encrypt(place(&id), &text),
        expires_at: Utc::now() + TimeDelta::days(days),
        notify: policy.notifications.webhook_url.is_some(),
    };
    quarantine::put(tx, holding.project, &hold).await?;
    let detail = json!({ "kind": hold.kind, "reasons": hold.reasons });
    let event = NewEvent::new(AuditAction::QuarantineItemCreated, id).with(detail);
    let (chain, actor) = (Chain::Project(holding.project), tx.principal());
    audit::add(tx, chain, actor, &[event]);
    Ok(id)
}

/// The request that is held, for whoever is to decide about it: masked by the strictest rules, all
/// of it. `None` where nothing is held.
pub async fn show(ctx: &MemoryContext, id: QuarantineItemId) -> Result<Option<Sanitized>, Error> {
    let Some(envelope) = quarantine::sealed(&ctx.store, id).await? else { return Ok(None) };
    let ctx = ctx.clone();
    Ok(Some(run_blocking(move || shown(&ctx, id, &envelope)).await?))
}

/// Has nobody else decide about what a person lets out, until the transaction ends that takes it
/// in. First of all, as whoever forgets somebody takes what they sent before what they made.
pub async fn claim(tx: &mut Tx, review_status: ReviewStatus) -> Result<(), Error> {
    let ReviewStatus::Released(id) = review_status else { return Ok(()) };
    if quarantine::lock(tx, id).await? { Ok(()) } else { Err(Error::NotHeld(id)) }
}

/// Notes in the transaction that takes something in that it was held until now and is no more,
/// where a person let it out: both are so, or neither.
pub async fn settle(tx: &mut Tx, review_status: ReviewStatus) -> Result<(), Error> {
    let ReviewStatus::Released(id) = review_status else { return Ok(()) };
    decide(tx, id, QuarantineState::Released, AuditAction::QuarantineItemReleased).await
}

/// Ends that something is held.
pub async fn decide(
    tx: &mut Tx,
    id: QuarantineItemId,
    state: QuarantineState,
    act: AuditAction,
) -> Result<(), Error> {
    if !quarantine::decide(tx, id, state).await? {
        return Err(Error::NotHeld(id));
    }
    audit::record(tx, NewEvent::new(act, id));
    Ok(())
}

/// The request in an envelope, as it came.
pub fn open<T: DeserializeOwned>(
    ctx: &MemoryContext,
    id: QuarantineItemId,
    envelope: &[u8],
) -> Result<T, Error> {
    let text = ctx.encryptor.decrypt(place(&id), envelope).map_err(|error| {
        tracing::error!(hold.id = %id, %error, "an envelope of the quarantine does not open");
        Error::Sealed
    })?;
    serde_json::from_slice(&text).map_err(|_| Error::Sealed)
}

fn shown(ctx: &MemoryContext, id: QuarantineItemId, envelope: &[u8]) -> Result<Sanitized, Error> {
    let request: Map<String, Value> = open(ctx, id, envelope)?;
    // Text by text first: as JSON a line's end is two letters, behind which a secret in two parts
    // is whole no more.
    let request = ContentFilter::strict().filter_object(&request);
    let text = serde_json::to_string_pretty(&request).map_err(|_| Error::Sealed)?;
    Ok(mask_with(&text, &Sanitizing::strict()).text)
}

fn place(id: &QuarantineItemId) -> AssociatedData<'_> {
    AssociatedData { purpose: PURPOSE, row: id.0.as_bytes() }
}

fn summary(beginning: &str) -> Sanitized {
    mask_with(
        &cut(mask_with(beginning, &Sanitizing::strict()).text.as_str(), SUMMARY_MAX),
        &Sanitizing::strict(),
    )
    .text
}
