//! Erasing what one user or source contributed.

use mc_contract::operations::forget::ForgetResponse;
use mc_domain::{AuditAction, ProjectId, RecordId, Visibility};
use mc_store::audit::{self, NewEvent};
use mc_store::passages::{self, PassageSource};
use mc_store::records::{self, AffectedRecords, Contributor};
use mc_store::{Tx, citations, quarantine, repositories, usage};
use serde_json::json;

use super::rollback::body_of_version;
use super::{body_of, index, is_live, restore};
use crate::content_filter::{ContentFilter, ReviewStatus};
use crate::{Error, MemoryContext};

/// Erases everything that came from one user or source alone, and their share of other records;
/// with `dry_run`, only reports it.
pub async fn forget(
    ctx: &MemoryContext,
    project: ProjectId,
    contributor: &Contributor,
    dry_run: bool,
) -> Result<ForgetResponse, Error> {
    let mut tx = ctx.store.begin_with_memory_lock(project).await?;
    let mut report = ForgetResponse { dry_run, ..ForgetResponse::default() };
    if let Contributor::User(user) = contributor {
        // Comes first: a release in progress has then ended, and its records are found below.
        report.quarantine_items = quarantine::delete_submitted_by(&mut tx, project, *user).await?;
    }
    erase_records(&mut tx, project, contributor, &mut report).await?;
    report.dialogs = records::forget_dialogs(&mut tx, project, contributor).await?;
    report.documents = records::forget_docs(&mut tx, project, contributor).await?;
    if let Contributor::User(user) = contributor {
        let erased = usage::erase(&mut tx, project, *user).await?;
        (report.bundles, report.usage_rows) = (erased.bundles, erased.rows);
    }
    if let Contributor::Source(source) = contributor {
        report.files = repositories::remove(&mut tx, project, source).await?;
    }
    if dry_run {
        // The transaction is rolled back.
        return Ok(report);
    }
    let (by, target) = match contributor {
        Contributor::User(user) => ("user", user.to_string()),
        Contributor::Source(source) => {
            ("source", ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed).filter_text(source))
        }
    };
    let detail = json!({
        "by": by,
        "deleted": report.deleted,
        "rolled_back": report.rolled_back,
        "restored": report.restored,
        "dialogs": report.dialogs,
        "documents": report.documents,
        "files": report.files,
        "quarantine_items": report.quarantine_items,
        "bundles": report.bundles,
        "usage_rows": report.usage_rows,
    });
    audit::record(&mut tx, NewEvent::new(AuditAction::RecordsErased, target).with(detail));
    tx.commit().await?;
    Ok(report)
}

async fn erase_records(
    tx: &mut Tx,
    project: ProjectId,
    contributor: &Contributor,
    report: &mut ForgetResponse,
) -> Result<(), Error> {
    let touched = records::list_by_contributor(tx, project, contributor).await?;
    let ids: Vec<_> = touched.iter().map(|one| one.id).collect();
    let replaced = records::list_superseded_by(tx, &ids).await?;
    records::lock(tx, &[ids, replaced].concat()).await?;
    // Records without other contributors go first: a rolled-back one may have the same content.
    let (own, shared): (Vec<AffectedRecords>, Vec<AffectedRecords>) =
        touched.iter().partition(|one| one.others.is_none());
    for one in own {
        erase(tx, one.id, report).await?;
    }
    for one in shared {
        erase_share(tx, &one, contributor, report).await?;
    }
    // Restoring comes last, as a restored record may itself have been erased before.
    report.restored = restore_superseded(tx, &report.restored).await?;
    Ok(())
}

/// Deletes a record, and collects the records that it had replaced.
async fn erase(tx: &mut Tx, id: RecordId, report: &mut ForgetResponse) -> Result<(), Error> {
    report.restored.extend(records::erase(tx, id).await?);
    report.deleted.push(id);
    Ok(())
}

/// Restores records that nothing replaces any more, unless they are gone or another is equal.
async fn restore_superseded(tx: &mut Tx, replaced: &[RecordId]) -> Result<Vec<RecordId>, Error> {
    let mut restored = Vec::new();
    for id in replaced {
        let Some(record) = records::find_in(tx, *id).await? else { continue };
        let body = body_of(&record);
        if let Some(same) = records::find_same(tx, &record, &body).await? {
            // It is restored once that record is erased, too.
            records::transfer_superseded(tx, *id, same).await?;
            continue;
        }
        restore(tx, *id).await?;
        index(tx, &record, &body, record.access.private_to).await?;
        restored.push(*id);
    }
    Ok(restored)
}

async fn erase_share(
    tx: &mut Tx,
    one: &AffectedRecords,
    contributor: &Contributor,
    report: &mut ForgetResponse,
) -> Result<(), Error> {
    let others = one.others.unwrap_or_default();
    let has_their_text = one.theirs > others && one.theirs >= one.version;
    // The text of others before the contributor's.
    let before = if has_their_text { records::version(tx, one.id, others).await? } else { None };
    records::forget(tx, one.id, contributor).await?;
    let Some(said) = before else {
        if has_their_text {
            erase(tx, one.id, report).await?;
        } else {
            report.reattributed.push(one.id);
        }
        return Ok(());
    };
    let record = records::find_in(tx, one.id).await?.ok_or(Error::NoRecord(one.id))?;
    let body = body_of_version(&record, &said);
    let cited = citations::of_version(tx, one.id, said.version).await?;
    let same = if is_live(&record) { records::find_same(tx, &record, &body).await? } else { None };
    if let Some(same) = same {
        records::supersede(tx, record.project, one.id, same).await?;
        passages::remove(tx, PassageSource::Record(one.id)).await?;
    }
    // A replaced record is rewritten, too, as it may be restored.
    records::rewrite(tx, one.id, &said, &body).await?;
    citations::replace(tx, record.project, one.id, &cited).await?;
    citations::update_staleness(tx, one.id).await?;
    // Records that are not recalled have no passage.
    let is_indexed = is_live(&record) && record.access.visibility != Visibility::Proposed;
    if is_indexed && same.is_none() {
        index(tx, &record, &body, record.access.private_to).await?;
    }
    report.rolled_back.push(one.id);
    Ok(())
}
