//! Repositories that nobody had read for long are read again: their host may have told of nothing.

use mc_memory::Error;
use mc_store::hygiene::{HygieneTarget, Outcome};
use mc_store::repositories::Repository;
use mc_store::{Store, ingest_runs, repositories};
use serde_json::json;

pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let days = i32::from(given.policy.hygiene.reindex_after_days);
    let repositories = repositories::list_stale(store, given.project, days).await?;
    outcome.count("repositories", repositories.len() as u64);
    for repository in &repositories {
        outcome.found(json!({
            "repository": repository.namespace,
            "indexed_at": repository.indexed_at,
        }));
        if !given.is_dry_run {
            outcome.count("asked", u64::from(ask(store, repository).await?));
        }
    }
    Ok(outcome)
}

/// Asks for an index run; `false` where the repository was removed meanwhile.
async fn ask(store: &Store, repository: &Repository) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    match ingest_runs::enqueue_reindex(&mut tx, repository).await {
        Ok(_) => {}
        Err(mc_store::Error::Gone) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    tx.commit().await?;
    Ok(true)
}
