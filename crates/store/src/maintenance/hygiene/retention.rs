//! What is older than a project's policy keeps it.

use mc_domain::policy::RetentionDays;
use mc_domain::{AuditAction, ProjectId};

use crate::audit::{self, Chain, NewEvent};
use crate::{Error, Tx, ci_results, doc_parts, pull_requests, quarantine, webhooks};

/// What is kept for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionCategory {
    /// Bundles.
    Bundles,
    /// Records that were removed or replaced: for good.
    DeletedRecords,
    /// Texts in quarantine that nobody decided about: they are destroyed, and that they were there stays.
    QuarantineItems,
    /// What is known of texts in quarantine that were decided about.
    DecidedQuarantineItems,
    /// What webhooks delivered.
    Deliveries,
    /// Changes, commits, CI results and removed comments.
    ProviderData,
    /// Reports of hygiene.
    Reports,
    /// Events of the audit.
    Events,
}

impl RetentionCategory {
    /// In the order in which it goes: what is told of a commit is kept for a record that names it. What writes to the
    /// project's audit goes last: a dry run is one transaction, and from there to its end nobody else can add to the chain,
    /// which each save does.
    pub const ALL: &[Self] = &[
        Self::Bundles,
        Self::DeletedRecords,
        Self::DecidedQuarantineItems,
        Self::Deliveries,
        Self::ProviderData,
        Self::Reports,
        Self::QuarantineItems,
        Self::Events,
    ];

    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundles => "bundles",
            Self::DeletedRecords => "deleted_records",
            Self::QuarantineItems => "quarantine_items",
            Self::DecidedQuarantineItems => "decided_quarantine_items",
            Self::Deliveries => "deliveries",
            Self::ProviderData => "provider_data",
            Self::Reports => "reports",
            Self::Events => "events",
        }
    }
}

/// Deletes what of a project is older than it is kept; answers how much that was.
pub async fn purge(
    tx: &mut Tx,
    project: ProjectId,
    what: RetentionCategory,
    days: &RetentionDays,
) -> Result<u64, Error> {
    match what {
        RetentionCategory::Bundles => purge_bundles(tx, project, days.bundles).await,
        RetentionCategory::DeletedRecords => purge_removed(tx, project, days.deleted_records).await,
        RetentionCategory::QuarantineItems => expire_quarantine_items(tx, project).await,
        RetentionCategory::DecidedQuarantineItems => {
            quarantine::delete_decided(tx, project, days.quarantine).await
        }
        RetentionCategory::Deliveries => webhooks::prune(tx, project).await,
        RetentionCategory::ProviderData => purge_provider_data(tx, project).await,
        RetentionCategory::Reports => super::prune(tx, project, days.hygiene).await,
        RetentionCategory::Events => audit::prune(tx, Chain::Project(project), days.audit).await,
    }
}

async fn purge_bundles(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from bundles where project_id = $1 and created_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}

async fn purge_removed(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from memory_records
         where project_id = $1 and state in ('superseded', 'deleted')
             and updated_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}

/// Throws away what nobody decided about in time, and says so in the audit.
async fn expire_quarantine_items(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = quarantine::expire(tx, project).await?;
    if !gone.is_empty() {
        let events: Vec<_> =
            gone.iter().map(|id| NewEvent::new(AuditAction::QuarantineItemExpired, id)).collect();
        audit::add(tx, Chain::Project(project), None, &events);
    }
    Ok(gone.len() as u64)
}

/// Changes first: a result is kept for a change that names its commit.
async fn purge_provider_data(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let changes = pull_requests::prune(tx, project).await?;
    let results = ci_results::prune(tx, project).await?;
    Ok(changes + results + doc_parts::prune(tx, project).await?)
}
