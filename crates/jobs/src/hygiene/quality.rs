//! The task `quality`: rates records and, by the policy, reports, demotes or deletes unused ones.

use mc_contract::operations::proposal::Demotion;
use mc_domain::{AuditAction, RecordId, UnusedAction};
use mc_memory::Error;
use mc_memory::quality::{self, RecordQuality};
use mc_store::hygiene::usage;
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::{Store, Tx};
use serde_json::{Value, json};

use crate::job::record_event;

/// Records per page and per transaction.
const PAGE_SIZE: i64 = 500;

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let action = target.policy.hygiene.unused_records;
    let mut after: Option<RecordId> = None;
    loop {
        let days = target.policy.hygiene.unused_after_days;
        let page = quality::judge(store, target.project, days, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(outcome) };
        after = Some(last.usage.id);
        for record in &page {
            outcome.count("records", 1);
            outcome.count(level(record.rank_factor()), 1);
        }
        if action == UnusedAction::Off {
            continue;
        }
        let unused: Vec<_> =
            page.into_iter().filter(|record| !record.unused_reasons.is_empty()).collect();
        outcome.count("unused", unused.len() as u64);
        for record in &unused {
            outcome.found(finding(record));
        }
        if target.is_dry_run || unused.is_empty() {
            continue;
        }
        match action {
            UnusedAction::Off | UnusedAction::Report => {}
            UnusedAction::Demote => {
                outcome.count("demoted", demote(store, target, &unused).await?);
            }
            UnusedAction::Delete => {
                outcome.count("deleted", delete(store, target, &unused).await?);
            }
        }
    }
}

/// Returns the name of the count of records with this rank factor.
fn level(rank_factor: Option<f32>) -> &'static str {
    match rank_factor {
        None => "not_found",
        Some(factor) if factor > 1.0 => "raised",
        Some(factor) if factor < 1.0 => "lowered",
        Some(_) => "as_new",
    }
}

fn finding(record: &RecordQuality) -> Value {
    let Demotion { rank_factor, factors, reasons } = record.demotion();
    json!({
        "record": record.usage.id,
        "rank_factor": rank_factor,
        "factors": factors,
        "reasons": reasons,
    })
}

/// Deletes records that have not changed since they were judged; returns their number.
async fn delete(
    store: &Store,
    target: &HygieneTarget,
    unused: &[RecordQuality],
) -> Result<u64, Error> {
    let usages: Vec<_> = unused.iter().map(|record| record.usage.clone()).collect();
    let mut tx = store.begin().await?;
    let deleted = usage::delete_unused(&mut tx, target.project, &usages).await?;
    commit_with_audit(tx, target, unused, &deleted).await
}

/// Demotes records that have not changed since they were judged; returns their number.
async fn demote(
    store: &Store,
    target: &HygieneTarget,
    unused: &[RecordQuality],
) -> Result<u64, Error> {
    let usages: Vec<_> =
        unused.iter().map(|record| (record.usage.snapshot(), record.demotion())).collect();
    let mut tx = store.begin_with_memory_lock(target.project).await?;
    let days = target.policy.retention_days.quarantine;
    let demoted = usage::demote(&mut tx, target.project, &usages, days).await?;
    commit_with_audit(tx, target, unused, &demoted).await
}

/// Records the affected records with their reasons in the audit and commits; returns their number.
async fn commit_with_audit(
    mut tx: Tx,
    target: &HygieneTarget,
    unused: &[RecordQuality],
    affected: &[RecordId],
) -> Result<u64, Error> {
    let affected_records = unused.iter().filter(|record| affected.contains(&record.usage.id));
    let reasons = |record: &RecordQuality| {
        let reasons = record.demotion().reasons;
        json!({ "record": record.usage.id, "reasons": reasons })
    };
    let details = json!({
        "action": target.policy.hygiene.unused_records.as_str(),
        "records": affected_records.map(reasons).collect::<Vec<_>>(),
    });
    if !affected.is_empty() {
        record_event(&mut tx, target.project, AuditAction::RecordsRetired, "unused", details);
    }
    tx.commit().await?;
    Ok(affected.len() as u64)
}
