//! `/projects/{key}/webhooks` and `/projects/{key}/webhook-deliveries`: the URLs by which providers
//! send events to a project, and what they sent.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::webhook::{
    CreateWebhook, DeliveryPath, DeliveryQuery, RotateWebhookSecret, Webhook, WebhookDelivery,
    WebhookPath, WebhookWithSecret,
};
use mc_domain::Permission;
use mc_integrations::{deliveries, webhooks};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Create a webhook.
///
/// Returns its URL and, this once, its secret. Enter both at the provider.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks", tag = "webhooks", params(ProjectPath),
    request_body = CreateWebhook,
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 201, description = "The webhook; its secret is shown once",
               body = WebhookWithSecret))
)]
pub async fn create_webhook(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    JsonBody(request): JsonBody<CreateWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok((StatusCode::CREATED, Json(webhooks::create(&ctx, request).await?)))
}

/// List webhooks.
///
/// Returns the project's webhooks, in the order of their creation, without their secrets.
#[utoipa::path(
    get, path = "/projects/{key}/webhooks", tag = "webhooks", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "In the order of their creation", body = Page<Webhook>))
)]
pub async fn list_webhooks(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<Page<Webhook>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(webhooks::list(&ctx).await?))
}

/// Replace a webhook's secret.
///
/// Returns the new secret this once. The previous one stays valid for a while, so that the provider
/// can be reconfigured without losing deliveries.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks/{id}/rotate-secret", tag = "webhooks",
    params(WebhookPath),
    request_body = RotateWebhookSecret,
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "The webhook with its new secret, which is shown once",
               body = WebhookWithSecret))
)]
pub async fn rotate_webhook_secret(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WebhookPath { key, id }): PathParams<WebhookPath>,
    JsonBody(request): JsonBody<RotateWebhookSecret>,
) -> Result<Json<WebhookWithSecret>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(webhooks::rotate_secret(&ctx, id, request).await?))
}

/// Delete a webhook.
///
/// Its deliveries are deleted with it. Tasks and records that came from them stay.
#[utoipa::path(
    delete, path = "/projects/{key}/webhooks/{id}", tag = "webhooks", params(WebhookPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_webhook(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(WebhookPath { key, id }): PathParams<WebhookPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    webhooks::delete(&ctx, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List webhook deliveries.
///
/// Returns a page of the deliveries of the last fourteen days, newest first.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries", tag = "webhooks",
    params(ProjectPath, DeliveryQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "Newest first", body = Page<WebhookDelivery>))
)]
pub async fn list_webhook_deliveries(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<DeliveryQuery>,
) -> Result<Json<Page<WebhookDelivery>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(deliveries::list(&ctx, query).await?))
}

/// Get a webhook delivery.
///
/// Returns the parts of the event that are used, and the result of processing it.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries/{id}", tag = "webhooks", params(DeliveryPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 200, description = "The delivery", body = WebhookDelivery))
)]
pub async fn get_webhook_delivery(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(DeliveryPath { key, id }): PathParams<DeliveryPath>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok(Json(deliveries::get(&ctx, id).await?))
}

/// Process a webhook delivery again.
///
/// Enqueues the job that processes it. Processing twice has the effect of processing once.
#[utoipa::path(
    post, path = "/projects/{key}/webhook-deliveries/{id}/replay", tag = "webhooks",
    params(DeliveryPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManagePolicy)))),
    responses((status = 202, description = "Enqueued", body = WebhookDelivery))
)]
pub async fn replay_webhook_delivery(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(DeliveryPath { key, id }): PathParams<DeliveryPath>,
) -> Result<(StatusCode, Json<WebhookDelivery>), Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManagePolicy).await?;
    Ok((StatusCode::ACCEPTED, Json(deliveries::replay(&ctx, id).await?)))
}
