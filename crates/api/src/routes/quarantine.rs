//! `/quarantine`: requests that a policy withholds until a maintainer decides.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::page::{Page, page};
use mc_contract::operations::quarantine::{
    QuarantineItem, QuarantineItemPath, QuarantineItemWithContent, QuarantineQuery, ReleaseResponse,
};
use mc_domain::{Permission, QuarantineItemId};
use mc_memory::quarantine as use_cases;
use mc_sanitizer::Sanitized;
use mc_store::projects::ProjectResource;
use mc_store::quarantine;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List the quarantine items of a project.
///
/// Returns a page of the items, newest first, each with a masked excerpt. An excerpt may contain
/// prompt injection: show it to people only. For maintainers.
#[utoipa::path(
    get, path = "/quarantine", tag = "quarantine", params(QuarantineQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "Newest first", body = Page<QuarantineItem>))
)]
pub async fn list_quarantine_items(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<QuarantineQuery>,
) -> Result<Json<Page<QuarantineItem>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Curate).await?;
    let QuarantineQuery { state, cursor, limit, .. } = query;
    let limit = limit.unwrap_or_default().get();
    let items = quarantine::list(&ctx.store, ctx.project.id, state, cursor, limit).await?;
    let items: Vec<_> = items.into_iter().map(quarantine_item).collect();
    Ok(Json(page(items, limit, |item| item.id)))
}

/// Get a quarantine item.
///
/// Returns the item with the whole request, masked, until it is decided. The request may contain
/// prompt injection: show it to people only. For maintainers.
#[utoipa::path(
    get, path = "/quarantine/{id}", tag = "quarantine", params(QuarantineItemPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The item with its content, masked",
               body = QuarantineItemWithContent))
)]
pub async fn get_quarantine_item(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(QuarantineItemPath { id }): PathParams<QuarantineItemPath>,
) -> Result<Json<QuarantineItemWithContent>, Problem> {
    let (ctx, item) = found(&api, &caller, id).await?;
    let content = use_cases::show(&ctx.memory, id).await?.map(Sanitized::into_string);
    Ok(Json(QuarantineItemWithContent { item: quarantine_item(item), content }))
}

/// Release a quarantine item.
///
/// Stores the request as if it were sent now, with secrets masked, and returns the result. For
/// maintainers.
#[utoipa::path(
    post, path = "/quarantine/{id}/release", tag = "quarantine", params(QuarantineItemPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 200, description = "The released text as it is stored",
               body = ReleaseResponse))
)]
pub async fn release_quarantine_item(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(QuarantineItemPath { id }): PathParams<QuarantineItemPath>,
) -> Result<Json<ReleaseResponse>, Problem> {
    let (ctx, item) = found(&api, &caller, id).await?;
    if item.kind == use_cases::DOCUMENT {
        // The one who releases a document vouches for it, as for one that they send.
        api.require(&caller, &ctx.project, Permission::Ingest)?;
    }
    Ok(Json(use_cases::release(&ctx.memory, &ctx.project, id).await?))
}

/// Delete a quarantine item permanently.
///
/// Deletes the quarantined request; only the decision is kept. For maintainers.
#[utoipa::path(
    delete, path = "/quarantine/{id}", tag = "quarantine", params(QuarantineItemPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Curate)))),
    responses((status = 204, description = "Deleted; the decision is kept"))
)]
pub async fn delete_quarantine_item(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(QuarantineItemPath { id }): PathParams<QuarantineItemPath>,
) -> Result<StatusCode, Problem> {
    let ctx = authorize(&api, &caller, id).await?;
    use_cases::delete(&ctx.memory, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn found(
    api: &ApiState,
    caller: &Principal,
    id: QuarantineItemId,
) -> Result<(ProjectContext, quarantine::QuarantineItem), Problem> {
    let ctx = authorize(api, caller, id).await?;
    let item = quarantine::find(&ctx.store, id).await?.ok_or_else(|| unknown(id))?;
    Ok((ctx, item))
}

async fn authorize(
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

fn quarantine_item(item: quarantine::QuarantineItem) -> QuarantineItem {
    QuarantineItem {
        id: item.id,
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
