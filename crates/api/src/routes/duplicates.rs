//! `/projects/{key}/duplicates`: records that say the same, for a person to decide about.

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
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::rounded;
use mc_contract::operations::record::Record;

/// Records that say the same, in a path.
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

/// How many clusters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClusterQuery {
    /// Only those found after this one: the `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// 1 to 200; 50 when absent.
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

/// Which record stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct MergeDuplicates {
    /// One of the cluster's records; its first when absent.
    keep: Option<Uuid>,
}

impl Validate for MergeDuplicates {
    type Checked = Option<RecordId>;

    fn check(self) -> Result<Option<RecordId>, ValidationError> {
        Ok(self.keep.map(RecordId))
    }
}

/// Records that say the same.
#[derive(Debug, Serialize, ToSchema)]
pub struct DuplicateCluster {
    id: Uuid,
    /// The first is the one that would stay. One that is gone since is left out.
    records: Vec<Record>,
    /// The least share of words that one of them has in common with the first, 0 to 1.
    similarity: f64,
    detected_at: DateTime<Utc>,
}

/// See which records say the same, as the last look found them.
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
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let found = list_open(&here.store, here.project.id, after, limit).await?;
    let next_cursor = pagination::next_cursor(&found, limit, |cluster| cluster.id);
    let ids: Vec<_> =
        found.iter().flat_map(|one| &one.record_ids).map(|member| member.id).collect();
    let records = records::by_ids(&here.store, &ids).await?;
    let mut records: HashMap<_, _> =
        records.into_iter().map(|record| (record.id, record)).collect();
    let clusters = found.iter().map(|cluster| view(cluster, &mut records)).collect();
    Ok(Json(Page::new(clusters, next_cursor)))
}

/// A record is in one cluster that waits, at most.
fn view(cluster: &Cluster, records: &mut HashMap<RecordId, records::Record>) -> DuplicateCluster {
    let members = cluster.record_ids.iter();
    DuplicateCluster {
        id: cluster.id.into(),
        records: members.filter_map(|member| records.remove(&member.id)).map(record).collect(),
        similarity: rounded(cluster.similarity),
        detected_at: cluster.detected_at,
    }
}

/// Have one of the records take the place of the others. It gathers their tags, scopes and citations; each of the
/// others can be rolled back.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/merge", tag = "hygiene", params(ClusterPath),
    request_body = MergeDuplicates,
    responses((status = 200, description = "The record that stays", body = Record))
)]
pub async fn accept(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ClusterPath>,
    ValidJson(keep): ValidJson<MergeDuplicates>,
) -> Result<Json<Record>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Accept).await?;
    let (memory, project) = (&here.memory, here.project.id);
    let kept = duplicates::accept(memory, project, id, keep, caller.name()).await?;
    Ok(Json(record(kept)))
}

/// Say that the records are not the same. They are not put together again unless one of them says something else.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/dismiss", tag = "hygiene", params(ClusterPath),
    responses((status = 204, description = "It does not wait any more"))
)]
pub async fn dismiss(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ClusterPath>,
) -> Result<StatusCode, Problem> {
    let here = entered(&api, &caller, &key, Permission::Accept).await?;
    duplicates::dismiss(&here.memory, here.project.id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
