//! Webhooks: the URLs by which providers send events to a project, and their secrets.

use std::time::Duration;

use mc_auth::secret::WebhookSecret as GeneratedSecret;
use mc_contract::operations::page::Page;
use mc_contract::operations::webhook::{
    CreateWebhook, RotateWebhookSecret, Webhook, WebhookWithSecret, url_path,
};
use mc_contract::secret::WebhookSecret;
use mc_crypto::AssociatedData;
use mc_domain::{AuditAction, Provider, WebhookId};
use mc_memory::ProjectContext;
use mc_store::audit::{self, NewEvent};
use mc_store::{Tx, webhooks};
use serde_json::json;
use zeroize::Zeroizing;

use crate::Error;

/// Creates a webhook and returns it with its secret, this once.
pub async fn create(
    ctx: &ProjectContext,
    request: CreateWebhook,
) -> Result<WebhookWithSecret, Error> {
    let (id, provider) = (WebhookId::generate(), request.provider);
    let secret = given_or_generated(request.secret);
    let ciphertext = encrypt(ctx, id, &secret);
    let mut tx = ctx.store.begin().await?;
    webhooks::create(&mut tx, ctx.project.id, id, provider, &ciphertext).await?;
    record_event(&mut tx, id, "created", provider);
    tx.commit().await?;
    Ok(with_secret(id, provider, &secret))
}

/// Lists the webhooks of a project, in the order of their creation.
pub async fn list(ctx: &ProjectContext) -> Result<Page<Webhook>, Error> {
    let rows = webhooks::list(&ctx.store, ctx.project.id).await?;
    Ok(Page::new(rows.into_iter().map(webhook).collect(), None))
}

/// Replaces the secret of a webhook and returns it once. The previous one stays valid for a while.
pub async fn rotate_secret(
    ctx: &ProjectContext,
    id: WebhookId,
    request: RotateWebhookSecret,
) -> Result<WebhookWithSecret, Error> {
    let secret = given_or_generated(request.secret);
    let ciphertext = encrypt(ctx, id, &secret);
    let ttl = Duration::from_hours(request.previous_secret_ttl_hours.unwrap_or_default().get());
    let mut tx = ctx.store.begin().await?;
    let provider = webhooks::rotate_secret(&mut tx, ctx.project.id, id, &ciphertext, ttl).await?;
    let provider = provider.ok_or_else(|| unknown(ctx))?;
    record_event(&mut tx, id, "rotated", provider);
    tx.commit().await?;
    Ok(with_secret(id, provider, &secret))
}

/// Deletes a webhook with its deliveries. Tasks and records that came from them stay.
pub async fn delete(ctx: &ProjectContext, id: WebhookId) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    let provider = webhooks::delete(&mut tx, ctx.project.id, id).await?;
    record_event(&mut tx, id, "deleted", provider.ok_or_else(|| unknown(ctx))?);
    Ok(tx.commit().await?)
}

/// Returns the associated data of a webhook's encrypted secret.
pub(crate) fn associated_data(id: &WebhookId) -> AssociatedData<'_> {
    AssociatedData { purpose: "webhooks.secret", row: id.0.as_bytes() }
}

fn encrypt(ctx: &ProjectContext, id: WebhookId, secret: &str) -> Vec<u8> {
    ctx.memory.encryptor.encrypt(associated_data(&id), secret.as_bytes())
}

fn given_or_generated(secret: Option<WebhookSecret>) -> Zeroizing<String> {
    let generate = || Zeroizing::new(GeneratedSecret::generate().expose().to_owned());
    secret.map_or_else(generate, WebhookSecret::into_inner)
}

fn record_event(tx: &mut Tx, id: WebhookId, change: &str, provider: Provider) {
    let details = json!({ "change": change, "provider": provider });
    audit::record(tx, NewEvent::new(AuditAction::WebhookChanged, id).with(details));
}

fn unknown(ctx: &ProjectContext) -> Error {
    Error::UnknownWebhook(ctx.project.key.clone())
}

fn with_secret(id: WebhookId, provider: Provider, secret: &str) -> WebhookWithSecret {
    let url_path = url_path(provider, id);
    WebhookWithSecret { id, provider, url_path, secret: secret.to_owned() }
}

fn webhook(row: webhooks::Webhook) -> Webhook {
    Webhook {
        id: row.id,
        provider: row.provider,
        url_path: url_path(row.provider, row.id),
        created_by: row.created_by,
        created_at: row.created_at,
        previous_secret_expires_at: row.previous_secret_expires_at,
        last_delivery_at: row.last_delivery_at,
    }
}
