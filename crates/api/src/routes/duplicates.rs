//! `/projects/{key}/duplicates`: clusters of duplicate records, for a person to decide about.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_contract::operations::duplicate::{
    ClusterPath, ClusterQuery, DuplicateCluster, MergeDuplicates,
};
use mc_contract::operations::page::{Page, next_cursor};
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::record::Record;
use mc_domain::{Permission, RecordId};
use mc_memory::bundle::rounded;
use mc_memory::duplicates;
use mc_store::duplicates::{Cluster, list_open};
use mc_store::records;

use super::records::record;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// List the duplicate clusters that wait for a decision.
///
/// Returns a page of the clusters that the last run of the task `duplicates` found, oldest first,
/// each with its records.
#[utoipa::path(
    get, path = "/projects/{key}/duplicates", tag = "hygiene", params(ProjectPath, ClusterQuery),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Oldest first", body = Page<DuplicateCluster>))
)]
pub async fn list_duplicates(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    QueryString(query): QueryString<ClusterQuery>,
) -> Result<Json<Page<DuplicateCluster>>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let limit = query.limit.unwrap_or_default().get();
    let found = list_open(&ctx.store, ctx.project.id, query.cursor, limit).await?;
    let next_cursor = next_cursor(&found, limit, |cluster| cluster.id);
    let members = found.iter().flat_map(|cluster| &cluster.record_ids);
    let ids: Vec<_> = members.map(|member| member.id).collect();
    let records = records::by_ids(&ctx.store, &ids).await?;
    let mut records: HashMap<_, _> =
        records.into_iter().map(|record| (record.id, record)).collect();
    let clusters = found.iter().map(|cluster| view(cluster, &mut records)).collect();
    Ok(Json(Page::new(clusters, next_cursor)))
}

/// Moves the records of a cluster out of `records`: a record is in one pending cluster at most.
fn view(cluster: &Cluster, records: &mut HashMap<RecordId, records::Record>) -> DuplicateCluster {
    let members = cluster.record_ids.iter();
    DuplicateCluster {
        id: cluster.id,
        records: members.filter_map(|member| records.remove(&member.id)).map(record).collect(),
        similarity: rounded(cluster.similarity),
        detected_at: cluster.detected_at,
    }
}

/// Merge the records of a cluster into one.
///
/// Returns the record that is kept, with the tags, scopes and citations of all, up to the limits.
/// The others are superseded; each can be restored by a rollback.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/merge", tag = "hygiene", params(ClusterPath),
    request_body = MergeDuplicates,
    extensions(("x-access" = json!(Access::Permission(Permission::Accept)))),
    responses((status = 200, description = "The merged record", body = Record))
)]
pub async fn merge_duplicates(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ClusterPath { key, id }): PathParams<ClusterPath>,
    JsonBody(MergeDuplicates { keep }): JsonBody<MergeDuplicates>,
) -> Result<Json<Record>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Accept).await?;
    let (memory, project) = (&ctx.memory, ctx.project.id);
    let kept = duplicates::accept(memory, project, id, keep, caller.name()).await?;
    Ok(Json(record(kept)))
}

/// Dismiss a cluster.
///
/// Leaves its records as they are. They form no cluster again unless the content of one changes.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/dismiss", tag = "hygiene", params(ClusterPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Accept)))),
    responses((status = 204, description = "Dismissed"))
)]
pub async fn dismiss_duplicates(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ClusterPath { key, id }): PathParams<ClusterPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Accept).await?;
    duplicates::dismiss(&ctx.memory, ctx.project.id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
