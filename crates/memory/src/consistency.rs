//! Records and dialogs that are to be found, and what search has of them.

use mc_domain::{DialogId, ProjectId, RecordId};
use mc_sanitizer::Sanitized;
use mc_store::passages::{self, PassageSource};
use mc_store::{Tx, consistency, records};

use crate::Error;
use crate::dialogs::passage;
use crate::review::{body_of, index};

/// Makes the passages of records that have none, or another than they should; answers of which, and
/// whether each is for others than its owner.
pub async fn repair_records(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<(RecordId, bool)>, Error> {
    let ids = consistency::list_unindexed_records(tx, project, limit).await?;
    records::lock(tx, &ids).await?;
    let mut mended = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(record) = records::find_in(tx, id).await? else { continue };
        let private_to = record.access.private_to;
        // One with other readers is not changed but made anew: its vector is theirs as well.
        passages::remove(tx, PassageSource::Record(id)).await?;
        index(tx, &record, &body_of(&record), private_to).await?;
        mended.push((id, private_to.is_none()));
    }
    Ok(mended)
}

/// Makes the passages of dialogs that have none, or another than they should; answers of which.
pub async fn repair_dialogs(
    tx: &mut Tx,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<DialogId>, Error> {
    let unfound = consistency::list_unindexed_dialogs(tx, project, limit).await?;
    let mut mended = Vec::with_capacity(unfound.len());
    for dialog in unfound {
        let source = PassageSource::Dialog(dialog.id);
        passages::remove(tx, source).await?;
        let passage = passage(Sanitized::stored(dialog.distilled), dialog.task);
        passages::put_only(tx, project, source, &passage).await?;
        mended.push(dialog.id);
    }
    Ok(mended)
}
