//! Quarantine: encrypting and storing requests that the policy holds back, and opening them again.

mod release;

use chrono::{TimeDelta, Utc};
use mc_crypto::{AssociatedData, Encryptor};
use mc_domain::{AuditAction, Policy, ProjectId, QuarantineItemId, QuarantineState};
use mc_sanitizer::{Policy as SanitizerPolicy, Sanitized, mask_with};
use mc_store::Tx;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::quarantine::{self, NewQuarantineItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::content_filter::{ContentFilter, ReviewStatus, run_limited};
use crate::text::cut;
use crate::{Error, MemoryContext};

pub use release::{DOCUMENT, release};

/// Purpose in the associated data of a ciphertext, in addition to the row id.
const PURPOSE: &str = "quarantine_items.ciphertext";
/// Longest excerpt, in characters.
const EXCERPT_MAX_CHARS: usize = 200;

/// A text to quarantine, with the request that it belongs to.
#[derive(Debug)]
pub struct QuarantineRequest<'a, T> {
    /// Project that it belongs to.
    pub project: ProjectId,
    /// Kind of the request: `save`, `dialog` or `document`.
    pub kind: &'static str,
    /// Categories that the policy holds back.
    pub reasons: Vec<String>,
    /// Text for the excerpt, which is masked once more by the strictest rules.
    pub beginning: &'a str,
    /// The request, as it arrived.
    pub request: &'a T,
}

/// Encrypts a request and stores it until a maintainer decides.
pub async fn create<T: Serialize>(
    ctx: &MemoryContext,
    request: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    let mut tx = ctx.store.begin().await?;
    let id = create_in(&mut tx, ctx, request).await?;
    tx.commit().await?;
    Ok(id)
}

/// Quarantines a request within a transaction.
pub async fn create_in<T: Serialize>(
    tx: &mut Tx,
    ctx: &MemoryContext,
    request: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    create_with_policy(tx, &ctx.policy, &ctx.encryptor, request).await
}

/// Quarantines a request under a policy, for background jobs without a project context.
pub async fn create_with_policy<T: Serialize>(
    tx: &mut Tx,
    policy: &Policy,
    encryptor: &Encryptor,
    request: QuarantineRequest<'_, T>,
) -> Result<QuarantineItemId, Error> {
    let id = QuarantineItemId::generate();
    let text = serde_json::to_vec(request.request).map_err(|_| Error::Encryption)?;
    let days = i64::from(policy.retention_days.quarantine);
    let quarantine_item = NewQuarantineItem {
        id,
        kind: request.kind,
        reasons: request.reasons,
        excerpt: excerpt(request.beginning),
        ciphertext: encryptor.encrypt(associated_data(&id), &text),
        expires_at: Utc::now() + TimeDelta::days(days),
        notify: policy.notifications.webhook_url.is_some(),
    };
    quarantine::put(tx, request.project, &quarantine_item).await?;
    let detail = json!({ "kind": quarantine_item.kind, "reasons": quarantine_item.reasons });
    let event = NewEvent::new(AuditAction::QuarantineItemCreated, id).with(detail);
    let (chain, actor) = (Chain::Project(request.project), tx.principal());
    audit::add(tx, chain, actor, &[event]);
    Ok(id)
}

/// Returns a quarantined request, masked by the strictest rules; `None` if there is none.
pub async fn show(ctx: &MemoryContext, id: QuarantineItemId) -> Result<Option<Sanitized>, Error> {
    let Some(envelope) = quarantine::ciphertext(&ctx.store, id).await? else { return Ok(None) };
    let work = ctx.clone();
    let masked =
        run_limited(ctx.fairness_key(), move || masked_request(&work, id, &envelope)).await;
    Ok(Some(masked?))
}

/// Locks the quarantine item that is being released until the transaction ends. It comes first:
/// erasure of a user locks quarantine items before records.
pub async fn claim(tx: &mut Tx, review_status: ReviewStatus) -> Result<(), Error> {
    let ReviewStatus::Released(id) = review_status else { return Ok(()) };
    if quarantine::lock(tx, id).await? { Ok(()) } else { Err(Error::QuarantineItemNotPending(id)) }
}

/// Marks the item as released, in the transaction that stores its content.
pub async fn settle(tx: &mut Tx, review_status: ReviewStatus) -> Result<(), Error> {
    let ReviewStatus::Released(id) = review_status else { return Ok(()) };
    decide(tx, id, QuarantineState::Released, AuditAction::QuarantineItemReleased).await
}

/// Deletes an item permanently; only the decision is kept.
pub async fn delete(ctx: &MemoryContext, id: QuarantineItemId) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    decide(&mut tx, id, QuarantineState::Deleted, AuditAction::QuarantineItemDeleted).await?;
    Ok(tx.commit().await?)
}

/// Decides about a quarantine item.
pub async fn decide(
    tx: &mut Tx,
    id: QuarantineItemId,
    state: QuarantineState,
    action: AuditAction,
) -> Result<(), Error> {
    if !quarantine::decide(tx, id, state).await? {
        return Err(Error::QuarantineItemNotPending(id));
    }
    audit::record(tx, NewEvent::new(action, id));
    Ok(())
}

/// Decrypts a quarantined request.
pub fn open<T: DeserializeOwned>(
    ctx: &MemoryContext,
    id: QuarantineItemId,
    envelope: &[u8],
) -> Result<T, Error> {
    let text = ctx.encryptor.decrypt(associated_data(&id), envelope).map_err(|error| {
        tracing::error!(quarantine_item.id = %id, %error, "decrypting a quarantine item failed");
        Error::Encryption
    })?;
    serde_json::from_slice(&text).map_err(|_| Error::Encryption)
}

fn masked_request(
    ctx: &MemoryContext,
    id: QuarantineItemId,
    envelope: &[u8],
) -> Result<Sanitized, Error> {
    let request: Map<String, Value> = open(ctx, id, envelope)?;
    // Texts are masked singly first: JSON escapes line breaks, which would hide a secret.
    let request = ContentFilter::strict().filter_object(&request);
    let text = serde_json::to_string_pretty(&request).map_err(|_| Error::Encryption)?;
    Ok(mask_with(&text, &SanitizerPolicy::strict()).text)
}

fn associated_data(id: &QuarantineItemId) -> AssociatedData<'_> {
    AssociatedData { purpose: PURPOSE, row: id.0.as_bytes() }
}

fn excerpt(beginning: &str) -> Sanitized {
    let masked = |text: &str| mask_with(text, &SanitizerPolicy::strict()).text;
    masked(&cut(masked(beginning).as_str(), EXCERPT_MAX_CHARS))
}
