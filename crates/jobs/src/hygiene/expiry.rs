//! Records whose time was over long ago are taken out; what the policy deletes for good before long
//! is counted. Where too many would end or go at once, that waits for a person.

use mc_domain::{AuditAction, ExpiryDecision, RecordId};
use mc_memory::Error;
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::expiry::{self, Due, Expired};
use mc_store::hygiene::mass_expiry::{self, Suspended};
use mc_store::hygiene::{FINDINGS_MAX, HygieneTarget, Outcome};
use serde_json::json;

/// Days for which an expired record, which nobody finds any more, is revived by whoever saves the
/// same.
const GRACE_DAYS: i32 = 30;
/// How far ahead it is said what goes.
const AHEAD_DAYS: i32 = 7;
/// Records of one transaction.
const PAGE: i64 = 500;

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    hold_back(store, given, &mut outcome).await?;
    let Expired { all, long_ago } = expiry::count(store, given.project, GRACE_DAYS).await?;
    outcome.count("expired", all.unsigned_abs());
    outcome.count("expired_long_ago", long_ago.unsigned_abs());
    if !given.is_dry_run {
        while take_out(store, given, &mut outcome).await? {}
    }
    let Due { bundles, deleted_records, quarantine_items: holds, reports } =
        expiry::due(store, given.project, AHEAD_DAYS).await?;
    outcome.count("bundles_deleted_within_7_days", bundles.unsigned_abs());
    outcome.count("deleted_records_purged_within_7_days", deleted_records.unsigned_abs());
    outcome.count("holds_destroyed_within_7_days", holds.unsigned_abs());
    outcome.count("reports_deleted_within_7_days", reports.unsigned_abs());
    Ok(outcome)
}

/// Does what a maintainer decided about ends that wait, has more of them wait where too many come
/// at once, and says which do. A dry run takes it back.
async fn hold_back(
    store: &Store,
    given: &HygieneTarget,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    match given.expiry_decision {
        Some(ExpiryDecision::Confirm) => {
            outcome.count("ended", mass_expiry::confirm(&mut tx, given.project).await?);
        }
        Some(ExpiryDecision::Extend) => {
            outcome.count("extended", mass_expiry::extend(&mut tx, given.project).await?);
        }
        None => {}
    }
    let soon = mass_expiry::suspend(&mut tx, Some(given.project)).await?;
    let expired = mass_expiry::suspend_expired(&mut tx, given.project, GRACE_DAYS).await?;
    outcome.count("held_now", soon + expired);
    if !given.is_dry_run {
        tx.commit().await?;
    }
    let most = i64::try_from(FINDINGS_MAX).unwrap_or(i64::MAX);
    let Suspended { count, shared } = mass_expiry::suspended(store, given.project, most).await?;
    outcome.count("held", count.unsigned_abs());
    for id in shared {
        outcome.found(json!({ "record": id, "end": "held" }));
    }
    Ok(())
}

/// One transaction of it; `false` once nothing is left.
async fn take_out(
    store: &Store,
    given: &HygieneTarget,
    outcome: &mut Outcome,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let retired = expiry::expire_records(&mut tx, given.project, GRACE_DAYS, PAGE).await?;
    if retired.is_empty() {
        return Ok(false);
    }
    // What somebody kept to themselves is nobody's to hear of.
    let shared = retired.iter().filter(|(_, is_shared)| *is_shared).map(|(id, _)| *id);
    let shared: Vec<RecordId> = shared.collect();
    let detail = json!({ "records": shared, "private": retired.len() - shared.len() });
    let event = NewEvent::new(AuditAction::RecordsRetired, "expired").with(detail);
    audit::add(&mut tx, Chain::Project(given.project), None, &[event]);
    tx.commit().await?;
    outcome.count("retired", retired.len() as u64);
    for id in shared {
        outcome.found(json!({ "record": id }));
    }
    Ok(true)
}
