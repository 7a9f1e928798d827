//! Webhooks: URLs with a secret by which providers send events to a project.

mod deliveries;

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_domain::{Policy, ProjectId, Provider, WebhookId};

use crate::error::word;
use crate::row::read;
use crate::{Result, Store, Tx, policies};

pub(crate) use deliveries::prune;
pub use deliveries::{
    DeliveryFilter, JOB, JOB_ATTEMPTS, NewWebhookDelivery, Outcome, PendingBatch, PendingDelivery,
    find_delivery, insert_delivery, is_pending, list_deliveries, lock_pending, mark_completed,
    replay,
};

/// A webhook without its secrets.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Identifier, a part of its URL.
    pub id: WebhookId,
    /// The provider that sends to it.
    pub provider: Provider,
    /// Login of its creator; `None` if that user was deleted.
    pub created_by: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Until when the previous secret is valid.
    pub previous_secret_expires_at: Option<DateTime<Utc>>,
    /// When a delivery was last accepted.
    pub last_delivery_at: Option<DateTime<Utc>>,
}

/// A webhook with what its receiver needs.
#[derive(Debug)]
pub struct WebhookCredentials {
    /// Identifier.
    pub id: WebhookId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The project's policy.
    pub policy: Policy,
    /// The provider that sends to it.
    pub provider: Provider,
    /// The encrypted secrets: the present one, then the previous one while it is valid.
    pub ciphertext: Vec<Vec<u8>>,
}

/// Creates a webhook with its encrypted secret.
pub async fn create(
    tx: &mut Tx,
    project: ProjectId,
    id: WebhookId,
    source: Provider,
    ciphertext: &[u8],
) -> Result<()> {
    tx.run(sqlx::query!(
        "insert into webhooks (id, project_id, provider, secret, created_by)
             values ($1, $2, $3, $4, $5)",
        id.0,
        project.0,
        source.as_str(),
        ciphertext,
        tx.principal().map(|user| user.0)
    ))
    .await
}

/// Replaces the secret of a webhook; the previous one stays valid for `previous_valid_for`. Returns
/// `None` if there is no such webhook.
pub async fn rotate_secret(
    tx: &mut Tx,
    project: ProjectId,
    id: WebhookId,
    ciphertext: &[u8],
    previous_valid_for: Duration,
) -> Result<Option<Provider>> {
    let source = sqlx::query_scalar!(
        "update webhooks set secret = $3, previous_secret = case when $4::float8 > 0 then secret
             end,
             previous_secret_expires_at = case when $4 > 0 then now() + make_interval(secs => $4)
                 end
         where project_id = $1 and id = $2 returning provider",
        project.0,
        id.0,
        ciphertext,
        previous_valid_for.as_secs_f64()
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    source.as_deref().map(word).transpose()
}

/// Deletes a webhook with its deliveries and returns its provider; `None` if there is none.
pub async fn delete(tx: &mut Tx, project: ProjectId, id: WebhookId) -> Result<Option<Provider>> {
    let source = sqlx::query_scalar!(
        "delete from webhooks where project_id = $1 and id = $2 returning provider",
        project.0,
        id.0
    )
    .fetch_optional(&mut *tx.0)
    .await?;
    source.as_deref().map(word).transpose()
}

/// Returns the webhooks of a project, in the order of creation.
pub async fn list(store: &Store, project: ProjectId) -> Result<Vec<Webhook>> {
    let rows = sqlx::query!(
        r#"select h.id, h.provider, h.created_at, u.login as "created_by?",
               d.received_at as "last_delivery_at?",
               case when h.previous_secret_expires_at > now() then h.previous_secret_expires_at
                   end as previous_secret_expires_at
           from webhooks h left join users u on u.id = h.created_by
           left join lateral (
               select received_at from webhook_deliveries d where d.webhook_id = h.id
                   order by d.id desc limit 1
           ) d on true
           where h.project_id = $1 order by h.id"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Webhook {
        id: row.id.into(), provider: word(&row.provider)?, created_by, created_at,
        previous_secret_expires_at, last_delivery_at
    })
}

/// Returns a webhook of any project for the receiver, which runs as worker.
pub async fn find_for_receipt(
    store: &Store,
    webhook: WebhookId,
) -> Result<Option<WebhookCredentials>> {
    let row = sqlx::query!(
        r#"select h.project_id, h.provider, h.secret, p.policy,
               case when h.previous_secret_expires_at > now() then h.previous_secret end as former
           from webhooks h join projects p on p.id = h.project_id where h.id = $1"#,
        webhook.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    read!(optional row => WebhookCredentials {
        id: webhook, project: row.project_id.into(), policy: policies::read(row.policy)?,
        provider: word(&row.provider)?,
        ciphertext: std::iter::once(row.secret).chain(row.former).collect()
    })
}

/// Deletes expired previous secrets of all projects.
pub(crate) async fn delete_expired_secrets(store: &Store) -> Result<()> {
    sqlx::query!(
        "update webhooks set previous_secret = null, previous_secret_expires_at = null
             where previous_secret_expires_at < now()"
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}
