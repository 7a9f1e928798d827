//! `/projects/{key}/duplicates`: records that say the same, for a person to decide about.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{Action, ClusterId, ProjectKey, RecordId};
use mc_memory::duplicates;
use mc_store::duplicates::{Cluster, waiting};
use mc_store::records::{self, Record};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::page;
use super::projects::{ProjectPath, entered};
use super::records::RecordView;
use crate::ApiState;
use crate::auth::Principal;
use crate::check::{self, Check, Invalid};
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::problem::Problem;
use crate::shapes;
use crate::wire::rounded;

/// Records that say the same, in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ClusterPath {
    /// The project's key.
    #[param(value_type = shapes::ProjectKey, inline)]
    key: String,
    /// The cluster's id.
    id: Uuid,
}

impl Check for ClusterPath {
    type Checked = (ProjectKey, ClusterId);

    fn check(self) -> Result<Self::Checked, Invalid> {
        Ok((check::project_key("key", &self.key)?, ClusterId(self.id)))
    }
}

/// How many clusters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClusterQuery {
    /// Only those found after this one: the `next` of the page before.
    after: Option<Uuid>,
    /// 1 to 200; 50 when absent.
    #[param(value_type = Option<shapes::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Check for ClusterQuery {
    type Checked = (Option<ClusterId>, i64);

    fn check(self) -> Result<Self::Checked, Invalid> {
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        let limit = check::range("limit", limit, &limits::PAGE_LIMIT)?;
        Ok((self.after.map(ClusterId), limit))
    }
}

/// Which record stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub struct MergeEntry {
    /// One of the cluster's records; its first when absent.
    keep: Option<Uuid>,
}

impl Check for MergeEntry {
    type Checked = Option<RecordId>;

    fn check(self) -> Result<Option<RecordId>, Invalid> {
        Ok(self.keep.map(RecordId))
    }
}

/// Records that say the same.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClusterView {
    id: Uuid,
    /// The first is the one that would stay. One that is gone since is left out.
    records: Vec<RecordView>,
    /// The least share of words that one of them has in common with the first, 0 to 1.
    similarity: f64,
    found_at: DateTime<Utc>,
}

/// A page of clusters.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClusterPage {
    clusters: Vec<ClusterView>,
    /// What to send as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Uuid>,
}

/// See which records say the same, as the last look found them.
#[utoipa::path(
    get, path = "/projects/{key}/duplicates", tag = "hygiene", params(ProjectPath, ClusterQuery),
    responses((status = 200, description = "Oldest first", body = ClusterPage))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
    ValidQuery((after, limit)): ValidQuery<ClusterQuery>,
) -> Result<Json<ClusterPage>, Problem> {
    let here = entered(&api, &caller, &key, Action::Read).await?;
    let found = waiting(&here.store, here.project.id, after, limit).await?;
    let next = page::next(&found, limit, |cluster| cluster.id.into());
    let ids: Vec<_> = found.iter().flat_map(|one| &one.members).map(|member| member.id).collect();
    let records = records::by_ids(&here.store, &ids).await?;
    let mut records: HashMap<_, _> =
        records.into_iter().map(|record| (record.id, record)).collect();
    let clusters = found.iter().map(|cluster| view(cluster, &mut records)).collect();
    Ok(Json(ClusterPage { clusters, next }))
}

/// A record is in one cluster that waits, at most.
fn view(cluster: &Cluster, records: &mut HashMap<RecordId, Record>) -> ClusterView {
    let members = cluster.members.iter();
    ClusterView {
        id: cluster.id.into(),
        records: members
            .filter_map(|member| records.remove(&member.id))
            .map(RecordView::from)
            .collect(),
        similarity: rounded(cluster.similarity),
        found_at: cluster.found_at,
    }
}

/// Have one of the records take the place of the others. It gathers their tags, scopes and citations; each of the
/// others can be rolled back.
#[utoipa::path(
    post, path = "/projects/{key}/duplicates/{id}/accept", tag = "hygiene", params(ClusterPath),
    request_body = MergeEntry,
    responses((status = 200, description = "The record that stays", body = RecordView))
)]
pub async fn accept(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, id)): ValidPath<ClusterPath>,
    ValidJson(keep): ValidJson<MergeEntry>,
) -> Result<Json<RecordView>, Problem> {
    let here = entered(&api, &caller, &key, Action::Accept).await?;
    let (memory, project) = (&here.memory, here.project.id);
    let kept = duplicates::accept(memory, project, id, keep, caller.name()).await?;
    Ok(Json(kept.into()))
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
    let here = entered(&api, &caller, &key, Action::Accept).await?;
    duplicates::dismiss(&here.memory, here.project.id, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
