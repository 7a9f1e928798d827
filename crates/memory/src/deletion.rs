//! Deletion of records by people.

use mc_domain::{AuditAction, RecordId, UserId, Visibility};
use mc_store::Tx;
use mc_store::audit::{self, NewEvent};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Decided};
use serde_json::json;

use crate::{Error, MemoryContext};

/// Deletes a record, or withdraws a proposal of the user. A private record and an own proposal
/// take no more than saving them did; for any other record `can_write` must be set, else the error
/// is [`Error::NotOwner`].
pub async fn delete_record(
    ctx: &MemoryContext,
    id: RecordId,
    user: UserId,
    can_write: bool,
) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    // Locked first: it could be shared between the check and the deletion.
    records::lock(&mut tx, &[id]).await?;
    let record = records::find_in(&mut tx, id).await?.ok_or(Error::NoRecord(id))?;
    if records::is_own_proposal(&mut tx, id, user).await? {
        withdraw(&mut tx, id).await?;
        return Ok(tx.commit().await?);
    }
    if record.access.private_to != Some(user) && !can_write {
        return Err(Error::NotOwner(id));
    }
    if record.access.visibility == Visibility::Proposed {
        return Err(Error::StillProposed(id));
    }
    if !records::delete(&mut tx, id).await? {
        return Err(Error::NoRecord(id));
    }
    passages::remove(&mut tx, PassageSource::Record(id)).await?;
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordDeleted, id));
    Ok(tx.commit().await?)
}

async fn withdraw(tx: &mut Tx, id: RecordId) -> Result<(), Error> {
    if !records::decide(tx, id, Decided::Rejected).await? {
        return Err(Error::NoRecord(id));
    }
    let event = NewEvent::new(AuditAction::ProposalRejected, id).with(json!({ "withdrawn": true }));
    audit::record(tx, event);
    Ok(())
}
