//! Policies of projects.

use mc_domain::{AuditAction, Policy};
use mc_store::audit::{self, NewEvent};
use mc_store::projects::Project;
use mc_store::{Store, ingest_runs, policies, repositories};
use serde_json::json;

use crate::Error;

/// Replaces a project's policy and returns its version. `expected` is the version that the caller
/// read; `None` replaces any. Repositories whose passages the new policy masks differently are
/// indexed again: their runs are enqueued in the same transaction.
pub async fn set(
    store: &Store,
    project: &Project,
    expected: Option<i32>,
    policy: &Policy,
) -> Result<i32, Error> {
    let mut tx = store.begin().await?;
    let version = policies::set(&mut tx, project.id, expected, policy).await?;
    let version = version.ok_or(Error::PolicyChanged)?;
    let rules = policies::fingerprint(policy);
    for repository in repositories::list_masked_differently(&mut tx, project.id, rules).await? {
        ingest_runs::enqueue_reindex(&mut tx, &repository).await?;
    }
    let changes = policy.changes_from(&project.policy);
    let changes: Vec<_> = changes.into_iter().map(|change| change.field).collect();
    let details = json!({ "version": version, "changes": changes });
    audit::record(&mut tx, NewEvent::new(AuditAction::PolicyChanged, &project.key).with(details));
    tx.commit().await?;
    Ok(version)
}
