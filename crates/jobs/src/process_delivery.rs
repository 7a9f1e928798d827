//! The job `process_delivery`: processes deliveries of a webhook in the order of receipt. The
//! effect and the outcome of a delivery are stored in one transaction, so each is processed once.

mod event;
mod push;

use std::collections::BTreeMap;
use std::time::Duration;

use mc_connectors::Event;
use mc_domain::{AuditAction, Classified as _, DeliveryId, DeliveryState};
use mc_store::Store;
use mc_store::webhooks;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::event::apply_event;
use crate::JobContext;
use crate::job::{BackgroundJob, JobError, record_event};

/// Maximum number of deliveries in one transaction.
const BATCH_SIZE: i64 = 64;

/// Processes its webhook's pending deliveries until this one is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProcessDelivery {
    id: DeliveryId,
}

impl BackgroundJob for ProcessDelivery {
    const NAME: &'static str = webhooks::JOB;
    // Jobs of one webhook wait for each other, each on a connection. More concurrent jobs would
    // leave no connection for the queue.
    const CONCURRENCY: usize = 2;
    const MAX_ATTEMPTS: u16 = webhooks::JOB_ATTEMPTS;
    const FETCH_BATCH: usize = 16;
    const TIMEOUT: Duration = Duration::from_mins(1);

    type Context = JobContext;

    /// Processes deliveries until this one is done. Jobs of the same webhook wait for each other; a
    /// delivery that fails permanently is marked as failed and skipped.
    async fn run(self, JobContext { store, .. }: &JobContext) -> Result<(), JobError> {
        let mut limit = BATCH_SIZE;
        while webhooks::is_pending(store, self.id).await? {
            let result = process_batch(store, self.id, limit).await;
            let Err(BatchError { delivery, error }) = result else {
                // Doubled and not reset: the delivery that failed may still be pending.
                limit = (limit * 2).min(BATCH_SIZE);
                continue;
            };
            if limit > 1 {
                // Alone, the delivery that fails is known, or a transient error may be over.
                limit = 1;
                continue;
            }
            let Some(delivery) = delivery.filter(|_| !error.kind().is_transient()) else {
                return Err(error.into());
            };
            mark_failed(store, delivery, &error).await?;
            limit = BATCH_SIZE;
        }
        Ok(())
    }
}

/// Numbers of changes for the audit, by action and kind of change.
#[derive(Default)]
struct AuditCounts(BTreeMap<AuditAction, BTreeMap<&'static str, u32>>);

impl AuditCounts {
    fn add(&mut self, action: AuditAction, change: &'static str) {
        *self.0.entry(action).or_default().entry(change).or_default() += 1;
    }
}

/// The error that rolled back a batch.
struct BatchError {
    /// The delivery that failed, if the error is of one.
    delivery: Option<DeliveryId>,
    error: mc_store::Error,
}

impl From<mc_store::Error> for BatchError {
    fn from(error: mc_store::Error) -> Self {
        Self { delivery: None, error }
    }
}

/// Processes the first pending deliveries of the webhook in one transaction.
async fn process_batch(store: &Store, id: DeliveryId, limit: i64) -> Result<(), BatchError> {
    let mut tx = store.begin().await?;
    let Some(batch) = webhooks::lock_pending(&mut tx, id, limit).await? else { return Ok(()) };
    let (mut outcomes, mut counts) = (Vec::new(), AuditCounts::default());
    for delivery in &batch.deliveries {
        let delivery_id = delivery.id;
        let event = Event::decode(&delivery.event);
        let is_alone = event.as_ref().is_ok_and(needs_own_transaction);
        if is_alone && !outcomes.is_empty() {
            break;
        }
        let result = match event {
            Ok(event) => apply_event(&mut tx, &batch, delivery, event, &mut counts).await,
            Err(error) => Ok((DeliveryState::Failed, error.to_string())),
        };
        let (state, text) =
            result.map_err(|error| BatchError { delivery: Some(delivery_id), error })?;
        outcomes.push(webhooks::Outcome { id: delivery_id, state, text });
        if is_alone {
            break;
        }
    }
    for (action, changes) in counts.0 {
        record_event(&mut tx, batch.project, action, "webhook", json!(changes));
    }
    webhooks::mark_completed(&mut tx, &outcomes).await?;
    Ok(tx.commit().await?)
}

/// Returns whether an event enqueues index runs or syncs. These lock a repository before the audit,
/// or an integration before its data: together with other events they could deadlock.
fn needs_own_transaction(event: &Event) -> bool {
    matches!(event, Event::Push(_) | Event::WikiPush(_) | Event::PageChanged { .. })
}

/// Marks a delivery as failed, so that those after it are processed.
async fn mark_failed(
    store: &Store,
    id: DeliveryId,
    error: &mc_store::Error,
) -> Result<(), mc_store::Error> {
    tracing::error!(webhook_delivery.id = %id, error = error as &dyn std::error::Error,
                    "webhook delivery failed; skipping it");
    let text = "the service failed to process it; its log has the reason under this delivery's id. \
                Fix the cause, then replay it (memory-copilot webhooks replay)";
    let outcome = webhooks::Outcome { id, state: DeliveryState::Failed, text: text.to_owned() };
    let mut tx = store.begin().await?;
    webhooks::mark_completed(&mut tx, &[outcome]).await?;
    tx.commit().await
}
