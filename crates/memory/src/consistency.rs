//! Repairing search passages of records and dialogs.

use mc_domain::{DialogId, ProjectId, RecordId};
use mc_sanitizer::Sanitized;
use mc_store::passages::{self, PassageSource};
use mc_store::{Tx, consistency, records};

use crate::Error;
use crate::dialogs::passage;
use crate::review::{body_of, index};

/// Rebuilds missing or wrong passages of records; returns which, and whether others may read them.
pub async fn repair_records(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<(RecordId, bool)>, Error> {
    let ids = consistency::list_unindexed_records(tx, project, limit).await?;
    records::lock(tx, &ids).await?;
    let mut repaired = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(record) = records::find_in(tx, id).await? else { continue };
        let private_to = record.access.private_to;
        // A passage with other readers is replaced, as its vector belongs to them, too.
        passages::remove(tx, PassageSource::Record(id)).await?;
        index(tx, &record, &body_of(&record), private_to).await?;
        repaired.push((id, private_to.is_none()));
    }
    Ok(repaired)
}

/// Rebuilds missing or wrong passages of dialogs; returns the dialogs.
pub async fn repair_dialogs(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<DialogId>, Error> {
    let unindexed = consistency::list_unindexed_dialogs(tx, project, limit).await?;
    let mut repaired = Vec::with_capacity(unindexed.len());
    for dialog in unindexed {
        let source = PassageSource::Dialog(dialog.id);
        passages::remove(tx, source).await?;
        let passage = passage(Sanitized::stored(dialog.distilled), dialog.task);
        passages::put_only(tx, project, source, &passage).await?;
        repaired.push(dialog.id);
    }
    Ok(repaired)
}
