//! Webhooks: where other systems tell of what happens there, and what they told.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{DeliveryId, DeliveryState, HookId, Policy, ProjectId, WebhookSource};
use serde_json::Value;
use sqlx::PgExecutor;

use crate::error::word;
use crate::jobs::{self, NewJob};
use crate::{Error, Store, Tx, policies};

/// The kind of job that goes through a delivery; it is told the delivery's id.
pub const JOB: &str = "delivery";
/// How often one is begun before it is given up: senders were told that it arrived.
pub const JOB_STARTS: u16 = 12;
/// Days that a delivery is kept, and known when it is sent again.
const DELIVERY_DAYS: i32 = 14;

/// A hook as its project's people see it.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Identifier, a part of the address that deliveries go to.
    pub id: HookId,
    /// Who sends.
    pub source: WebhookSource,
    /// Who made it, by login; absent where that user is gone.
    pub created_by: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Until when the secret before the present one counts.
    pub former_until: Option<DateTime<Utc>>,
    /// When something was last delivered.
    pub delivered_at: Option<DateTime<Utc>>,
}

/// A hook as what receives for it needs it.
#[derive(Debug)]
pub struct Receiving {
    /// Identifier.
    pub id: HookId,
    /// The project that hears of it.
    pub project: ProjectId,
    /// What that masks.
    pub policy: Policy,
    /// Who sends.
    pub source: WebhookSource,
    /// What deliveries are signed with, sealed: the present one, then the one before as long as it counts.
    pub sealed: Vec<Vec<u8>>,
}

/// Something that is delivered.
#[derive(Debug)]
pub struct NewDelivery<'a> {
    /// Identifier.
    pub id: DeliveryId,
    /// The sender's.
    pub sender_id: &'a str,
    /// What it is, in the sender's word.
    pub name: &'a str,
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
    pub hook: HookId,
    /// Who sent it.
    pub source: WebhookSource,
    /// The sender's id.
    pub sender_id: String,
    /// What it is, in the sender's word.
    pub name: String,
    /// What is of use of it, masked.
    pub event: Value,
    /// What came of it.
    pub state: DeliveryState,
    /// The same, for people.
    pub outcome: Option<String>,
    /// When it came.
    pub received_at: DateTime<Utc>,
    /// When it was last gone through.
    pub handled_at: Option<DateTime<Utc>>,
}

/// What waits of a hook, in the order in which it came.
#[derive(Debug)]
pub struct AllWaiting {
    /// The project that hears of it.
    pub project: ProjectId,
    /// The project's policy.
    pub policy: Policy,
    /// Who sent it.
    pub source: WebhookSource,
    /// What waits.
    pub deliveries: Vec<Waiting>,
}

/// A delivery that is to be gone through.
#[derive(Debug)]
pub struct Waiting {
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
    pub hook: Option<HookId>,
    /// With this state.
    pub state: Option<DeliveryState>,
    /// That came before this one.
    pub before: Option<DeliveryId>,
}

/// Adds a hook, with what its deliveries are signed with, sealed.
pub async fn create(
    tx: &mut Tx,
    project: ProjectId,
    id: HookId,
    source: WebhookSource,
    sealed: &[u8],
) -> Result<(), Error> {
    let creator = tx.1.entry.map(|entry| entry.principal.0);
    sqlx::query!(
        "insert into hooks (id, project_id, source, secret, created_by) values ($1, $2, $3, $4, $5)",
        id.0,
        project.0,
        source.as_str(),
        sealed,
        creator
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(())
}

/// Puts another secret in the place of a hook's, which counts for so long besides; `None` where there is no
/// such hook.
pub async fn change_secret(
    tx: &mut Tx,
    project: ProjectId,
    id: HookId,
    sealed: &[u8],
    former_for: Duration,
) -> Result<Option<WebhookSource>, Error> {
    let source = sqlx::query_scalar!(
        "update hooks set secret = $3, former_secret = case when $4::float8 > 0 then secret end,
             former_until = case when $4 > 0 then now() + make_interval(secs => $4) end
         where project_id = $1 and id = $2 returning source",
        project.0,
        id.0,
        sealed,
        former_for.as_secs_f64()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    source.as_deref().map(word).transpose()
}

/// Removes a hook with all that came through it, and answers who sent it; `None` where there is none.
pub async fn remove(
    tx: &mut Tx,
    project: ProjectId,
    id: HookId,
) -> Result<Option<WebhookSource>, Error> {
    let source = sqlx::query_scalar!(
        "delete from hooks where project_id = $1 and id = $2 returning source",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    source.as_deref().map(word).transpose()
}

/// A project's hooks, in the order they were made.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Hook>, Error> {
    let rows = sqlx::query!(
        r#"select h.id, h.source, h.created_at, u.login as "created_by?", d.received_at as "delivered_at?",
               case when h.former_until > now() then h.former_until end as former_until
           from hooks h left join users u on u.id = h.created_by
           left join lateral (
               select received_at from deliveries d where d.hook_id = h.id order by d.id desc limit 1
           ) d on true
           where h.project_id = $1 order by h.id"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Hook {
                id: row.id.into(),
                source: word(&row.source)?,
                created_by: row.created_by,
                created_at: row.created_at,
                former_until: row.former_until,
                delivered_at: row.delivered_at,
            })
        })
        .collect()
}

/// The hook with this id of any project, for whoever receives for it; the background's alone to ask.
pub async fn receiving(store: &Store, id: HookId) -> Result<Option<Receiving>, Error> {
    let row = sqlx::query!(
        r#"select h.project_id, h.source, h.secret, p.policy,
               case when h.former_until > now() then h.former_secret end as former
           from hooks h join projects p on p.id = h.project_id where h.id = $1"#,
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        Ok(Receiving {
            id,
            project: row.project_id.into(),
            policy: policies::read(row.policy)?,
            source: word(&row.source)?,
            sealed: std::iter::once(row.secret).chain(row.former).collect(),
        })
    })
    .transpose()
}

/// Keeps what was delivered, and asks for somebody to go through it, unless it was kept before.
pub async fn deliver(
    tx: &mut Tx,
    hook: &Receiving,
    delivery: &NewDelivery<'_>,
) -> Result<(), Error> {
    let state = match delivery.ignored {
        Some(_) => DeliveryState::Ignored,
        None => DeliveryState::Waiting,
    };
    let kept = sqlx::query!(
        "insert into deliveries (id, project_id, hook_id, sender_id, name, event, state, outcome, handled_at,
             body_mac)
         values ($1, $2, $3, $4, $5, $6, $7, $8, case when $8::text is not null then now() end, $9)
         on conflict do nothing",
        delivery.id.0,
        hook.project.0,
        hook.id.0,
        delivery.sender_id,
        delivery.name,
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
    jobs::enqueue(tx, &NewJob { kind: JOB, key: None, args, delay: Duration::ZERO, starts })
        .await?;
    Ok(())
}

/// Whether nobody has gone through a delivery yet.
pub async fn is_waiting(store: &Store, id: DeliveryId) -> Result<bool, Error> {
    let is_waiting = sqlx::query_scalar!(
        r#"select exists (select from deliveries where id = $1 and state = 'waiting') as "is_waiting!""#,
        id.0
    )
    .fetch_one(&mut *store.plain().await?)
    .await?;
    Ok(is_waiting)
}

/// The first, at most so many, that wait of what came through the hook of this delivery; `None` where it is gone.
/// Until the transaction ends nobody else goes through anything that came through that hook: what says a part of
/// something is only right on top of what came before.
pub async fn first_waiting(
    tx: &mut Tx,
    id: DeliveryId,
    most: i64,
) -> Result<Option<AllWaiting>, Error> {
    let of = sqlx::query!(
        "select h.id, h.project_id, h.source, p.policy
         from deliveries d join hooks h on h.id = d.hook_id join projects p on p.id = h.project_id
         where d.id = $1 for no key update of h",
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    let Some(of) = of else { return Ok(None) };
    let rows = sqlx::query!(
        "select id, event, received_at from deliveries
         where hook_id = $1 and state = 'waiting' order by id limit $2",
        of.id,
        most
    )
    .fetch_all(&mut *tx.0)
    .await?;
    let deliveries = rows.into_iter().map(|row| Waiting {
        id: row.id.into(),
        event: row.event,
        received_at: row.received_at,
    });
    Ok(Some(AllWaiting {
        project: of.project_id.into(),
        policy: policies::read(of.policy)?,
        source: word(&of.source)?,
        deliveries: deliveries.collect(),
    }))
}

/// Says what came of deliveries that waited.
pub async fn handled(tx: &mut Tx, outcomes: &[Outcome]) -> Result<(), Error> {
    let ids: Vec<_> = outcomes.iter().map(|of| of.id.0).collect();
    let states: Vec<_> = outcomes.iter().map(|of| of.state.as_str().to_owned()).collect();
    let texts: Vec<_> = outcomes.iter().map(|of| of.text.clone()).collect();
    sqlx::query!(
        "update deliveries d set state = o.state, outcome = o.outcome, handled_at = now()
         from unnest($1::uuid[], $2::text[], $3::text[]) o (id, state, outcome)
         where d.id = o.id and d.state = 'waiting'",
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
        "update deliveries set state = 'waiting', outcome = null, handled_at = null
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
        r#"select d.id, d.hook_id, h.source, d.sender_id, d.name, d.event, d.state, d.outcome,
               d.received_at, d.handled_at
           from deliveries d join hooks h on h.id = d.hook_id
           where d.project_id = $1 and ($2::uuid is null or d.id = $2)
               and ($3::uuid is null or d.hook_id = $3) and ($4::text is null or d.state = $4)
               and ($5::uuid is null or d.id < $5)
           order by d.id desc limit $6"#,
        project.0,
        only.map(|id| id.0),
        filter.hook.map(|id| id.0),
        filter.state.map(DeliveryState::as_str),
        filter.before.map(|id| id.0),
        limit
    )
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Delivery {
                id: row.id.into(),
                hook: row.hook_id.into(),
                source: word(&row.source)?,
                sender_id: row.sender_id,
                name: row.name,
                event: row.event,
                state: word(&row.state)?,
                outcome: row.outcome,
                received_at: row.received_at,
                handled_at: row.handled_at,
            })
        })
        .collect()
}

/// Forgets secrets that count no more, of all projects.
pub(crate) async fn forget_former_secrets(store: &Store) -> Result<(), Error> {
    sqlx::query!(
        "update hooks set former_secret = null, former_until = null where former_until < now()"
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Forgets deliveries of a project that are too old to be known again.
pub(crate) async fn prune(tx: &mut Tx, project: ProjectId) -> Result<u64, Error> {
    let gone = sqlx::query!(
        "delete from deliveries
         where project_id = $1 and received_at < now() - make_interval(days => $2)",
        project.0,
        DELIVERY_DAYS
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(gone.rows_affected())
}
