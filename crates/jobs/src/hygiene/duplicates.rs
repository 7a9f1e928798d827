//! The task `duplicates`: finds duplicate team records and, by the policy, suggests or merges them.

use mc_domain::HygieneAction;
use mc_memory::{Error, duplicates};
use mc_store::Store;
use mc_store::duplicates::{NewCluster, delete_decided, propose};
use mc_store::hygiene::{HygieneTarget, Outcome};
use serde_json::{Value, json};

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let found = duplicates::find(store, target.project).await?;
    outcome.count("clusters", found.len() as u64);
    outcome.count("records", found.iter().map(|cluster| cluster.record_ids.len() as u64).sum());
    for cluster in &found {
        outcome.found(finding(cluster));
    }
    if target.is_dry_run {
        return Ok(outcome);
    }
    match target.policy.hygiene.duplicates {
        HygieneAction::Merge => merge(store, target, &found, &mut outcome).await?,
        HygieneAction::Suggest => suggest(store, target, &found, &mut outcome).await?,
        HygieneAction::Off => suggest(store, target, &[], &mut outcome).await?,
    }
    delete_decided(store, target.project).await?;
    Ok(outcome)
}

/// Returns the finding of a cluster: the record to keep and its duplicates.
fn finding(cluster: &NewCluster) -> Value {
    let ids: Vec<_> = cluster.record_ids.iter().map(|member| member.id).collect();
    json!({
        "keep": ids.first(),
        "same": ids.get(1..),
        "similarity": (f64::from(cluster.similarity) * 100.0).round() / 100.0,
    })
}

/// Merges each cluster in a transaction of its own, except clusters that changed meanwhile.
async fn merge(
    store: &Store,
    target: &HygieneTarget,
    found: &[NewCluster],
    outcome: &mut Outcome,
) -> Result<(), Error> {
    for cluster in found {
        let is_merged = duplicates::merge_by_policy(store, target.project, cluster).await?;
        outcome.count(if is_merged { "merged" } else { "changed_meanwhile" }, 1);
    }
    // Suggestions of earlier runs are merged now, or are no duplicates any more.
    suggest(store, target, &[], outcome).await
}

/// Replaces the suggestions that wait for a decision by these clusters.
async fn suggest(
    store: &Store,
    target: &HygieneTarget,
    found: &[NewCluster],
    outcome: &mut Outcome,
) -> Result<(), Error> {
    // The lock keeps concurrent runs from suggesting a cluster twice.
    let mut tx = store.begin_with_memory_lock(target.project).await?;
    let suggestions = propose(&mut tx, target.project, found).await?;
    tx.commit().await?;
    outcome.count("suggested", suggestions.added);
    outcome.count("withdrawn", suggestions.withdrawn);
    Ok(())
}
