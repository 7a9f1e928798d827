//! The task `expiry`: deletes records that expired long ago, and counts the data that retention
//! deletes soon. Too many expiries or deletions at once are suspended until a person decides.

use mc_domain::{AuditAction, ExpiryDecision, RecordId};
use mc_memory::Error;
use mc_store::Store;
use mc_store::hygiene::expiry::{self, Due, Expired};
use mc_store::hygiene::mass_expiry::{self, Suspended};
use mc_store::hygiene::{FINDINGS_MAX, HygieneTarget, Outcome};
use serde_json::json;

use crate::job::record_event;

/// Days for which a save of the same content revives an expired record.
const GRACE_DAYS: i32 = 30;
/// Days ahead for which deletions by retention are counted.
const LOOKAHEAD_DAYS: i32 = 7;
/// Records per transaction.
const BATCH_SIZE: i64 = 500;

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    suspend_mass_expiry(store, target, &mut outcome).await?;
    let Expired { all, long_ago } = expiry::count(store, target.project, GRACE_DAYS).await?;
    outcome.count("expired", all.unsigned_abs());
    outcome.count("expired_long_ago", long_ago.unsigned_abs());
    if !target.is_dry_run {
        while delete_batch(store, target, &mut outcome).await? {}
    }
    let Due { bundles, deleted_records, quarantine_items, hygiene_runs } =
        expiry::due(store, target.project, LOOKAHEAD_DAYS).await?;
    outcome.count("bundles_deleted_within_7_days", bundles.unsigned_abs());
    outcome.count("deleted_records_purged_within_7_days", deleted_records.unsigned_abs());
    outcome.count("quarantine_items_deleted_within_7_days", quarantine_items.unsigned_abs());
    outcome.count("hygiene_runs_deleted_within_7_days", hygiene_runs.unsigned_abs());
    Ok(outcome)
}

/// Applies a maintainer's decision about suspended expiries, suspends further ones if too many come
/// at once, and reports all suspended records. A dry run rolls its changes back.
async fn suspend_mass_expiry(
    store: &Store,
    target: &HygieneTarget,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    match target.expiry_decision {
        Some(ExpiryDecision::Confirm) => {
            outcome.count("confirmed", mass_expiry::confirm(&mut tx, target.project).await?);
        }
        Some(ExpiryDecision::Extend) => {
            outcome.count("extended", mass_expiry::extend(&mut tx, target.project).await?);
        }
        None => {}
    }
    let expiring = mass_expiry::suspend(&mut tx, Some(target.project)).await?;
    let expired = mass_expiry::suspend_expired(&mut tx, target.project, GRACE_DAYS).await?;
    outcome.count("newly_suspended", expiring + expired);
    if !target.is_dry_run {
        tx.commit().await?;
    }
    let limit = i64::try_from(FINDINGS_MAX).unwrap_or(i64::MAX);
    let Suspended { count, shared } = mass_expiry::suspended(store, target.project, limit).await?;
    outcome.count("suspended", count.unsigned_abs());
    for id in shared {
        outcome.found(json!({ "record": id, "expiry": "suspended" }));
    }
    Ok(())
}

/// Deletes a batch of records that expired long ago; returns `false` if there were none.
async fn delete_batch(
    store: &Store,
    target: &HygieneTarget,
    outcome: &mut Outcome,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let deleted = expiry::expire_records(&mut tx, target.project, GRACE_DAYS, BATCH_SIZE).await?;
    if deleted.is_empty() {
        return Ok(false);
    }
    // Private records are counted, but not named.
    let shared = deleted.iter().filter(|(_, is_shared)| *is_shared).map(|(id, _)| *id);
    let shared: Vec<RecordId> = shared.collect();
    let details = json!({ "records": shared, "private": deleted.len() - shared.len() });
    record_event(&mut tx, target.project, AuditAction::RecordsRetired, "expired", details);
    tx.commit().await?;
    outcome.count("deleted", deleted.len() as u64);
    for id in shared {
        outcome.found(json!({ "record": id }));
    }
    Ok(true)
}
