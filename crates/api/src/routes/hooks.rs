//! `/projects/{key}/hooks` and `/projects/{key}/deliveries`: which systems may tell a project of what happens
//! there, and what they told.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_auth::secret::WebhookSecret;
use mc_domain::{Act, Action, DeliveryId, HookId, ProjectKey, WebhookSource};
use mc_store::audit::{self, NewEvent};
use mc_store::hooks::{self, Delivery, DeliveryFilter, Hook};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::page;
use super::projects::{ProjectPath, entered};
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::entry::Here;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::receive;
use crate::shapes;
use crate::wire::{DeliveryState as DeliveryStateView, WebhookSource as WebhookSourceView, whole};

/// For so long the former secret counts when the caller says nothing else.
const DEFAULT_KEEP_HOURS: i64 = 24;

/// A hook, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct HookPath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The hook's id.
    id: Uuid,
}

impl Check for HookPath {
    type Checked = (ProjectKey, HookId);

    fn check(self) -> Result<(ProjectKey, HookId), Invalid> {
        Ok((check::project_key("key", &self.key)?, HookId(self.id)))
    }
}

/// A delivery, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DeliveryPath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The delivery's id.
    id: Uuid,
}

impl Check for DeliveryPath {
    type Checked = (ProjectKey, DeliveryId);

    fn check(self) -> Result<(ProjectKey, DeliveryId), Invalid> {
        Ok((check::project_key("key", &self.key)?, DeliveryId(self.id)))
    }
}

/// A hook to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"source": "github"}))]
pub struct NewHook {
    source: WebhookSourceView,
    /// What deliveries are signed with; made by the service when absent. For senders that make their own, such
    /// as GitLab's signing token.
    #[schema(value_type = Option<shapes::WebhookSecret>)]
    secret: Option<String>,
}

/// A secret of a hook as checked; made where the caller brought none.
type Secret = Zeroizing<String>;

impl Check for NewHook {
    type Checked = (WebhookSource, Secret);

    fn check(self) -> Result<(WebhookSource, Secret), Invalid> {
        Ok((self.source.into(), secret(self.secret)?))
    }
}

/// Another secret for a hook.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"keep_hours": 24}))]
pub struct HookRotation {
    /// What deliveries are signed with from now on; made by the service when absent.
    #[schema(value_type = Option<shapes::WebhookSecret>)]
    secret: Option<String>,
    /// For how long what is signed with the secret before is taken, too: 0 to 168 hours; 24 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<shapes::KeepHours>)]
    keep_hours: Option<i64>,
}

impl Check for HookRotation {
    type Checked = (Secret, Duration);

    fn check(self) -> Result<(Secret, Duration), Invalid> {
        let hours = self.keep_hours.unwrap_or(DEFAULT_KEEP_HOURS);
        let hours = check::range("keep_hours", hours, &limits::KEEP_HOURS)?;
        Ok((secret(self.secret)?, Duration::from_hours(hours)))
    }
}

fn secret(given: Option<String>) -> Result<Secret, Invalid> {
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
    Err(Invalid::new("secret", rule))
}

/// Which deliveries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Only what came through this hook.
    hook: Option<Uuid>,
    /// Only what is in this state.
    state: Option<DeliveryStateView>,
    /// Only what came before this: the `next` of the page before.
    before: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Check for DeliveryQuery {
    type Checked = (DeliveryFilter, i64);

    fn check(self) -> Result<(DeliveryFilter, i64), Invalid> {
        let filter = DeliveryFilter {
            hook: self.hook.map(HookId),
            state: self.state.map(Into::into),
            before: self.before.map(DeliveryId),
        };
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((filter, check::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// Where a system may tell of what happens there.
#[derive(Debug, Serialize, ToSchema)]
pub struct HookView {
    id: Uuid,
    source: WebhookSourceView,
    /// Path and query of the address that the sender is given, behind the service's own.
    path: String,
    /// Who made it, by login; absent where that user is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    created_at: DateTime<Utc>,
    /// Until when the secret before the present one counts, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_until: Option<DateTime<Utc>>,
    /// When something last came through it.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<DateTime<Utc>>,
}

/// A project's hooks.
#[derive(Debug, Serialize, ToSchema)]
pub struct HookList {
    hooks: Vec<HookView>,
}

/// A hook with what its sender signs with.
#[derive(Serialize, ToSchema)]
pub struct HookSecret {
    id: Uuid,
    source: WebhookSourceView,
    /// Path and query of the address that the sender is given, behind the service's own.
    path: String,
    /// Shown this once: what the sender is given as the webhook's secret.
    secret: String,
}

/// Something that a webhook delivered.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    id: Uuid,
    hook_id: Uuid,
    source: WebhookSourceView,
    /// The sender's id of it.
    delivery_id: String,
    /// What it is, in the sender's word: `issues.opened`.
    name: String,
    /// What was of use of it, masked; the rest is not kept. It may address a model: show it to people.
    #[schema(value_type = Object)]
    event: Value,
    state: DeliveryStateView,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    received_at: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handled_at: Option<DateTime<Utc>>,
}

/// A page of deliveries.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryPage {
    deliveries: Vec<DeliveryView>,
    /// What to send as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Uuid>,
}

/// Let a system tell the project of what happens there.
#[utoipa::path(
    post, path = "/projects/{key}/hooks", tag = "webhooks", params(ProjectPath), request_body = NewHook,
    responses((status = 201, description = "Its address, and its secret this once", body = HookSecret))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidJson((source, secret)): ValidJson<NewHook>,
) -> Result<(StatusCode, Json<HookSecret>), Problem> {
    let Here { project, store, memory } =
        entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let id = HookId::generate();
    let sealed = memory.sealer.seal(receive::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    hooks::create(&mut tx, project.id, id, source, &sealed).await?;
    note(&mut tx, id, "created", source);
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(HookSecret::of(id, source, &secret))))
}

/// See which systems may tell the project of what happens there.
#[utoipa::path(
    get, path = "/projects/{key}/hooks", tag = "webhooks", params(ProjectPath),
    responses((status = 200, description = "In the order they were made", body = HookList))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<HookList>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let hooks = hooks::list(&here.store, here.project.id).await?;
    Ok(Json(HookList { hooks: hooks.into_iter().map(Into::into).collect() }))
}

/// Give a hook another secret. The one before counts for a while longer, so that the sender can be changed.
#[utoipa::path(
    post, path = "/projects/{key}/hooks/{id}/rotate", tag = "webhooks", params(HookPath),
    request_body = HookRotation,
    responses((status = 200, description = "Its new secret, this once", body = HookSecret))
)]
pub async fn rotate(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<HookPath>,
    ValidJson((secret, former_for)): ValidJson<HookRotation>,
) -> Result<Json<HookSecret>, Problem> {
    let Here { project, store, memory } =
        entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let sealed = memory.sealer.seal(receive::place(&id), secret.as_bytes());
    let mut tx = store.begin().await?;
    let source = hooks::change_secret(&mut tx, project.id, id, &sealed, former_for).await?;
    let source = source.ok_or_else(|| unknown_hook(&key))?;
    note(&mut tx, id, "rotated", source);
    tx.commit().await?;
    Ok(Json(HookSecret::of(id, source, &secret)))
}

/// Let a system tell nothing any more. What it delivered is forgotten; what came of that stays.
#[utoipa::path(
    delete, path = "/projects/{key}/hooks/{id}", tag = "webhooks", params(HookPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn remove(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<HookPath>,
) -> Result<StatusCode, Problem> {
    let Here { project, store, .. } = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let source = hooks::remove(&mut tx, project.id, id).await?;
    note(&mut tx, id, "removed", source.ok_or_else(|| unknown_hook(&key))?);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// See what was delivered in the last fourteen days.
#[utoipa::path(
    get, path = "/projects/{key}/deliveries", tag = "webhooks", params(ProjectPath, DeliveryQuery),
    responses((status = 200, description = "Newest first", body = DeliveryPage))
)]
pub async fn deliveries(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((filter, limit)): ValidQuery<DeliveryQuery>,
) -> Result<Json<DeliveryPage>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let found = hooks::deliveries(&here.store, here.project.id, filter, limit).await?;
    let next = page::next(&found, limit, |delivery| delivery.id.into());
    Ok(Json(DeliveryPage { deliveries: found.into_iter().map(Into::into).collect(), next }))
}

/// See one delivery.
#[utoipa::path(
    get, path = "/projects/{key}/deliveries/{id}", tag = "webhooks", params(DeliveryPath),
    responses((status = 200, description = "What was kept of it", body = DeliveryView))
)]
pub async fn delivery(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<DeliveryPath>,
) -> Result<Json<DeliveryView>, Problem> {
    let here = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let found = hooks::delivery(&here.store, here.project.id, id).await?;
    Ok(Json(found.ok_or_else(|| unknown_delivery(&key))?.into()))
}

/// Have a delivery gone through once more.
#[utoipa::path(
    post, path = "/projects/{key}/deliveries/{id}/replay", tag = "webhooks", params(DeliveryPath),
    responses((status = 202, description = "It waits for a worker", body = DeliveryView))
)]
pub async fn replay(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<DeliveryPath>,
) -> Result<(StatusCode, Json<DeliveryView>), Problem> {
    let Here { project, store, .. } = entered(&api, &caller, &key, Action::ManagePolicy).await?;
    let mut tx = store.begin().await?;
    let replayed = hooks::replay(&mut tx, project.id, id).await?;
    let replayed = replayed.ok_or_else(|| unknown_delivery(&key))?;
    let event = NewEvent::new(Act::DeliveryReplayed, id);
    audit::note(&mut tx, event.with(json!({ "name": replayed.name })));
    tx.commit().await?;
    Ok((StatusCode::ACCEPTED, Json(replayed.into())))
}

fn note(tx: &mut mc_store::Tx, id: HookId, change: &str, source: WebhookSource) {
    let detail = json!({ "change": change, "source": source });
    audit::note(tx, NewEvent::new(Act::HookChanged, id).with(detail));
}

fn unknown_hook(key: &ProjectKey) -> Problem {
    Problem::not_found("the project has no such hook")
        .field("id")
        .hint(format!("GET /projects/{key}/hooks lists them"))
}

fn unknown_delivery(key: &ProjectKey) -> Problem {
    Problem::not_found("nothing with this id was delivered, or it was too long ago")
        .field("id")
        .hint(format!("GET /projects/{key}/deliveries lists the last fourteen days"))
}

impl HookSecret {
    fn of(id: HookId, source: WebhookSource, secret: &str) -> Self {
        Self {
            id: id.into(),
            source: source.into(),
            path: receive::path(source, id),
            secret: secret.to_owned(),
        }
    }
}

impl From<Hook> for HookView {
    fn from(hook: Hook) -> Self {
        Self {
            id: hook.id.into(),
            source: hook.source.into(),
            path: receive::path(hook.source, hook.id),
            created_by: hook.created_by,
            created_at: hook.created_at,
            former_until: hook.former_until,
            delivered_at: hook.delivered_at,
        }
    }
}

impl From<Delivery> for DeliveryView {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id.into(),
            hook_id: delivery.hook.into(),
            source: delivery.source.into(),
            delivery_id: delivery.sender_id,
            name: delivery.name,
            event: delivery.event,
            state: delivery.state.into(),
            outcome: delivery.outcome,
            received_at: delivery.received_at,
            handled_at: delivery.handled_at,
        }
    }
}
