//! Release of quarantine items.

use chrono::Utc;
use mc_contract::operations::quarantine::ReleaseResponse;
use mc_domain::{AuditAction, QuarantineItemId, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::projects::Project;
use mc_store::{Upserted, docs, quarantine as items};
use serde_json::json;
use uuid::Uuid;

use super::{claim, open, settle};
use crate::content_filter::{FilterDecision, ReviewStatus};
use crate::documents::{self, NewDocument};
use crate::{
    Error, MemoryContext, SaveDialog, SaveDialogOutcome, SaveRequest, save_dialog, save_reviewed,
};

/// The kind of an item that is a document.
pub const DOCUMENT: &str = "document";

/// Releases an item: it is stored as if it were sent now, by the person who releases it. The item
/// is settled in the transaction that stores it, so a failure leaves it pending.
pub async fn release(
    ctx: &MemoryContext,
    project: &Project,
    id: QuarantineItemId,
) -> Result<ReleaseResponse, Error> {
    let item = items::find(&ctx.store, id).await?.ok_or(Error::QuarantineItemNotPending(id))?;
    let ciphertext =
        items::ciphertext(&ctx.store, id).await?.ok_or(Error::QuarantineItemNotPending(id))?;
    match item.kind.as_str() {
        "dialog" => release_dialog(ctx, id, open(ctx, id, &ciphertext)?).await,
        DOCUMENT => release_document(ctx, project, id, open(ctx, id, &ciphertext)?).await,
        _ => release_record(ctx, project, id, open(ctx, id, &ciphertext)?).await,
    }
}

/// Saves a record. If the person who releases it may not save for the team, it is a proposal.
async fn release_record(
    ctx: &MemoryContext,
    project: &Project,
    id: QuarantineItemId,
    request: SaveRequest,
) -> Result<ReleaseResponse, Error> {
    let can_save = project.role >= ctx.policy.min_roles.save;
    let visibility = match request.visibility {
        Visibility::Team if !can_save => Visibility::Proposed,
        other => other,
    };
    // An expiry that passed while the item was pending counts as none.
    let ttl = request.ttl.filter(|ttl| *ttl > Utc::now());
    let request = SaveRequest { visibility, ttl, ..request };
    let saved = save_reviewed(ctx, &request, ReviewStatus::Released(id)).await?;
    let Some(record) = saved.decision.record() else {
        return Err(Error::NotReleased(saved.reason));
    };
    let outcome = saved.decision.as_str().to_owned();
    Ok(ReleaseResponse { outcome, id: record.into(), reason: saved.reason })
}

async fn release_dialog(
    ctx: &MemoryContext,
    id: QuarantineItemId,
    request: SaveDialog,
) -> Result<ReleaseResponse, Error> {
    match save_dialog(ctx, &request, ReviewStatus::Released(id)).await? {
        SaveDialogOutcome::Kept { id, .. } => Ok(by_person("kept", id)),
        SaveDialogOutcome::Quarantined(_) => Err(Error::NotReleased("it was quarantined".into())),
    }
}

async fn release_document(
    ctx: &MemoryContext,
    project: &Project,
    id: QuarantineItemId,
    document: NewDocument,
) -> Result<ReleaseResponse, Error> {
    let review = ReviewStatus::Released(id);
    let prepared =
        documents::prepare_all(ctx.fairness_key(), &ctx.policy, vec![document], review).await;
    let prepared = prepared.into_iter().next().ok_or(Error::QuarantineItemNotPending(id))?;
    if let FilterDecision::Reject(reasons) = prepared.decision {
        return Err(Error::Forbidden(reasons.join(", ")));
    }
    let mut tx = ctx.store.begin().await?;
    claim(&mut tx, review).await?;
    if docs::is_newer(&mut tx, project.id, &prepared.doc, id).await? {
        return Err(Error::QuarantineItemOutdated(id));
    }
    let (doc, outcome) = prepared.write(&mut tx, project.id).await?;
    docs::copy_sent_at(&mut tx, doc, id).await?;
    settle(&mut tx, review).await?;
    let (created, updated) = (outcome == Upserted::Created, outcome == Upserted::Updated);
    let details = json!({ "created": u8::from(created), "updated": u8::from(updated) });
    let event = NewEvent::new(AuditAction::DocumentsIngested, &prepared.doc.source);
    audit::record(&mut tx, event.with(details));
    tx.commit().await?;
    Ok(by_person(outcome.as_str(), doc))
}

fn by_person(outcome: &str, id: impl Into<Uuid>) -> ReleaseResponse {
    let reason = "a maintainer released it".to_owned();
    ReleaseResponse { outcome: outcome.to_owned(), id: id.into(), reason }
}
