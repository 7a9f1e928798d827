//! How the team's records stand, and which of them help nobody: listed for people, put before
//! reviewers, or taken out, as the policy has it.

use mc_domain::{AuditAction, RecordId, UnusedAction};
use mc_memory::Error;
use mc_memory::quality::{self, RecordQuality};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::usage::{self, DemotionReason};
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::{Store, Tx};
use serde_json::{Value, json};

/// Records looked at in one go, and taken out or set aside in one transaction.
const PAGE: i64 = 500;

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let action = given.policy.hygiene.unused_records;
    let mut after: Option<RecordId> = None;
    loop {
        let days = given.policy.hygiene.unused_after_days;
        let page = quality::judge(store, given.project, days, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(outcome) };
        after = Some(last.usage.id);
        for judged in &page {
            outcome.count("records", 1);
            outcome.count(level(judged.rank_factor()), 1);
        }
        if action == UnusedAction::Off {
            continue;
        }
        let noise: Vec<_> = page.into_iter().filter(|one| !one.noise.is_empty()).collect();
        outcome.count("noise", noise.len() as u64);
        for judged in &noise {
            outcome.found(finding(judged));
        }
        if given.is_dry_run || noise.is_empty() {
            continue;
        }
        match action {
            UnusedAction::Off | UnusedAction::Report => {}
            UnusedAction::Demote => {
                outcome.count("quarantined", demote(store, given, &noise).await?);
            }
            UnusedAction::Delete => outcome.count("retired", take_out(store, given, &noise).await?),
        }
    }
}

/// How a record stands, in a word.
fn level(standing: Option<f32>) -> &'static str {
    match standing {
        None => "not_found",
        Some(standing) if standing > 1.0 => "raised",
        Some(standing) if standing < 1.0 => "lowered",
        Some(_) => "as_new",
    }
}

fn finding(judged: &RecordQuality) -> Value {
    let DemotionReason { standing, factors, reasons } = judged.against();
    json!({
        "record": judged.usage.id,
        "standing": standing,
        "factors": factors,
        "reasons": reasons,
    })
}

/// Takes out those that nobody touched meanwhile; answers how many.
async fn take_out(
    store: &Store,
    given: &HygieneTarget,
    noise: &[RecordQuality],
) -> Result<u64, Error> {
    let looked_at: Vec<_> = noise.iter().map(|judged| judged.usage.clone()).collect();
    let mut tx = store.begin().await?;
    let retired = usage::delete_unused(&mut tx, given.project, &looked_at).await?;
    note(tx, given, noise, &retired).await
}

/// Puts those that nobody touched meanwhile before the reviewers; answers how many.
async fn demote(
    store: &Store,
    given: &HygieneTarget,
    noise: &[RecordQuality],
) -> Result<u64, Error> {
    let looked_at: Vec<_> =
        noise.iter().map(|judged| (judged.usage.clone(), judged.against())).collect();
    let mut tx = store.begin_with_memory_lock(given.project).await?;
    let days = given.policy.retention_days.quarantine;
    let waiting = usage::demote(&mut tx, given.project, &looked_at, days).await?;
    note(tx, given, noise, &waiting).await
}

/// Says in the audit which are gone from the recall, how and why, and makes it so; answers how many
/// they are.
async fn note(
    mut tx: Tx,
    given: &HygieneTarget,
    noise: &[RecordQuality],
    gone: &[RecordId],
) -> Result<u64, Error> {
    let of_them = noise.iter().filter(|judged| gone.contains(&judged.usage.id));
    let why = |judged: &RecordQuality| {
        let reasons = judged.against().reasons;
        json!({ "record": judged.usage.id, "reasons": reasons })
    };
    let action = given.policy.hygiene.unused_records.as_str();
    let detail = json!({ "action": action, "records": of_them.map(why).collect::<Vec<_>>() });
    if !gone.is_empty() {
        let event = NewEvent::new(AuditAction::RecordsRetired, "noise").with(detail);
        audit::add(&mut tx, Chain::Project(given.project), None, &[event]);
    }
    tx.commit().await?;
    Ok(gone.len() as u64)
}
