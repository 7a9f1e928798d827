//! Webhook deliveries: received events, and their processing.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{DeliveryId, DeliveryState, Policy, ProjectId, Provider, WebhookId};
use serde_json::Value;
use sqlx::PgExecutor;

use super::WebhookCredentials;
use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of job that goes through a delivery; it is told the delivery's id.
pub const JOB: &str = "process_delivery";
/// How often one is begun before it is given up: senders were told that it arrived.
pub const JOB_STARTS: u16 = 12;
/// Days that a delivery is kept, and known when it is sent again.
const DELIVERY_DAYS: i32 = 14;

/// Something that is delivered.
#[derive(Debug)]
pub struct NewWebhookDelivery<'a> {
    /// Identifier.
    pub id: DeliveryId,
    /// The sender's.
    pub external_id: &'a str,
    /// What it is, in the sender's word.
    pub event_type: &'a str,
    /// A code of what was signed, where that alone tells it from every other: the sender's id is not signed.
    pub body_mac: Option<[u8; 32]>,
    /// What is of use of it, masked.
    pub event: Value,
    /// Why there is nothing to do, where that is known at once.
    pub ignored: Option<&'a str>,
}

/// Something that was delivered.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Identifier, in the order of arrival.
    pub id: DeliveryId,
    /// Through which hook.
    pub webhook_id: WebhookId,
    /// Who sent it.
    pub provider: Provider,
    /// The sender's id.
    pub external_id: String,
    /// What it is, in the sender's word.
    pub event_type: String,
    /// What is of use of it, masked.
    pub event: Value,
    /// What came of it.
    pub state: DeliveryState,
    /// The same, for people.
    pub outcome: Option<String>,
    /// When it came.
    pub received_at: DateTime<Utc>,
    /// When it was last gone through.
    pub completed_at: Option<DateTime<Utc>>,
}

/// What waits of a hook, in the order in which it came.
#[derive(Debug)]
pub struct PendingBatch {
    /// The project that hears of it.
    pub project: ProjectId,
    /// The project's policy.
    pub policy: Policy,
    /// Who sent it.
    pub provider: Provider,
    /// What waits.
    pub deliveries: Vec<PendingDelivery>,
}

/// A delivery that is to be gone through.
#[derive(Debug)]
pub struct PendingDelivery {
    /// Identifier.
    pub id: DeliveryId,
    /// What is of use of it, masked.
    pub event: Value,
    /// When it came.
    pub received_at: DateTime<Utc>,
}

/// What came of a delivery.
#[derive(Debug)]
pub struct Outcome {
    /// Of which.
    pub id: DeliveryId,
    /// In a word.
    pub state: DeliveryState,
    /// For people.
    pub text: String,
}

/// Which deliveries to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeliveryFilter {
    /// Through this hook.
    pub webhook_id: Option<WebhookId>,
    /// With this state.
    pub state: Option<DeliveryState>,
    /// That came before this one.
    pub cursor: Option<DeliveryId>,
}

/// Keeps what was delivered, and asks for somebody to go through it, unless it was kept before.
pub async fn insert_delivery(
    tx: &mut Tx,
    hook: &WebhookCredentials,
    delivery: &NewWebhookDelivery<'_>,
) -> Result<(), Error> {
    let state = match delivery.ignored {
        Some(_) => DeliveryState::Ignored,
        None => DeliveryState::Pending,
    };
    let kept = sqlx::query!(
        "insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type, event, state, outcome, completed_at,
             body_mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, case when $8::text is not null then now() end, $9)
         on conflict do nothing",
        delivery.id.0,
        hook.project.0,
        hook.id.0,
        delivery.external_id,
        delivery.event_type,
        delivery.event,
        state.as_str(),
        delivery.ignored,
        delivery.body_mac.as_ref().map(<[u8; 32]>::as_slice)
    )
    .execute(&mut *tx.0)
    .await?;
    if kept.rows_affected() == 1 && delivery.ignored.is_none() {
        ask(tx, delivery.id).await?;
    }
    Ok(())
}

/// Asks for somebody to go through a delivery.
async fn ask(tx: &mut Tx, id: DeliveryId) -> Result<(), Error> {
    let args = serde_json::json!({ "id": id });
    let starts = i32::from(JOB_STARTS);
    jobs::enqueue(
        tx,
        &NewJob { kind: JOB, unique_key: None, args, delay: Duration::ZERO, max_attempts: starts },
    )
    .await?;
    Ok(())
}

/// Whether nobody has gone through a delivery yet.
pub async fn is_waiting(store: &Store, id: DeliveryId) -> Result<bool, Error> {
    let is_waiting = sqlx::query_scalar!(
        r#"select exists (select from webhook_deliveries where id = $1 and state = 'pending') as "is_waiting!""#,
        id.0
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(is_waiting)
}

/// The first, at most so many, that wait of what came through the hook of this delivery; `None` where it is gone.
/// Until the transaction ends nobody else goes through anything that came through that hook: what says a part of
/// something is only right on top of what came before.
pub async fn lock_pending(
    tx: &mut Tx,
    id: DeliveryId,
    most: i64,
) -> Result<Option<PendingBatch>, Error> {
    let of = sqlx::query!(
        "select h.id, h.project_id, h.provider, p.policy
         from webhook_deliveries d join webhooks h on h.id = d.webhook_id join projects p on p.id = h.project_id
         where d.id = $1 for no key update of h",
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(of) = of else { return Ok(None) };
    let rows = sqlx::query!(
        "select id, event, received_at from webhook_deliveries
         where webhook_id = $1 and state = 'pending' order by id limit $2",
        of.id,
        most
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let deliveries = rows.into_iter().map(|row| PendingDelivery {
        id: row.id.into(),
        event: row.event,
        received_at: row.received_at,
    });
    Ok(Some(PendingBatch {
        project: of.project_id.into(),
        policy: policies::read(of.policy)?,
        provider: word(&of.provider)?,
        deliveries: deliveries.collect(),
    }))
}

/// Says what came of deliveries that waited.
pub async fn mark_completed(tx: &mut Tx, outcomes: &[Outcome]) -> Result<(), Error> {
    let ids: Vec<_> = outcomes.iter().map(|of| of.id.0).collect();
    let states: Vec<_> = outcomes.iter().map(|of| of.state.as_str().to_owned()).collect();
    let texts: Vec<_> = outcomes.iter().map(|of| of.text.clone()).collect();
    sqlx::query!(
        "update webhook_deliveries d set state = o.state, outcome = o.outcome, completed_at = now()
         from unnest($1::uuid[], $2::text[], $3::text[]) o (id, state, outcome)
         where d.id = o.id and d.state = 'pending'",
        &ids,
        &states,
        &texts
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Asks for a delivery to be gone through once more; `None` where there is none.
pub async fn replay(
    tx: &mut Tx,
    project: ProjectId,
    id: DeliveryId,
) -> Result<Option<Delivery>, Error> {
    sqlx::query!(
        "update webhook_deliveries set state = 'pending', outcome = null, completed_at = null
         where project_id = $1 and id = $2",
        project.0,
        id.0
    )
    .execute(&mut *tx.0)
    .await?;
    let found = select(&mut *tx.0, project, Some(id), DeliveryFilter::default(), 1).await?;
    let found = found.into_iter().next();
    if found.is_some() {
        ask(tx, id).await?;
    }
    Ok(found)
}

/// A project's deliveries, the newest first.
pub async fn deliveries(
    store: &Store,
    project: ProjectId,
    filter: DeliveryFilter,
    limit: i64,
) -> Result<Vec<Delivery>, Error> {
    select(&mut *store.read().await?, project, None, filter, limit).await
}

/// One delivery.
pub async fn delivery(
    store: &Store,
    project: ProjectId,
    id: DeliveryId,
) -> Result<Option<Delivery>, Error> {
    let executor = &mut *store.read().await?;
    let found = select(executor, project, Some(id), DeliveryFilter::default(), 1).await?;
    Ok(found.into_iter().next())
}

async fn select(
    executor: impl PgExecutor<'_>,
    project: ProjectId,
    only: Option<DeliveryId>,
    filter: DeliveryFilter,
    limit: i64,
) -> Result<Vec<Delivery>, Error> {
    let rows = sqlx::query!(
        r#"select d.id, d.webhook_id, h.provider, d.external_id, d.event_type, d.event, d.state, d.outcome,
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
    rows.into_iter()
        .map(|row| {
            Ok(Delivery {
                id: row.id.into(),
                webhook_id: row.webhook_id.into(),
                provider: word(&row.provider)?,
                external_id: row.external_id,
                event_type: row.event_type,
                event: row.event,
                state: word(&row.state)?,
                outcome: row.outcome,
                received_at: row.received_at,
                completed_at: row.completed_at,
            })
        })
        .collect()
}

/// Forgets deliveries of a project that are too old to be known again.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from webhook_deliveries
         where project_id = $1 and received_at < now() - make_interval(days => $2)",
        project.0,
        DELIVERY_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}
