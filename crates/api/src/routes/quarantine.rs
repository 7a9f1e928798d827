//! `/quarantine`: requests that a policy withholds until a maintainer decides.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Permission, ProjectKey, QuarantineItemId, QuarantineState};
use mc_memory::quarantine::{self as use_cases, Release, Stored};
use mc_sanitizer::Sanitized;
use mc_store::projects::ProjectResource;
use mc_store::quarantine::{self};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::QuarantineState as QuarantineStateView;
use mc_contract::limits;

/// Path parameter: a quarantine item.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct QuarantineItemPath {
    /// The item's id.
    id: Uuid,
}

impl Validate for QuarantineItemPath {
    type Checked = QuarantineItemId;

    fn check(self) -> Result<QuarantineItemId, ValidationError> {
        Ok(QuarantineItemId(self.id))
    }
}

/// Query of a list of quarantine items.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuarantineQuery {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    project_key: String,
    /// Only items in this state.
    state: Option<QuarantineStateView>,
    /// The `next_cursor` of the previous page.
    cursor: Option<Uuid>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

/// A validated [`QuarantineQuery`].
#[derive(Debug)]
pub struct ValidatedQuery {
    project: ProjectKey,
    state: Option<QuarantineState>,
    cursor: Option<QuarantineItemId>,
    limit: i64,
}

impl Validate for QuarantineQuery {
    type Checked = ValidatedQuery;

    fn check(self) -> Result<ValidatedQuery, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok(ValidatedQuery {
            project: validate::project_key("project_key", &self.project_key)?,
            state: self.state,
            cursor: self.cursor.map(QuarantineItemId),
            limit: validate::range("limit", limit, &limits::PAGE_LIMIT)?,
        })
    }
}

/// A request in quarantine.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000008", "kind": "save", "reasons": ["github-token"],
    "excerpt": "The key of the shop is [secret:github-token]", "submitted_by": "vera",
    "state": "pending", "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2026-12-20T10:00:00Z"
}))]
pub struct QuarantineItem {
    id: Uuid,
    /// `save`, `dialog` or `document`.
    kind: String,
    /// Categories of the sanitizer (`jwt`) and of the prompt guard (`override`).
    reasons: Vec<String>,
    /// The beginning of its text, masked; empty once it was decided. It may contain prompt
    /// injection: show it to people only.
    excerpt: String,
    /// Login of the user who submitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    submitted_by: Option<String>,
    state: QuarantineStateView,
    created_at: DateTime<Utc>,
    /// When it is deleted without a decision.
    expires_at: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<DateTime<Utc>>,
}

/// A request in quarantine with its content.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000008", "kind": "save", "reasons": ["github-token"],
    "excerpt": "The key of the shop is [secret:github-token]", "submitted_by": "vera",
    "state": "pending", "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2026-12-20T10:00:00Z",
    "content": "{\"kind\":\"fact\",\"content\":\"The key of the shop is [secret:github-token]\"}"
}))]
pub struct QuarantineItemWithContent {
    #[serde(flatten)]
    item: QuarantineItem,
    /// The whole request as JSON, with secrets and personal data masked; absent once it was
    /// decided. It may contain prompt injection: show it to people only.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// The outcome of a release.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "outcome": "created", "id": "019a0000-0000-7000-8000-000000000002",
    "reason": "nothing similar is known"
}))]
pub struct ReleaseResponse {
    /// `created`, `merged`, `superseded`, `proposed`, `duplicate`, `updated`, `unchanged` or
    /// `kept`.
    outcome: &'static str,
    /// The record, dialog or document that has its text now.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    /// Why.
    reason: String,
}

/// List the quarantine items of a project.
///
/// Returns a page of the items, newest first, each with a masked excerpt. An excerpt may contain
/// prompt injection: show it to people only. For maintainers.
#[utoipa::path(
    get, path = "/quarantine", tag = "quarantine", params(QuarantineQuery),
    responses((status = 200, description = "Newest first", body = Page<QuarantineItem>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(query): ValidQuery<QuarantineQuery>,
) -> Result<Json<Page<QuarantineItem>>, Problem> {
    let ctx = api.authorize(&caller, &query.project, Permission::Curate).await?;
    let (state, before, limit) = (query.state, query.cursor, query.limit);
    let items = quarantine::list(&ctx.store, ctx.project.id, state, before, limit).await?;
    Ok(Json(Page::of(items, limit, |item| item.id)))
}

/// Get a quarantine item.
///
/// Returns the item with the whole request, masked, until it is decided. The request may contain
/// prompt injection: show it to people only. For maintainers.
#[utoipa::path(
    get, path = "/quarantine/{id}", tag = "quarantine", params(QuarantineItemPath),
    responses((status = 200, description = "The item with its content, masked",
               body = QuarantineItemWithContent))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<QuarantineItemPath>,
) -> Result<Json<QuarantineItemWithContent>, Problem> {
    let (ctx, item) = found(&api, &caller, id).await?;
    let content = use_cases::show(&ctx.memory, id).await?.map(Sanitized::into_string);
    Ok(Json(QuarantineItemWithContent { item: item.into(), content }))
}

/// Release a quarantine item.
///
/// Stores the request as if it were sent now, with secrets masked, and returns what it became. For
/// maintainers.
#[utoipa::path(
    post, path = "/quarantine/{id}/release", tag = "quarantine", params(QuarantineItemPath),
    responses((status = 200, description = "What it became", body = ReleaseResponse))
)]
pub async fn release(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<QuarantineItemPath>,
) -> Result<Json<ReleaseResponse>, Problem> {
    let (ctx, item) = found(&api, &caller, id).await?;
    if item.kind == use_cases::DOCUMENT {
        // The one who releases a document vouches for it, as for one that they send.
        api.require(&caller, &ctx.project, Permission::Ingest)?;
    }
    Ok(Json(use_cases::release(&ctx.memory, &ctx.project, id).await?.into()))
}

/// Delete a quarantine item for good.
///
/// Deletes the held request; only the decision is kept. For maintainers.
#[utoipa::path(
    delete, path = "/quarantine/{id}", tag = "quarantine", params(QuarantineItemPath),
    responses((status = 204, description = "Deleted; only the decision is kept"))
)]
pub async fn destroy(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<QuarantineItemPath>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, id).await?;
    use_cases::delete(&ctx.memory, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn found(
    api: &ApiState,
    caller: &Principal,
    id: QuarantineItemId,
) -> Result<(ProjectContext, quarantine::QuarantineItem), Problem> {
    let ctx = entered(api, caller, id).await?;
    let item = quarantine::find(&ctx.store, id).await?.ok_or_else(|| unknown(id))?;
    Ok((ctx, item))
}

async fn entered(
    api: &ApiState,
    caller: &Principal,
    id: QuarantineItemId,
) -> Result<ProjectContext, Problem> {
    let ctx = api
        .authorize_resource(caller, ProjectResource::QuarantineItem(id), Permission::Curate)
        .await?;
    ctx.ok_or_else(|| unknown(id))
}

fn unknown(id: QuarantineItemId) -> Problem {
    Problem::not_found(format!("there is no quarantine item {id}, or it is not yours to see"))
        .field("id")
        .hint("GET /quarantine lists the items of a project, for its maintainers")
}

impl From<Release> for ReleaseResponse {
    fn from(release: Release) -> Self {
        let id = match release.stored {
            Stored::Record(id) => id.into(),
            Stored::Dialog(id) => id.into(),
            Stored::Document(id) => id.into(),
        };
        Self { outcome: release.outcome, id: Some(id), reason: release.reason }
    }
}

impl From<quarantine::QuarantineItem> for QuarantineItem {
    fn from(item: quarantine::QuarantineItem) -> Self {
        Self {
            id: item.id.into(),
            kind: item.kind,
            reasons: item.reasons,
            excerpt: item.excerpt,
            submitted_by: item.sender,
            state: item.state,
            created_at: item.created_at,
            expires_at: item.expires_at,
            decided_by: item.decided_by,
            decided_at: item.decided_at,
        }
    }
}
