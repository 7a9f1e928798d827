//! Retention: deletion of data that is older than the project's policy allows.

use mc_domain::policy::RetentionDays;
use mc_domain::{AuditAction, ProjectId};

use crate::audit::{self, Chain, NewEvent};
use crate::{Result, Tx, ci_results, doc_parts, pull_requests, quarantine, usage, webhooks};

/// A category of data with a retention period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionCategory {
    /// Bundles with their items and feedback.
    Bundles,
    /// Outcomes of saves, sessions of clients, counts of reads, and requests to chat models; kept
    /// as long as bundles.
    UsageData,
    /// Deleted and superseded records, which are purged.
    DeletedRecords,
    /// Undecided quarantine items: their content is deleted, the row stays.
    QuarantineItems,
    /// Rows of decided quarantine items.
    DecidedQuarantineItems,
    /// Webhook deliveries.
    Deliveries,
    /// Pull requests, their old diffs, pushed commits, CI results and deleted doc parts.
    ProviderData,
    /// Hygiene runs with their findings.
    HygieneRuns,
    /// Audit events.
    Events,
}

impl RetentionCategory {
    /// All categories in the order of deletion: data about a commit is kept while a record names
    /// the commit. Categories that record audit events come last: a dry run is one transaction, and
    /// from its first audit event on no save can record another.
    pub const ALL: &[Self] = &[
        Self::Bundles,
        Self::UsageData,
        Self::DeletedRecords,
        Self::DecidedQuarantineItems,
        Self::Deliveries,
        Self::ProviderData,
        Self::HygieneRuns,
        Self::QuarantineItems,
        Self::Events,
    ];

    /// Returns the name in the counts of a run.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundles => "bundles",
            Self::UsageData => "usage_data",
            Self::DeletedRecords => "deleted_records",
            Self::QuarantineItems => "quarantine_items",
            Self::DecidedQuarantineItems => "decided_quarantine_items",
            Self::Deliveries => "webhook_deliveries",
            Self::ProviderData => "provider_data",
            Self::HygieneRuns => "hygiene_runs",
            Self::Events => "audit_events",
        }
    }
}

/// Deletes a project's data of one category that is older than the policy allows; returns its
/// amount.
pub async fn purge(
    tx: &mut Tx,
    project: ProjectId,
    category: RetentionCategory,
    days: &RetentionDays,
) -> Result<u64> {
    match category {
        RetentionCategory::Bundles => purge_bundles(tx, project, days.bundles).await,
        RetentionCategory::UsageData => usage::prune(tx, project, days.bundles).await,
        RetentionCategory::DeletedRecords => purge_removed(tx, project, days.deleted_records).await,
        RetentionCategory::QuarantineItems => expire_quarantine_items(tx, project).await,
        RetentionCategory::DecidedQuarantineItems => {
            quarantine::delete_decided(tx, project, days.quarantine).await
        }
        RetentionCategory::Deliveries => webhooks::prune(tx, project).await,
        RetentionCategory::ProviderData => purge_provider_data(tx, project).await,
        RetentionCategory::HygieneRuns => super::prune(tx, project, days.hygiene).await,
        RetentionCategory::Events => audit::prune(tx, Chain::Project(project), days.audit).await,
    }
}

async fn purge_bundles(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from bundles where project_id = $1
             and created_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    ))
    .await
}

async fn purge_removed(tx: &mut Tx, project: ProjectId, days: u16) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from memory_records
         where project_id = $1 and state in ('superseded', 'deleted')
             and updated_at < now() - make_interval(days => $2)",
        project.0,
        i32::from(days)
    ))
    .await
}

/// Deletes the content of expired undecided items and records audit events.
async fn expire_quarantine_items(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    let deleted = quarantine::expire(tx, project).await?;
    if !deleted.is_empty() {
        let events: Vec<_> = deleted
            .iter()
            .map(|id| NewEvent::new(AuditAction::QuarantineItemExpired, id))
            .collect();
        audit::add(tx, Chain::Project(project), None, &events);
    }
    Ok(deleted.len() as u64)
}

/// Deletes pull requests first: a CI result is kept while a pull request names its commit.
async fn purge_provider_data(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    let changes = pull_requests::prune(tx, project).await?;
    let results = ci_results::prune(tx, project).await?;
    Ok(changes + results + doc_parts::prune(tx, project).await?)
}
