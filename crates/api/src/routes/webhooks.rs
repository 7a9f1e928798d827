//! `/projects/{key}/webhooks` and `/projects/{key}/webhook-deliveries`: the URLs by which providers
//! send events to a project, and what they sent.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_auth::secret::WebhookSecret as GeneratedSecret;
use mc_contract::operations::page::Page;
use mc_contract::operations::webhook::{
    CreateWebhook, DeliveryPath, DeliveryQuery, RotateWebhookSecret, Webhook, WebhookDelivery,
    WebhookPath, WebhookWithSecret,
};
use mc_contract::secret::WebhookSecret;
use mc_domain::{AuditAction, Permission, ProjectKey, Provider, WebhookId};
use mc_store::audit::{self, NewEvent};
use mc_store::webhooks::{self, Delivery, DeliveryFilter};
use serde_json::json;
use zeroize::Zeroizing;

use super::pagination::page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString, ValidPath};
use crate::problem::Problem;
use crate::webhook_receiver;

/// Create a webhook.
///
/// Returns its URL and, this once, its secret. Enter both at the provider.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks", tag = "webhooks", params(ProjectPath),
    request_body = CreateWebhook,
    responses((status = 201, description = "Its address, and its secret this once",
               body = WebhookWithSecret))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    JsonBody(request): JsonBody<CreateWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), Problem> {
    let ProjectContext { project, store, memory } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let (id, provider) = (WebhookId::generate(), request.provider);
    let secret = given_or_generated(request.secret);
    let ciphertext = memory.encryptor.encrypt(webhook_receiver::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    webhooks::create(&mut tx, project.id, id, provider, &ciphertext).await?;
    record_event(&mut tx, id, "created", provider);
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(with_secret(id, provider, &secret))))
}

/// List webhooks.
///
/// Returns the project's webhooks, in the order of their creation, without their secrets.
#[utoipa::path(
    get, path = "/projects/{key}/webhooks", tag = "webhooks", params(ProjectPath),
    responses((status = 200, description = "In the order they were made", body = Page<Webhook>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<Page<Webhook>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = webhooks::list(&here.store, here.project.id).await?;
    Ok(Json(Page::new(found.into_iter().map(webhook).collect(), None)))
}

/// Replace a webhook's secret.
///
/// Returns the new secret this once. The previous one stays valid for a while, so that the provider
/// can be reconfigured without losing deliveries.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks/{id}/rotate-secret", tag = "webhooks",
    params(WebhookPath),
    request_body = RotateWebhookSecret,
    responses((status = 200, description = "Its new secret, this once", body = WebhookWithSecret))
)]
pub async fn rotate(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WebhookPath { key, id }): PathParams<WebhookPath>,
    JsonBody(request): JsonBody<RotateWebhookSecret>,
) -> Result<Json<WebhookWithSecret>, Problem> {
    let ProjectContext { project, store, memory } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let secret = given_or_generated(request.secret);
    let ttl = Duration::from_hours(request.previous_secret_ttl_hours.unwrap_or_default().get());
    let ciphertext = memory.encryptor.encrypt(webhook_receiver::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    let provider = webhooks::rotate_secret(&mut tx, project.id, id, &ciphertext, ttl).await?;
    let provider = provider.ok_or_else(|| unknown_webhook(&key))?;
    record_event(&mut tx, id, "rotated", provider);
    tx.commit().await?;
    Ok(Json(with_secret(id, provider, &secret)))
}

/// Delete a webhook.
///
/// Its deliveries are deleted with it. Tasks and records that came from them stay.
#[utoipa::path(
    delete, path = "/projects/{key}/webhooks/{id}", tag = "webhooks", params(WebhookPath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WebhookPath { key, id }): PathParams<WebhookPath>,
) -> Result<StatusCode, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let provider = webhooks::delete(&mut tx, project.id, id).await?;
    record_event(&mut tx, id, "deleted", provider.ok_or_else(|| unknown_webhook(&key))?);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List webhook deliveries.
///
/// Returns a page of the deliveries of the last fourteen days, newest first.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries", tag = "webhooks",
    params(ProjectPath, DeliveryQuery),
    responses((status = 200, description = "Newest first", body = Page<WebhookDelivery>))
)]
pub async fn deliveries(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    QueryString(query): QueryString<DeliveryQuery>,
) -> Result<Json<Page<WebhookDelivery>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let DeliveryQuery { webhook_id, state, cursor, limit } = query;
    let limit = limit.unwrap_or_default().get();
    let filter = DeliveryFilter { webhook_id, state, cursor };
    let found = webhooks::list_deliveries(&here.store, here.project.id, filter, limit).await?;
    Ok(Json(page(found, limit, |delivery| delivery.id, webhook_delivery)))
}

/// Get a webhook delivery.
///
/// Returns the parts of the event that are used, and the result of processing it.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries/{id}", tag = "webhooks", params(DeliveryPath),
    responses((status = 200, description = "The delivery", body = WebhookDelivery))
)]
pub async fn delivery(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(DeliveryPath { key, id }): PathParams<DeliveryPath>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = webhooks::find_delivery(&here.store, here.project.id, id).await?;
    Ok(Json(webhook_delivery(found.ok_or_else(|| unknown_delivery(&key))?)))
}

/// Process a webhook delivery again.
///
/// Enqueues the job that processes it. Processing twice has the effect of processing once.
#[utoipa::path(
    post, path = "/projects/{key}/webhook-deliveries/{id}/replay", tag = "webhooks",
    params(DeliveryPath),
    responses((status = 202, description = "Enqueued", body = WebhookDelivery))
)]
pub async fn replay(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(DeliveryPath { key, id }): PathParams<DeliveryPath>,
) -> Result<(StatusCode, Json<WebhookDelivery>), Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let replayed = webhooks::replay(&mut tx, project.id, id).await?;
    let replayed = replayed.ok_or_else(|| unknown_delivery(&key))?;
    let event = NewEvent::new(AuditAction::WebhookDeliveryReplayed, id);
    audit::record(&mut tx, event.with(json!({ "name": replayed.event_type })));
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(webhook_delivery(replayed))))
}

/// The secret of the request, or a new one.
fn given_or_generated(secret: Option<WebhookSecret>) -> Zeroizing<String> {
    let generated = || Zeroizing::new(GeneratedSecret::generate().expose().to_owned());
    secret.map_or_else(generated, WebhookSecret::into_inner)
}

fn record_event(tx: &mut mc_store::Tx, id: WebhookId, change: &str, provider: Provider) {
    let details = json!({ "change": change, "provider": provider });
    audit::record(tx, NewEvent::new(AuditAction::WebhookChanged, id).with(details));
}

fn unknown_webhook(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such webhook")
        .field("id")
        .hint(format!("GET /projects/{key}/webhooks lists them"))
}

fn unknown_delivery(key: &ProjectKey) -> Problem {
    Problem::not_found("there is no delivery with this id, or it is older than fourteen days")
        .field("id")
        .hint(format!("GET /projects/{key}/webhook-deliveries lists the last fourteen days"))
}

fn with_secret(id: WebhookId, provider: Provider, secret: &str) -> WebhookWithSecret {
    WebhookWithSecret {
        id,
        provider,
        url_path: webhook_receiver::path(provider, id),
        secret: secret.to_owned(),
    }
}

fn webhook(webhook: webhooks::Webhook) -> Webhook {
    Webhook {
        id: webhook.id,
        provider: webhook.provider,
        url_path: webhook_receiver::path(webhook.provider, webhook.id),
        created_by: webhook.created_by,
        created_at: webhook.created_at,
        previous_secret_expires_at: webhook.previous_secret_expires_at,
        last_delivery_at: webhook.last_delivery_at,
    }
}

fn webhook_delivery(delivery: Delivery) -> WebhookDelivery {
    WebhookDelivery {
        id: delivery.id,
        webhook_id: delivery.webhook_id,
        provider: delivery.provider,
        external_id: delivery.external_id,
        event_type: delivery.event_type,
        event: delivery.event,
        state: delivery.state,
        outcome: delivery.outcome,
        received_at: delivery.received_at,
        completed_at: delivery.completed_at,
    }
}
