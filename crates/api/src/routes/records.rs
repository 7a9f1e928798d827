//! `/records`: the records of a project.

mod convert;

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_accounts::users;
use mc_contract::operations::page::{Page, next_cursor};
use mc_contract::operations::record::{
    Citation, CitedRecord, Record, RecordPath, RecordQuery, RecordVersion, RecordWithHistory,
    UpdateRecord,
};
use mc_domain::{Permission, ReadKind, RecordId};
use mc_memory::review::{self, Editor};
use mc_memory::uses::Opened;
use mc_store::projects::ProjectResource;
use mc_store::records::{self, RecordFilter, Version};
use mc_store::{Store, citations, docs};

use convert::record_version;
pub use convert::{citation, contribution, record};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List records.
///
/// Returns a page of the project's live records with their citations, oldest first.
#[utoipa::path(
    get, path = "/records", tag = "memory", params(RecordQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "A page", body = Page<CitedRecord>))
)]
pub async fn list_records(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<RecordQuery>,
) -> Result<Json<Page<CitedRecord>>, Problem> {
    let ctx = api.authorize(&caller, &query.project_key, Permission::Read).await?;
    let limit = query.limit.unwrap_or_default().get();
    let filter = RecordFilter {
        kind: query.kind,
        visibility: query.visibility,
        saved_by: match &query.saved_by {
            Some(login) => Some(users::filter_id(&api.store, login.as_str()).await?),
            None => None,
        },
        source: query.source.map(Into::into),
    };
    let records = records::list(&ctx.store, ctx.project.id, &filter, query.cursor, limit).await?;
    ctx.count_read(ReadKind::Record);
    let next_cursor = next_cursor(&records, limit, |record| record.id);
    Ok(Json(Page::new(cited(&ctx.store, records).await?, next_cursor)))
}

/// Get a record.
///
/// Returns the record, whatever its state, with its citations, earlier versions and contributions.
#[utoipa::path(
    get, path = "/records/{id}", tag = "memory", params(RecordPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The record, in any state", body = RecordWithHistory))
)]
pub async fn get_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
) -> Result<Json<RecordWithHistory>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Read).await?;
    let record = records::find(&ctx.store, id).await?.ok_or_else(|| unknown(id))?;
    ctx.count_read(ReadKind::Record);
    ctx.note_opened(Opened::Record(id));
    let store = ctx.store;
    let versions = versions(&store, id).await?;
    let contributions =
        records::contributions(&store, id).await?.into_iter().map(contribution).collect();
    let record = cited(&store, vec![record]).await?.pop().ok_or_else(|| unknown(id))?;
    Ok(Json(RecordWithHistory { record, versions, contributions }))
}

/// Returns the earlier versions of a record with their citations.
async fn versions(store: &Store, id: RecordId) -> Result<Vec<RecordVersion>, Problem> {
    let mut by_version: HashMap<i32, Vec<Citation>> = HashMap::new();
    for (version, citation) in citations::of_versions(store, id).await? {
        by_version.entry(version).or_default().push(convert::citation(citation));
    }
    let with_citations = |version: Version| {
        let citations = by_version.remove(&version.version).unwrap_or_default();
        record_version(version, citations)
    };
    Ok(records::versions(store, id).await?.into_iter().map(with_citations).collect())
}

/// Returns records with their citations.
pub(super) async fn cited(
    store: &Store,
    records: Vec<records::Record>,
) -> Result<Vec<CitedRecord>, Problem> {
    let ids: Vec<_> = records.iter().map(|record| record.id).collect();
    let mut by_record: HashMap<RecordId, Vec<Citation>> = HashMap::new();
    for citation in citations::of_records(store, &ids).await? {
        by_record.entry(citation.record).or_default().push(convert::citation(citation));
    }
    let documents = docs::newest_of_records(store, &ids).await?;
    let with_citations = |record: records::Record| CitedRecord {
        document_id: documents.get(&record.id).copied(),
        citations: by_record.remove(&record.id).unwrap_or_default(),
        record: convert::record(record),
    };
    Ok(records.into_iter().map(with_citations).collect())
}

/// Edit a record.
///
/// Changes the fields that are present, and returns the record; its present version stays in its
/// history. A private record and an own proposal take the role that saving them took. If the record
/// has another version than the request, nothing is changed.
#[utoipa::path(
    patch, path = "/records/{id}", tag = "memory", params(RecordPath),
    request_body = UpdateRecord,
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 200, description = "The record with its changes", body = Record))
)]
pub async fn update_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
    JsonBody(request): JsonBody<UpdateRecord>,
) -> Result<Json<Record>, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Propose).await?;
    let editor = Editor {
        user: caller.user,
        login: caller.name(),
        can_write: ctx.allows(Permission::Write),
    };
    let edited = review::edit(&ctx.memory, ctx.project.id, id, request, editor).await;
    require_write_unless_own(&api, &caller, &ctx, &edited)?;
    Ok(Json(convert::record(edited?)))
}

/// Delete a record.
///
/// Withdraws it if it is a proposal of the caller. A private record and an own proposal take the
/// role that saving them took.
#[utoipa::path(
    delete, path = "/records/{id}", tag = "memory", params(RecordPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Propose)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_record(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(RecordPath { id }): PathParams<RecordPath>,
) -> Result<StatusCode, Problem> {
    let ctx = authorize(&api, &caller, id, Permission::Propose).await?;
    let can_write = ctx.allows(Permission::Write);
    let deleted = mc_memory::delete_record(&ctx.memory, id, caller.user, can_write).await;
    require_write_unless_own(&api, &caller, &ctx, &deleted)?;
    deleted?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the error for the missing permission if a record is not the caller's own.
fn require_write_unless_own<T>(
    api: &ApiState,
    caller: &Principal,
    ctx: &ProjectContext,
    outcome: &Result<T, mc_memory::Error>,
) -> Result<(), Problem> {
    match outcome {
        Err(mc_memory::Error::NotOwner(_)) => api.require(caller, &ctx.project, Permission::Write),
        _ => Ok(()),
    }
}

/// Authorizes the caller in the project of a record.
pub(super) async fn authorize(
    api: &ApiState,
    caller: &Principal,
    id: RecordId,
    permission: Permission,
) -> Result<ProjectContext, Problem> {
    let ctx = api.authorize_resource(caller, ProjectResource::Record(id), permission).await?;
    ctx.ok_or_else(|| unknown(id))
}

pub(super) fn unknown(id: RecordId) -> Problem {
    Problem::not_found(format!("there is no such record: {id}"))
        .field("id")
        .hint("GET /records lists those of a project")
}
