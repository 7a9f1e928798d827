//! Webhooks: where other systems tell of what happens there, and what they told.

mod deliveries;

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{Policy, ProjectId, Provider, WebhookId};

use crate::error::word;
use crate::{Error, Store, Tx, policies};

pub(crate) use deliveries::prune;
pub use deliveries::{
    Delivery, DeliveryFilter, JOB, JOB_STARTS, NewWebhookDelivery, Outcome, PendingBatch,
    PendingDelivery, deliveries, delivery, insert_delivery, is_waiting, lock_pending,
    mark_completed, replay,
};

/// A hook as its project's people see it.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Identifier, a part of the address that deliveries go to.
    pub id: WebhookId,
    /// Who sends.
    pub provider: Provider,
    /// Who made it, by login; absent where that user is gone.
    pub created_by: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Until when the secret before the present one counts.
    pub previous_secret_expires_at: Option<DateTime<Utc>>,
    /// When something was last delivered.
    pub last_delivery_at: Option<DateTime<Utc>>,
}

/// A hook as what receives for it needs it.
#[derive(Debug)]
pub struct WebhookCredentials {
    /// Identifier.
    pub id: WebhookId,
    /// The project that hears of it.
    pub project: ProjectId,
    /// What that masks.
    pub policy: Policy,
    /// Who sends.
    pub provider: Provider,
    /// What deliveries are signed with, sealed: the present one, then the one before as long as it counts.
    pub ciphertext: Vec<Vec<u8>>,
}

/// Adds a hook, with what its deliveries are signed with, sealed.
pub async fn create(
    tx: &mut Tx,
    project: ProjectId,
    id: WebhookId,
    source: Provider,
    sealed: &[u8],
) -> Result<(), Error> {
    let creator = tx.1.entry.map(|entry| entry.principal.0);
    sqlx::query!(
        "insert into webhooks (id, project_id, provider, secret, created_by) values ($1, $2, $3, $4, $5)",
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
pub async fn rotate_secret(
    tx: &mut Tx,
    project: ProjectId,
    id: WebhookId,
    sealed: &[u8],
    former_for: Duration,
) -> Result<Option<Provider>, Error> {
    let source = sqlx::query_scalar!(
        "update webhooks set secret = $3, previous_secret = case when $4::float8 > 0 then secret end,
             previous_secret_expires_at = case when $4 > 0 then now() + make_interval(secs => $4) end
         where project_id = $1 and id = $2 returning provider",
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
    id: WebhookId,
) -> Result<Option<Provider>, Error> {
    let source = sqlx::query_scalar!(
        "delete from webhooks where project_id = $1 and id = $2 returning provider",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    source.as_deref().map(word).transpose()
}

/// A project's hooks, in the order they were made.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Webhook>, Error> {
    let rows = sqlx::query!(
        r#"select h.id, h.provider, h.created_at, u.login as "created_by?", d.received_at as "last_delivery_at?",
               case when h.previous_secret_expires_at > now() then h.previous_secret_expires_at end as previous_secret_expires_at
           from webhooks h left join users u on u.id = h.created_by
           left join lateral (
               select received_at from webhook_deliveries d where d.webhook_id = h.id order by d.id desc limit 1
           ) d on true
           where h.project_id = $1 order by h.id"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Webhook {
                id: row.id.into(),
                provider: word(&row.provider)?,
                created_by: row.created_by,
                created_at: row.created_at,
                previous_secret_expires_at: row.previous_secret_expires_at,
                last_delivery_at: row.last_delivery_at,
            })
        })
        .collect()
}

/// The hook with this id of any project, for whoever receives for it; the background's alone to ask.
pub async fn find_for_receipt(
    store: &Store,
    id: WebhookId,
) -> Result<Option<WebhookCredentials>, Error> {
    let row = sqlx::query!(
        r#"select h.project_id, h.provider, h.secret, p.policy,
               case when h.previous_secret_expires_at > now() then h.previous_secret end as former
           from webhooks h join projects p on p.id = h.project_id where h.id = $1"#,
        id.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        Ok(WebhookCredentials {
            id,
            project: row.project_id.into(),
            policy: policies::read(row.policy)?,
            provider: word(&row.provider)?,
            ciphertext: std::iter::once(row.secret).chain(row.former).collect(),
        })
    })
    .transpose()
}

/// Forgets secrets that count no more, of all projects.
pub(crate) async fn delete_expired_secrets(store: &Store) -> Result<(), Error> {
    sqlx::query!(
        "update webhooks set previous_secret = null, previous_secret_expires_at = null where previous_secret_expires_at < now()"
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
