//! What is older than the project's policy keeps it is deleted.

use mc_memory::Error;
use mc_store::Store;
use mc_store::hygiene::retention::{RetentionCategory, purge};
use mc_store::hygiene::{HygieneTarget, Outcome};

/// One transaction for each sort of thing; a dry run does all in one, which is taken back.
pub(super) async fn run(store: &Store, given: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let days = &given.policy.retention_days;
    let mut tx = store.begin().await?;
    for what in RetentionCategory::ALL {
        outcome.count(what.as_str(), purge(&mut tx, given.project, *what, days).await?);
        if !given.is_dry_run {
            tx.commit().await?;
            tx = store.begin().await?;
        }
    }
    Ok(outcome)
}
