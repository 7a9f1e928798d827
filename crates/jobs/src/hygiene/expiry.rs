//! Records whose time was over long ago are taken out; what the policy deletes for good before long is counted.

use mc_domain::{Act, RecordId};
use mc_memory::Error;
use mc_store::Store;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::expiry::{self, Due, Expired};
use mc_store::hygiene::{Given, Outcome};
use serde_json::json;

/// Days for which an expired record, which nobody finds any more, is revived by whoever saves the same.
const GRACE_DAYS: i32 = 30;
/// How far ahead it is said what goes.
const AHEAD_DAYS: i32 = 7;
/// Records of one transaction.
const PAGE: i64 = 500;

pub(super) async fn run(store: &Store, given: &Given) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let Expired { all, long_ago } = expiry::count(store, given.project, GRACE_DAYS).await?;
    outcome.count("expired", all.unsigned_abs());
    outcome.count("expired_long_ago", long_ago.unsigned_abs());
    if !given.is_dry_run {
        while take_out(store, given, &mut outcome).await? {}
    }
    let Due { bundles, removed_records, holds, reports } =
        expiry::due(store, given.project, AHEAD_DAYS).await?;
    outcome.count("bundles_deleted_within_7_days", bundles.unsigned_abs());
    outcome.count("removed_records_deleted_within_7_days", removed_records.unsigned_abs());
    outcome.count("holds_destroyed_within_7_days", holds.unsigned_abs());
    outcome.count("reports_deleted_within_7_days", reports.unsigned_abs());
    Ok(outcome)
}

/// One transaction of it; `false` once nothing is left.
async fn take_out(store: &Store, given: &Given, outcome: &mut Outcome) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let retired = expiry::retire(&mut tx, given.project, GRACE_DAYS, PAGE).await?;
    if retired.is_empty() {
        return Ok(false);
    }
    // What somebody kept to themselves is nobody's to hear of.
    let shared = retired.iter().filter(|(_, is_shared)| *is_shared).map(|(id, _)| *id);
    let shared: Vec<RecordId> = shared.collect();
    let detail = json!({ "records": shared, "private": retired.len() - shared.len() });
    let event = NewEvent::new(Act::RecordsRetired, "expired").with(detail);
    audit::add(&mut tx, Chain::Project(given.project), None, &[event]).await?;
    tx.commit().await?;
    outcome.count("retired", retired.len() as u64);
    for id in shared {
        outcome.found(json!({ "record": id }));
    }
    Ok(true)
}
