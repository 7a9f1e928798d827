//! What is older than a project's policy keeps it.

use mc_domain::policy::RetentionDays;
use mc_domain::{Act, ProjectId};

use crate::audit::{self, Chain, NewEvent};
use crate::{Error, Tx, changes, ci, hooks, quarantine, told};

/// What is kept for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Bundles.
    Bundles,
    /// Records that were removed or replaced: for good.
    RemovedRecords,
    /// Texts in quarantine that nobody decided about: they are destroyed, and that they were there stays.
    Holds,
    /// What is known of texts in quarantine that were decided about.
    DecidedHolds,
    /// What webhooks delivered.
    Deliveries,
    /// Changes, commits, CI results and removed comments.
    Told,
    /// Reports of hygiene.
    Reports,
    /// Events of the audit.
    Events,
}

impl Kept {
    /// In the order in which it goes: what is told of a commit is kept for a record that names it. What writes to the
    /// project's audit goes last: a dry run is one transaction, and from there to its end nobody else can add to the chain,
    /// which each save does.
    pub const ALL: &[Self] = &[
        Self::Bundles,
        Self::RemovedRecords,
        Self::DecidedHolds,
        Self::Deliveries,
        Self::Told,
        Self::Reports,
        Self::Holds,
        Self::Events,
    ];

    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundles => "bundles",
            Self::RemovedRecords => "removed_records",
            Self::Holds => "holds",
            Self::DecidedHolds => "decided_holds",
            Self::Deliveries => "deliveries",
            Self::Told => "told",
            Self::Reports => "reports",
            Self::Events => "events",
        }
    }
}

/// Deletes what of a project is older than it is kept; answers how much that was.
pub async fn purge(
    tx: &mut Tx,
    project: ProjectId,
    what: Kept,
    days: &RetentionDays,
) -> Result<u64, Error> {
    match what {
        Kept::Bundles => purge_bundles(tx, project, days.bundles).await,
        Kept::RemovedRecords => purge_removed(tx, project, days.removed_records).await,
        Kept::Holds => expire_holds(tx, project).await,
        Kept::DecidedHolds => quarantine::forget_decided(tx, project, days.quarantine).await,
        Kept::Deliveries => hooks::prune(tx, project).await,
        Kept::Told => purge_told(tx, project).await,
        Kept::Reports => super::prune(tx, project, days.hygiene).await,
        Kept::Events => audit::prune(tx, Chain::Project(project), days.audit).await,
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
async fn expire_holds(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = quarantine::expire(tx, project).await?;
    if !gone.is_empty() {
        let events: Vec<_> = gone.iter().map(|id| NewEvent::new(Act::Expired, id)).collect();
        audit::add(tx, Chain::Project(project), None, &events);
    }
    Ok(gone.len() as u64)
}

/// Changes first: a result is kept for a change that names its commit.
async fn purge_told(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let changes = changes::prune(tx, project).await?;
    let results = ci::prune(tx, project).await?;
    Ok(changes + results + told::prune(tx, project).await?)
}
