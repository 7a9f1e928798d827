//! Webhook deliveries: received events, and their processing.

use chrono::{DateTime, Utc};
use mc_contract::operations::webhook::WebhookDelivery;
use mc_domain::{DeliveryId, DeliveryState, Policy, ProjectId, Provider, WebhookId};
use serde_json::Value;
use sqlx::PgExecutor;

use super::WebhookCredentials;
use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::row::read;
use crate::{Result, Store, Tx, policies};

/// Kind of the job that processes a delivery; its argument is the delivery's id.
pub const JOB: &str = "process_delivery";
/// Attempts of the job; many, because the provider received 202 for the event.
pub const JOB_ATTEMPTS: u16 = 12;
/// Days that a delivery is kept and duplicates of it are detected.
const DELIVERY_DAYS: i32 = 14;

/// A delivery to store.
#[derive(Debug)]
pub struct NewWebhookDelivery<'a> {
    /// Identifier.
    pub id: DeliveryId,
    /// The provider's id of the delivery.
    pub external_id: &'a str,
    /// Event type in the provider's words.
    pub event_type: &'a str,
    /// Keyed hash of the signed body, if it identifies the delivery: the provider's id is not
    /// signed.
    pub body_mac: Option<[u8; 32]>,
    /// The parsed event, masked.
    pub event: Value,
    /// Why the event is ignored, if that is known at once.
    pub ignored: Option<&'a str>,
}

/// The pending deliveries of a webhook, in the order of receipt.
#[derive(Debug)]
pub struct PendingBatch {
    /// The webhook's project.
    pub project: ProjectId,
    /// The project's policy.
    pub policy: Policy,
    /// The provider that sent them.
    pub provider: Provider,
    /// The pending deliveries, oldest first.
    pub deliveries: Vec<PendingDelivery>,
}

/// A delivery to process.
#[derive(Debug)]
pub struct PendingDelivery {
    /// Identifier.
    pub id: DeliveryId,
    /// The parsed event, masked.
    pub event: Value,
    /// Time of receipt.
    pub received_at: DateTime<Utc>,
}

/// The result of processing a delivery.
#[derive(Debug)]
pub struct Outcome {
    /// Id of the delivery.
    pub id: DeliveryId,
    /// New state.
    pub state: DeliveryState,
    /// Description for people.
    pub text: String,
}

/// Conditions on deliveries; all must hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryFilter {
    /// Only deliveries of this webhook.
    pub webhook_id: Option<WebhookId>,
    /// Only deliveries in this state.
    pub state: Option<DeliveryState>,
    /// Only deliveries received before this one.
    pub cursor: Option<DeliveryId>,
}

/// Stores a delivery and enqueues its job, unless it is a duplicate.
pub async fn insert_delivery(
    tx: &mut Tx,
    webhook: &WebhookCredentials,
    delivery: &NewWebhookDelivery<'_>,
) -> Result<()> {
    let state = match delivery.ignored {
        Some(_) => DeliveryState::Ignored,
        None => DeliveryState::Pending,
    };
    let is_new = tx
        .has_changed(sqlx::query!(
            "insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type,
             event, state, outcome, completed_at,
             body_mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, case when $8::text is not null then now() end, $9)
         on conflict do nothing",
            delivery.id.0,
            webhook.project.0,
            webhook.id.0,
            delivery.external_id,
            delivery.event_type,
            delivery.event,
            state.as_str(),
            delivery.ignored,
            delivery.body_mac.as_ref().map(<[u8; 32]>::as_slice)
        ))
        .await?;
    if is_new && delivery.ignored.is_none() {
        enqueue_job(tx, delivery.id).await?;
    }
    Ok(())
}

async fn enqueue_job(tx: &mut Tx, id: DeliveryId) -> Result<()> {
    let job = NewJob::now(JOB, serde_json::json!({ "id": id }), JOB_ATTEMPTS);
    jobs::enqueue(tx, &job).await.map(drop)
}

/// Returns whether a delivery is pending.
pub async fn is_pending(store: &Store, id: DeliveryId) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from webhook_deliveries where id = $1
               and state = 'pending') as "is_waiting!""#,
        id.0
    )
    .fetch_one(&mut *store.plain().await?)
    .await?)
}

/// Returns the first `limit` pending deliveries of the webhook of this delivery; `None` if it was
/// deleted. Locks the webhook's deliveries against other workers until the transaction ends: an
/// event with a part of the fields is correct only after the events before it.
pub async fn lock_pending(tx: &mut Tx, id: DeliveryId, limit: i64) -> Result<Option<PendingBatch>> {
    let webhook = sqlx::query!(
        "select h.id, h.project_id, h.provider, p.policy
         from webhook_deliveries d join webhooks h on h.id = d.webhook_id
             join projects p on p.id = h.project_id
         where d.id = $1 for no key update of h",
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(webhook) = webhook else { return Ok(None) };
    let rows = sqlx::query!(
        "select id, event, received_at from webhook_deliveries
         where webhook_id = $1 and state = 'pending' order by id limit $2",
        webhook.id,
        limit
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let deliveries: Result<_> =
        read!(each row in rows => PendingDelivery { id: row.id.into(), event, received_at });
    Ok(Some(PendingBatch {
        project: webhook.project_id.into(),
        policy: policies::read(webhook.policy)?,
        provider: word(&webhook.provider)?,
        deliveries: deliveries?,
    }))
}

/// Stores the results of pending deliveries.
pub async fn mark_completed(tx: &mut Tx, outcomes: &[Outcome]) -> Result<()> {
    let ids: Vec<_> = outcomes.iter().map(|webhook| webhook.id.0).collect();
    let states: Vec<_> = outcomes.iter().map(|webhook| webhook.state.as_str().to_owned()).collect();
    let texts: Vec<_> = outcomes.iter().map(|webhook| webhook.text.clone()).collect();
    tx.run(sqlx::query!(
        "update webhook_deliveries d set state = o.state, outcome = o.outcome, completed_at = now()
         from unnest($1::uuid[], $2::text[], $3::text[]) o (id, state, outcome)
         where d.id = o.id and d.state = 'pending'",
        &ids,
        &states,
        &texts
    ))
    .await
}

/// Makes a delivery pending again and enqueues its job; returns `None` if there is none.
pub async fn replay(
    tx: &mut Tx,
    project: ProjectId,
    id: DeliveryId,
) -> Result<Option<WebhookDelivery>> {
    tx.run(sqlx::query!(
        "update webhook_deliveries set state = 'pending', outcome = null, completed_at = null
         where project_id = $1 and id = $2",
        project.0,
        id.0
    ))
    .await?;
    let found = select(&mut *tx.0, project, Some(id), DeliveryFilter::default(), 1).await?.pop();
    if found.is_some() {
        enqueue_job(tx, id).await?;
    }
    Ok(found)
}

/// Returns the deliveries of a project, newest first.
pub async fn list_deliveries(
    store: &Store,
    project: ProjectId,
    filter: DeliveryFilter,
    limit: i64,
) -> Result<Vec<WebhookDelivery>> {
    select(&mut *store.read().await?, project, None, filter, limit).await
}

/// Returns one delivery.
pub async fn find_delivery(
    store: &Store,
    project: ProjectId,
    id: DeliveryId,
) -> Result<Option<WebhookDelivery>> {
    let executor = &mut *store.read().await?;
    Ok(select(executor, project, Some(id), DeliveryFilter::default(), 1).await?.pop())
}

async fn select(
    executor: impl PgExecutor<'_>,
    project: ProjectId,
    only: Option<DeliveryId>,
    filter: DeliveryFilter,
    limit: i64,
) -> Result<Vec<WebhookDelivery>> {
    let rows = sqlx::query!(
        r#"select d.id, d.webhook_id, h.provider, d.external_id, d.event_type, d.event, d.state,
               d.outcome,
               d.received_at, d.completed_at
           from webhook_deliveries d join webhooks h on h.id = d.webhook_id
           where d.project_id = $1 and ($2::uuid is null or d.id = $2)
               and ($3::uuid is null or d.webhook_id = $3) and ($4::text is null or d.state = $4)
               and ($5::uuid is null or d.id < $5)
           order by d.id desc limit $6"#,
        project.0,
        only.map(|id| id.0),
        filter.webhook_id.map(|id| id.0),
        filter.state.map(DeliveryState::as_str),
        filter.cursor.map(|id| id.0),
        limit
    )
    .fetch_all(executor)
    .await?;
    read!(each row in rows => WebhookDelivery {
        id: row.id.into(), webhook_id: row.webhook_id.into(), provider: word(&row.provider)?,
        external_id, event_type, event, state: word(&row.state)?, outcome, received_at, completed_at
    })
}

/// Deletes deliveries of a project that are too old to detect duplicates of.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    tx.count_changed(sqlx::query!(
        "delete from webhook_deliveries
         where project_id = $1 and received_at < now() - make_interval(days => $2)",
        project.0,
        DELIVERY_DAYS
    ))
    .await
}
