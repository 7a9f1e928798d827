//! The task `retention`: deletes data past the retention of the project's policy.

use mc_memory::Error;
use mc_store::Store;
use mc_store::hygiene::retention::{RetentionCategory, purge};
use mc_store::hygiene::{HygieneTarget, Outcome};

/// Purges each category in a transaction of its own. A dry run rolls back a single one.
pub(super) async fn run(store: &Store, target: &HygieneTarget) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let days = &target.policy.retention_days;
    let mut tx = store.begin().await?;
    for category in RetentionCategory::ALL {
        outcome.count(category.as_str(), purge(&mut tx, target.project, *category, days).await?);
        if !target.is_dry_run {
            tx.commit().await?;
            tx = store.begin().await?;
        }
    }
    Ok(outcome)
}
