//! Reconciliation: finds and deletes imported items that the provider has deleted.
//!
//! The resource's ids are listed page by page. Imported items that the listing has not shown yet
//! are stored as deletion candidates, and the position of the listing is part of the sync's
//! position, so a long listing continues in the next job. Items are deleted only after two complete
//! listings: an item that moves between pages during a listing may be missing from it.

use chrono::{DateTime, TimeDelta, Utc};
use mc_connectors::traits::{Cursor, ListIds, Page};
use mc_domain::{AuditAction, Capability};
use mc_store::{Tx, deletion_candidates, integrations, tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Position, SyncError, SyncOutcome, SyncSession, SyncState, check_progress};
use crate::job::record_event;

/// Maximum number of ids in a listing.
const MAX_IDS: usize = 500_000;
/// Age at which an unfinished reconciliation is restarted.
const MAX_AGE: TimeDelta = TimeDelta::days(2);
/// Maximum number of deletions in one transaction.
const BATCH_SIZE: i64 = 500;

/// The progress of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reconciliation {
    /// Where the next page of the listing begins.
    next: Cursor,
    /// Number of ids on the pages before it.
    listed: usize,
    /// Start of the first listing. Items that were updated since are not deleted.
    started_at: DateTime<Utc>,
    stage: ReconcilePhase,
}

/// A phase of a reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ReconcilePhase {
    /// The first listing is read.
    #[serde(rename = "first")]
    FirstListing,
    /// The second listing is read.
    #[serde(rename = "again")]
    SecondListing,
    /// The candidates that neither listing showed are deleted.
    #[serde(rename = "forgetting")]
    Deletion,
}

impl Reconciliation {
    fn new() -> Self {
        let stage = ReconcilePhase::FirstListing;
        Self { next: Cursor::default(), listed: 0, started_at: Utc::now(), stage }
    }

    /// Returns whether the reconciliation is too old to continue, for example after a pause.
    fn has_expired(&self) -> bool {
        Utc::now() - self.started_at > MAX_AGE
    }

    /// Returns the progress after a page. The last page ends the phase.
    fn after_page(self, page: &Page<String>) -> Self {
        if !page.is_last {
            let listed = self.listed + page.items.len();
            return Self { next: page.next.clone(), listed, ..self };
        }
        let stage = match self.stage {
            ReconcilePhase::FirstListing => ReconcilePhase::SecondListing,
            ReconcilePhase::SecondListing | ReconcilePhase::Deletion => ReconcilePhase::Deletion,
        };
        Self { next: Cursor::default(), listed: 0, stage, ..self }
    }

    /// Rejects a page that can't be trusted. An empty listing rather means that the credential has
    /// lost its access than that all items were deleted.
    fn validate_page(&self, page: &Page<String>) -> Result<(), SyncError> {
        check_progress(page, &self.next)?;
        let listed = self.listed + page.items.len();
        if listed > MAX_IDS {
            return Err(SyncError::Other(format!(
                "the resource lists more than {MAX_IDS} items; add an integration for each smaller \
                 part of it"
            )));
        }
        if page.is_last && listed == 0 {
            return Err(SyncError::Other(
                "the provider lists nothing, but the project has items of it. Check that the \
                 credential can still read them. If they were deleted at the provider, delete the \
                 integration (memory-copilot integrations delete --purge)"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl SyncSession<'_> {
    /// Continues a reconciliation, or starts one if it is due, and deletes the items that the
    /// provider has deleted. When the time slice ends, the next job continues.
    pub(super) async fn reconcile(
        &self,
        mut position: Position<SyncState>,
        resource: &(impl ListIds + ?Sized),
    ) -> Result<SyncOutcome, SyncError> {
        let current = position.state.sweep.as_ref();
        let is_due = current.map_or(self.target.is_compared, Reconciliation::has_expired);
        if is_due {
            self.start_reconciliation(&mut position).await?;
        }
        while let Some(current) = position.state.sweep.clone() {
            match current.stage {
                ReconcilePhase::FirstListing | ReconcilePhase::SecondListing => {
                    self.read_listing_page(&mut position, current, resource).await?;
                }
                ReconcilePhase::Deletion => self.delete_batch(&mut position, current).await?,
            }
            if position.state.sweep.is_some() && self.is_time_slice_over() {
                return Ok(SyncOutcome::Incomplete);
            }
        }
        Ok(SyncOutcome::Completed)
    }

    /// Makes all imported items deletion candidates.
    async fn start_reconciliation(
        &self,
        position: &mut Position<SyncState>,
    ) -> Result<(), SyncError> {
        let (mut tx, first) = (self.store.begin().await?, Reconciliation::new());
        self.store_progress(&mut tx, position, Some(first.clone())).await?;
        let candidate_count = match self.target.capability {
            Capability::Issues => deletion_candidates::seed_tasks(&mut tx, self.target.id).await?,
            Capability::Pages | Capability::Refs => {
                deletion_candidates::seed_docs(&mut tx, self.target.id).await?
            }
        };
        if candidate_count == 0 {
            self.skip_to_deletion(&mut tx, position, first).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Requests a page of the listing, and removes its ids from the candidates.
    async fn read_listing_page(
        &self,
        position: &mut Position<SyncState>,
        current: Reconciliation,
        resource: &(impl ListIds + ?Sized),
    ) -> Result<(), SyncError> {
        let page = resource.list_ids(&current.next).await?;
        if let Err(error) = current.validate_page(&page) {
            self.abort_pass(position).await?;
            return Err(error);
        }
        let next = current.after_page(&page);
        let mut tx = self.store.begin().await?;
        self.store_progress(&mut tx, position, Some(next.clone())).await?;
        deletion_candidates::mark_seen(&mut tx, self.target.id, &page.items).await?;
        self.count_items(&mut tx, 0).await?;
        if page.is_last && !deletion_candidates::has_any(&mut tx, self.target.id).await? {
            self.skip_to_deletion(&mut tx, position, next).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Ends the listings early if no candidate is left.
    async fn skip_to_deletion(
        &self,
        tx: &mut Tx,
        position: &mut Position<SyncState>,
        current: Reconciliation,
    ) -> Result<(), SyncError> {
        let deletion = Reconciliation { stage: ReconcilePhase::Deletion, ..current };
        self.store_progress(tx, position, Some(deletion)).await
    }

    /// Ends a reconciliation with an invalid listing, so that the next sync starts another.
    async fn abort_pass(&self, position: &mut Position<SyncState>) -> Result<(), SyncError> {
        let mut tx = self.store.begin().await?;
        self.store_progress(&mut tx, position, None).await?;
        Ok(tx.commit().await?)
    }

    /// Deletes the items of a batch of candidates. When none are left, the reconciliation ends.
    async fn delete_batch(
        &self,
        position: &mut Position<SyncState>,
        current: Reconciliation,
    ) -> Result<(), SyncError> {
        let (mut tx, listed_at) = (self.store.begin().await?, current.started_at);
        self.store_progress(&mut tx, position, Some(current)).await?;
        let candidates = deletion_candidates::take(&mut tx, self.target.id, BATCH_SIZE).await?;
        if candidates.is_empty() {
            self.store_progress(&mut tx, position, None).await?;
            integrations::mark_reconciled(&mut tx, self.target.id).await?;
        } else {
            self.delete_missing(&mut tx, candidates, listed_at).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn store_progress(
        &self,
        tx: &mut Tx,
        position: &mut Position<SyncState>,
        progress: Option<Reconciliation>,
    ) -> Result<(), SyncError> {
        let next = SyncState { sweep: progress, ..position.state.clone() };
        self.advance(tx, position, next).await
    }

    /// Deletes documents, or tasks that were not updated since `listed_at`, with their comments.
    async fn delete_missing(
        &self,
        tx: &mut Tx,
        mut ids: Vec<String>,
        listed_at: DateTime<Utc>,
    ) -> Result<(), SyncError> {
        let (project, integration) = (self.target.project, self.target.id);
        if self.target.capability == Capability::Issues {
            ids = self.delete_missing_tasks(tx, ids, listed_at).await?;
            if !ids.is_empty() {
                let details = json!({ "withdrawn": ids.len() });
                record_event(tx, project, AuditAction::TasksSynced, integration, details);
            }
        }
        let deleted = integrations::delete_missing_docs(tx, project, integration, &ids).await?;
        if deleted > 0 {
            let details = json!({ "deleted": deleted });
            record_event(tx, project, AuditAction::DocumentsIngested, integration, details);
        }
        Ok(())
    }

    /// Deletes the data of those tasks that were not updated since `listed_at`; returns their ids.
    async fn delete_missing_tasks(
        &self,
        tx: &mut Tx,
        candidates: Vec<String>,
        listed_at: DateTime<Utc>,
    ) -> Result<Vec<String>, SyncError> {
        let (project, integration) = (self.target.project, self.target.id);
        let mut deleted = Vec::new();
        for id in candidates {
            if tasks::mark_missing_deleted(tx, project, integration, &id, listed_at).await? {
                deleted.push(id);
            }
        }
        Ok(deleted)
    }
}

#[cfg(test)]
mod tests;
