//! The task `reindex`: enqueues index runs of repositories whose host may send no pushes.

use mc_memory::Error;
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::repositories::Repository;
use mc_store::{Store, ingest_runs, repositories};
use serde_json::json;

pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let days = i32::from(target.policy.hygiene.reindex_after_days);
    let repositories = repositories::list_stale(store, target.project, days).await?;
    outcome.count("repositories", repositories.len() as u64);
    for repository in &repositories {
        outcome.found(json!({
            "repository": repository.namespace,
            "indexed_at": repository.indexed_at,
        }));
        if !target.is_dry_run {
            outcome.count("requested", u64::from(enqueue_run(store, repository).await?));
        }
    }
    Ok(outcome)
}

/// Enqueues an index run; returns `false` if the repository was deleted meanwhile.
async fn enqueue_run(store: &Store, repository: &Repository) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    match ingest_runs::enqueue_reindex(&mut tx, repository).await {
        Ok(_) => {}
        Err(mc_store::Error::DeletedConcurrently) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    tx.commit().await?;
    Ok(true)
}
