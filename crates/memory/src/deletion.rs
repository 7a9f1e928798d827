//! Deletion of records by people.

use mc_domain::{AuditAction, RecordId, UserId, Visibility};
use mc_store::Tx;
use mc_store::audit::{self, NewEvent};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, Decided, Record};
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
    let (record, is_own_proposal) = lock_changeable(&mut tx, id, user, can_write).await?;
    if is_own_proposal {
        withdraw(&mut tx, id).await?;
        return Ok(tx.commit().await?);
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

/// Locks a record that the user may change, and returns it, and whether it is a proposal of the
/// user: an own proposal, a private record of the user, or any record if `can_write` is set.
pub(crate) async fn lock_changeable(
    tx: &mut Tx,
    id: RecordId,
    user: UserId,
    can_write: bool,
) -> Result<(Record, bool), Error> {
    // Locked first: it could be shared between the check and the change.
    records::lock(tx, &[id]).await?;
    let record = records::find_in(tx, id).await?.ok_or(Error::NoRecord(id))?;
    let is_own_proposal = records::is_own_proposal(tx, id, user).await?;
    let is_own = is_own_proposal || record.access.private_to == Some(user);
    if is_own || can_write { Ok((record, is_own_proposal)) } else { Err(Error::NotOwner(id)) }
}

async fn withdraw(tx: &mut Tx, id: RecordId) -> Result<(), Error> {
    if !records::decide(tx, id, Decided::Rejected).await? {
        return Err(Error::NoRecord(id));
    }
    let event = NewEvent::new(AuditAction::ProposalRejected, id).with(json!({ "withdrawn": true }));
    audit::record(tx, event);
    Ok(())
}
