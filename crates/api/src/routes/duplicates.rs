//! `/projects/{key}/duplicates`: clusters of duplicate records, for a person to decide about.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{DuplicateClusterId, Permission, ProjectKey, RecordId};
use mc_memory::duplicates;
use mc_store::duplicates::{Cluster, list_open};
use mc_store::records;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::{self, Page};
use super::projects::{ProjectPath, entered};
use super::records::record;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::rounded;
use mc_contract::limits;
use mc_contract::operations::record::Record;

/// Path parameters: a cluster.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ClusterPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The cluster's id.
    id: Uuid,
}

impl Validate for ClusterPath {
    type Checked = (ProjectKey, DuplicateClusterId);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        Ok((validate::project_key("key", &self.key)?, DuplicateClusterId(self.id)))
    }
}

/// Query of a list of clusters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClusterQuery {
    /// The `next_cursor` of the previous page.
    cursor: Option<Uuid>,
    /// Maximum number of items, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for ClusterQuery {
    type Checked = (Option<DuplicateClusterId>, i64);

    fn check(self) -> Result<Self::Checked, ValidationError> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        let limit = validate::range("limit", limit, &limits::PAGE_LIMIT)?;
        Ok((self.cursor.map(DuplicateClusterId), limit))
    }
}

/// The record to keep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct MergeDuplicates {
    /// One of the cluster's records; its first by default.
    keep: Option<Uuid>,
}

impl Validate for MergeDuplicates {
    type Checked = Option<RecordId>;

    fn check(self) -> Result<Option<RecordId>, ValidationError> {
        Ok(self.keep.map(RecordId))
    }
}

/// A cluster of duplicate records.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000013",
    "records": [{
        "id": "019a0000-0000-7000-8000-000000000002", "kind": "fact",
        "title": "Units must match",
        "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
        "scope": ["cart_sessions"], "tags": ["unit"], "state": "active",
        "visibility": "team", "trust": "team", "owner": "vera", "ttl": "2027-06-01T00:00:00Z",
        "is_ttl_explicit": true, "quality": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
        "meta": {"patch_sha": "abc123"}, "task_external_id": "CS-214", "dialog_id": null,
        "superseded_by": null, "version": 2, "recall_count": 5, "use_count": 3,
        "ci_status": "passed", "created_at": "2026-11-19T10:00:00Z",
        "updated_at": "2026-11-20T10:00:00Z"
    }],
    "similarity": 0.92, "detected_at": "2026-11-20T03:00:00Z"
}))]
pub struct DuplicateCluster {
    id: Uuid,
    /// The first is kept by default. Deleted ones are left out.
    records: Vec<Record>,
    /// The smallest share of words that a record has in common with the first, 0 to 1.
    similarity: f64,
    detected_at: DateTime<Utc>,
}

/// List the duplicate clusters that wait for a decision.
///
/// Returns a page of the clusters that the last hygiene run found, oldest first, each with its
/// records.
#[utoipa::path(
    get, path = "/projects/{key}/duplicates", tag = "hygiene", params(ProjectPath, ClusterQuery),
    responses((status = 200, description = "Oldest first", body = Page<DuplicateCluster>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((after, limit)): ValidQuery<ClusterQuery>,
) -> Result<Json<Page<DuplicateCluster>>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let found = list_open(&ctx.store, ctx.project.id, after, limit).await?;
    let next_cursor = pagination::next_cursor(&found, limit, |cluster| cluster.id);
    let ids: Vec<_> =
        found.iter().flat_map(|one| &one.record_ids).map(|member| member.id).collect();
    let records = records::by_ids(&ctx.store, &ids).await?;
    let mut records: HashMap<_, _> =
        records.into_iter().map(|record| (record.id, record)).collect();
    let clusters = found.iter().map(|cluster| view(cluster, &mut records)).collect();
    Ok(Json(Page::new(clusters, next_cursor)))
}

/// Builds a cluster of its records, each of which is in one pending cluster at most.
fn view(cluster: &Cluster, records: &mut HashMap<RecordId, records::Record>) -> DuplicateCluster {
    let members = cluster.record_ids.iter();
    DuplicateCluster {
        id: cluster.id.into(),
        records: members.filter_map(|member| records.remove(&member.id)).map(record).collect(),
        similarity: rounded(cluster.similarity),
        detected_at: cluster.detected_at,
    }
}

/// Merge the records of a cluster into one.
///
/// Returns the record that is kept, with the tags, scopes and citations of all. The others are
/// superseded; each of them can be rolled back.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/merge", tag = "hygiene", params(ClusterPath),
    request_body = MergeDuplicates,
    responses((status = 200, description = "The record that is kept", body = Record))
)]
pub async fn accept(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ClusterPath>,
    ValidJson(keep): ValidJson<MergeDuplicates>,
) -> Result<Json<Record>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Accept).await?;
    let (memory, project) = (&ctx.memory, ctx.project.id);
    let kept = duplicates::accept(memory, project, id, keep, caller.name()).await?;
    Ok(Json(record(kept)))
}

/// Dismiss a cluster.
///
/// Leaves its records as they are. They form no cluster again unless the content of one changes.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/dismiss", tag = "hygiene", params(ClusterPath),
    responses((status = 204, description = "Dismissed"))
)]
pub async fn dismiss(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ClusterPath>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Accept).await?;
    duplicates::dismiss(&ctx.memory, ctx.project.id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
