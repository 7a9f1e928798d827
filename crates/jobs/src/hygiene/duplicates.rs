//! Records of the team that say the same: put before people, or made one, as the policy has it.

use mc_domain::HygieneAction;
use mc_memory::{Error, duplicates};
use mc_store::Store;
use mc_store::duplicates::{NewCluster, delete_decided, propose};
use mc_store::hygiene::{HygieneTarget, Outcome};
use serde_json::{Value, json};

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let found = duplicates::find(store, given.project).await?;
    outcome.count("clusters", found.len() as u64);
    outcome.count("records", found.iter().map(|cluster| cluster.record_ids.len() as u64).sum());
    for cluster in &found {
        outcome.found(finding(cluster));
    }
    if given.is_dry_run {
        return Ok(outcome);
    }
    match given.policy.hygiene.duplicates {
        HygieneAction::Merge => merge(store, given, &found, &mut outcome).await?,
        HygieneAction::Suggest => put_before_people(store, given, &found, &mut outcome).await?,
        HygieneAction::Off => put_before_people(store, given, &[], &mut outcome).await?,
    }
    delete_decided(store, given.project).await?;
    Ok(outcome)
}

/// The record that would stay, and those in whose place it would be.
fn finding(cluster: &NewCluster) -> Value {
    let ids: Vec<_> = cluster.record_ids.iter().map(|member| member.id).collect();
    json!({
        "keep": ids.first(),
        "same": ids.get(1..),
        "similarity": (f64::from(cluster.similarity) * 100.0).round() / 100.0,
    })
}

/// One transaction a cluster; what changed since it was found is left for the next night.
async fn merge(
    store: &Store,
    given: &HygieneTarget,
    found: &[NewCluster],
    outcome: &mut Outcome,
) -> Result<(), Error> {
    for cluster in found {
        let is_merged = duplicates::merge_by_policy(store, given.project, cluster).await?;
        outcome.count(if is_merged { "merged" } else { "changed_meanwhile" }, 1);
    }
    // What waited for people is decided, or was found no more.
    put_before_people(store, given, &[], outcome).await
}

async fn put_before_people(
    store: &Store,
    given: &HygieneTarget,
    found: &[NewCluster],
    outcome: &mut Outcome,
) -> Result<(), Error> {
    // Of two runs at once the second waits, and then finds what the first has put there.
    let mut tx = store.begin_with_memory_lock(given.project).await?;
    let proposed = propose(&mut tx, given.project, found).await?;
    tx.commit().await?;
    outcome.count("proposed", proposed.added);
    outcome.count("withdrawn", proposed.withdrawn);
    Ok(())
}
