//! `/projects/{key}/webhooks` and `/projects/{key}/webhook-deliveries`: which systems may tell a project of what happens
//! there, and what they told.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_auth::secret::WebhookSecret;
use mc_domain::{AuditAction, DeliveryId, Permission, ProjectKey, Provider, WebhookId};
use mc_store::audit::{self, NewEvent};
use mc_store::webhooks::{self, Delivery, DeliveryFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::webhook_receiver;
use crate::wire::{
    DeliveryState as DeliveryStateView, WebhookProvider as WebhookSourceView, whole,
};

/// For so long the former secret counts when the caller says nothing else.
const DEFAULT_KEEP_HOURS: i64 = 24;

/// A hook, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct WebhookPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The hook's id.
    id: Uuid,
}

impl Validate for WebhookPath {
    type Checked = (ProjectKey, WebhookId);

    fn check(self) -> Result<(ProjectKey, WebhookId), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, WebhookId(self.id)))
    }
}

/// A delivery, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DeliveryPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The delivery's id.
    id: Uuid,
}

impl Validate for DeliveryPath {
    type Checked = (ProjectKey, DeliveryId);

    fn check(self) -> Result<(ProjectKey, DeliveryId), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, DeliveryId(self.id)))
    }
}

/// A hook to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"source": "github"}))]
pub struct CreateWebhook {
    provider: WebhookSourceView,
    /// What deliveries are signed with; made by the service when absent. For senders that make their own, such
    /// as GitLab's signing token.
    #[schema(value_type = Option<schemas::WebhookSecret>)]
    secret: Option<String>,
}

/// A secret of a hook as checked; made where the caller brought none.
type Secret = Zeroizing<String>;

impl Validate for CreateWebhook {
    type Checked = (Provider, Secret);

    fn check(self) -> Result<(Provider, Secret), ValidationError> {
        Ok((self.provider.into(), secret(self.secret)?))
    }
}

/// Another secret for a hook.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"previous_secret_ttl_hours": 24}))]
pub struct RotateWebhookSecret {
    /// What deliveries are signed with from now on; made by the service when absent.
    #[schema(value_type = Option<schemas::WebhookSecret>)]
    secret: Option<String>,
    /// For how long what is signed with the secret before is taken, too: 0 to 168 hours; 24 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::KeepHours>)]
    previous_secret_ttl_hours: Option<i64>,
}

impl Validate for RotateWebhookSecret {
    type Checked = (Secret, Duration);

    fn check(self) -> Result<(Secret, Duration), ValidationError> {
        let hours = self.previous_secret_ttl_hours.unwrap_or(DEFAULT_KEEP_HOURS);
        let hours = validate::range("previous_secret_ttl_hours", hours, &limits::KEEP_HOURS)?;
        Ok((secret(self.secret)?, Duration::from_hours(hours)))
    }
}

fn secret(given: Option<String>) -> Result<Secret, ValidationError> {
    let Some(given) = given.map(Zeroizing::new) else {
        return Ok(Zeroizing::new(WebhookSecret::generate().expose().to_owned()));
    };
    let is_fit = limits::WEBHOOK_SECRET.contains(&given.len())
        && given.bytes().all(|byte| byte.is_ascii_graphic());
    if is_fit {
        return Ok(given);
    }
    let (least, most) = (limits::WEBHOOK_SECRET.start(), limits::WEBHOOK_SECRET.end());
    let rule = format!("must be {least} to {most} visible ASCII characters without blanks");
    Err(ValidationError::new("secret", rule))
}

/// Which deliveries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Only what came through this hook.
    webhook_id: Option<Uuid>,
    /// Only what is in this state.
    state: Option<DeliveryStateView>,
    /// Only what came before this: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for DeliveryQuery {
    type Checked = (DeliveryFilter, i64);

    fn check(self) -> Result<(DeliveryFilter, i64), ValidationError> {
        let filter = DeliveryFilter {
            webhook_id: self.webhook_id.map(WebhookId),
            state: self.state.map(Into::into),
            cursor: self.cursor.map(DeliveryId),
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// Where a system may tell of what happens there.
#[derive(Debug, Serialize, ToSchema)]
pub struct Webhook {
    id: Uuid,
    provider: WebhookSourceView,
    /// Path and query of the address that the sender is given, behind the service's own.
    url_path: String,
    /// Who made it, by login; absent where that user is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    created_at: DateTime<Utc>,
    /// Until when the secret before the present one counts, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_secret_expires_at: Option<DateTime<Utc>>,
    /// When something last came through it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delivery_at: Option<DateTime<Utc>>,
}

/// A hook with what its sender signs with.
#[derive(Serialize, ToSchema)]
pub struct WebhookWithSecret {
    id: Uuid,
    provider: WebhookSourceView,
    /// Path and query of the address that the sender is given, behind the service's own.
    url_path: String,
    /// Shown this once: what the sender is given as the webhook's secret.
    secret: String,
}

/// Something that a webhook delivered.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookDelivery {
    id: Uuid,
    webhook_id: Uuid,
    provider: WebhookSourceView,
    /// The sender's id of it.
    external_id: String,
    /// What it is, in the sender's word: `issues.opened`.
    event_type: String,
    /// What was of use of it, masked; the rest is not kept. It may address a model: show it to people.
    #[schema(value_type = Object)]
    event: Value,
    state: DeliveryStateView,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    received_at: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<DateTime<Utc>>,
}

/// Let a system tell the project of what happens there.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks", tag = "webhooks", params(ProjectPath), request_body = CreateWebhook,
    responses((status = 201, description = "Its address, and its secret this once", body = WebhookWithSecret))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson((source, secret)): ValidJson<CreateWebhook>,
) -> Result<(StatusCode, Json<WebhookWithSecret>), Problem> {
    let ProjectContext { project, store, memory } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let id = WebhookId::generate();
    let sealed = memory.encryptor.encrypt(webhook_receiver::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    webhooks::create(&mut tx, project.id, id, source, &sealed).await?;
    note(&mut tx, id, "created", source);
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(WebhookWithSecret::of(id, source, &secret))))
}

/// See which systems may tell the project of what happens there.
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
    let hooks = webhooks::list(&here.store, here.project.id).await?;
    Ok(Json(Page::complete(hooks)))
}

/// Give a hook another secret. The one before counts for a while longer, so that the sender can be changed.
#[utoipa::path(
    post, path = "/projects/{key}/webhooks/{id}/rotate-secret", tag = "webhooks", params(WebhookPath),
    request_body = RotateWebhookSecret,
    responses((status = 200, description = "Its new secret, this once", body = WebhookWithSecret))
)]
pub async fn rotate(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<WebhookPath>,
    ValidJson((secret, former_for)): ValidJson<RotateWebhookSecret>,
) -> Result<Json<WebhookWithSecret>, Problem> {
    let ProjectContext { project, store, memory } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let sealed = memory.encryptor.encrypt(webhook_receiver::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    let source = webhooks::rotate_secret(&mut tx, project.id, id, &sealed, former_for).await?;
    let source = source.ok_or_else(|| unknown_hook(&key))?;
    note(&mut tx, id, "rotated", source);
    tx.commit().await?;
    Ok(Json(WebhookWithSecret::of(id, source, &secret)))
}

/// Let a system tell nothing any more. What it delivered is forgotten; what came of that stays.
#[utoipa::path(
    delete, path = "/projects/{key}/webhooks/{id}", tag = "webhooks", params(WebhookPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<WebhookPath>,
) -> Result<StatusCode, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let source = webhooks::remove(&mut tx, project.id, id).await?;
    note(&mut tx, id, "removed", source.ok_or_else(|| unknown_hook(&key))?);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// See what was delivered in the last fourteen days.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries", tag = "webhooks", params(ProjectPath, DeliveryQuery),
    responses((status = 200, description = "Newest first", body = Page<WebhookDelivery>))
)]
pub async fn deliveries(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<DeliveryQuery>,
) -> Result<Json<Page<WebhookDelivery>>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = webhooks::deliveries(&here.store, here.project.id, filter, limit).await?;
    Ok(Json(Page::of(found, limit, |delivery| delivery.id)))
}

/// See one delivery.
#[utoipa::path(
    get, path = "/projects/{key}/webhook-deliveries/{id}", tag = "webhooks", params(DeliveryPath),
    responses((status = 200, description = "What was kept of it", body = WebhookDelivery))
)]
pub async fn delivery(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<DeliveryPath>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let found = webhooks::delivery(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown_delivery(&key))?.into()))
}

/// Have a delivery gone through once more.
#[utoipa::path(
    post, path = "/projects/{key}/webhook-deliveries/{id}/replay", tag = "webhooks", params(DeliveryPath),
    responses((status = 202, description = "It waits for a worker", body = WebhookDelivery))
)]
pub async fn replay(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<DeliveryPath>,
) -> Result<(StatusCode, Json<WebhookDelivery>), Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let replayed = webhooks::replay(&mut tx, project.id, id).await?;
    let replayed = replayed.ok_or_else(|| unknown_delivery(&key))?;
    let event = NewEvent::new(AuditAction::WebhookDeliveryReplayed, id);
    audit::record(&mut tx, event.with(json!({ "name": replayed.event_type })));
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(replayed.into())))
}

fn note(tx: &mut mc_store::Tx, id: WebhookId, change: &str, source: Provider) {
    let detail = json!({ "change": change, "source": source });
    audit::record(tx, NewEvent::new(AuditAction::WebhookChanged, id).with(detail));
}

fn unknown_hook(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such hook")
        .field("id")
        .hint(format!("GET /projects/{key}/webhooks lists them"))
}

fn unknown_delivery(key: &ProjectKey) -> Problem {
    Problem::not_found("nothing with this id was delivered, or it was too long ago")
        .field("id")
        .hint(format!("GET /projects/{key}/webhook-deliveries lists the last fourteen days"))
}

impl WebhookWithSecret {
    fn of(id: WebhookId, source: Provider, secret: &str) -> Self {
        Self {
            id: id.into(),
            provider: source.into(),
            url_path: webhook_receiver::path(source, id),
            secret: secret.to_owned(),
        }
    }
}

impl From<webhooks::Webhook> for Webhook {
    fn from(hook: webhooks::Webhook) -> Self {
        Self {
            id: hook.id.into(),
            provider: hook.provider.into(),
            url_path: webhook_receiver::path(hook.provider, hook.id),
            created_by: hook.created_by,
            created_at: hook.created_at,
            previous_secret_expires_at: hook.previous_secret_expires_at,
            last_delivery_at: hook.last_delivery_at,
        }
    }
}

impl From<Delivery> for WebhookDelivery {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id.into(),
            webhook_id: delivery.webhook_id.into(),
            provider: delivery.provider.into(),
            external_id: delivery.external_id,
            event_type: delivery.event_type,
            event: delivery.event,
            state: delivery.state.into(),
            outcome: delivery.outcome,
            received_at: delivery.received_at,
            completed_at: delivery.completed_at,
        }
    }
}
