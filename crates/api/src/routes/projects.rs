//! `/projects`.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_accounts::projects as use_cases;
use mc_domain::{Permission, ProjectKey, Scope};
use mc_store::projects::{self, Overview};
use mc_store::vectors::EmbeddingBacklog;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::ProjectContext;
use crate::extract::{ValidJson, ValidPath};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use mc_contract::limits;

/// A project to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "shop", "name": "Shop"}))]
pub struct NewProject {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; stored in lower case.
    #[schema(value_type = schemas::ProjectKey)]
    key: String,
    /// Display name; the key by default.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
}

/// A validated [`NewProject`].
#[derive(Debug)]
pub struct ValidatedProject {
    key: ProjectKey,
    name: String,
}

impl Validate for NewProject {
    type Checked = ValidatedProject;

    fn check(self) -> Result<ValidatedProject, ValidationError> {
        let key = validate::project_key("key", &self.key)?;
        let name = validate::optional_masked("name", self.name, limits::NAME)?;
        let name = name.unwrap_or_else(|| key.to_string());
        Ok(ValidatedProject { key, name })
    }
}

/// Path parameter: a project.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProjectPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
}

impl Validate for ProjectPath {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, ValidationError> {
        validate::project_key("key", &self.key)
    }
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000012", "key": "shop", "name": "Shop",
    "role": "maintainer", "created_at": "2026-11-20T10:00:00Z"
}))]
pub struct Project {
    id: Uuid,
    key: String,
    name: String,
    /// The caller's role: `viewer`, `agent`, `member`, `maintainer` or `admin`.
    role: &'static str,
    created_at: DateTime<Utc>,
}

/// A project and the sizes of its data.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000012", "key": "shop", "name": "Shop",
    "role": "maintainer", "created_at": "2026-11-20T10:00:00Z", "records": 318,
    "stale_records": 4, "docs": 57, "dialogs": 120, "tasks": 412, "repositories": 2,
    "files": 1840, "passages": 12480, "pending_vectors": 0
}))]
pub struct ProjectOverview {
    #[serde(flatten)]
    project: Project,
    /// Records that can be recalled.
    records: i64,
    /// Records whose cited code changed.
    stale_records: i64,
    docs: i64,
    dialogs: i64,
    tasks: i64,
    repositories: i64,
    files: i64,
    passages: i64,
    /// Passages that keyword search finds and vector search does not yet; 0 if the project's policy
    /// excludes them from the embedding model.
    pending_vectors: i64,
}

/// Create a project, or return the existing one.
///
/// The caller becomes the administrator of a new project. Agents can't create projects: they get
/// those on which they have a role.
#[utoipa::path(
    post, path = "/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 201, description = "Created", body = Project),
        (status = 200, description = "The existing project", body = Project),
    )
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(new): ValidJson<NewProject>,
) -> Result<(StatusCode, Json<Project>), Problem> {
    caller.require(Scope::Ingest)?;
    let (project, is_new) = use_cases::create(&api.store, &caller, &new.key, &new.name).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(project.into())))
}

/// List the projects on which the caller has a role.
///
/// Returns all of them, by key, each with the caller's role. Roles through teams count.
#[utoipa::path(
    get, path = "/projects", tag = "projects",
    responses((status = 200, description = "By key", body = Page<Project>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Page<Project>>, Problem> {
    caller.require(Scope::MemoryRead)?;
    let projects = projects::list(&api.store, caller.user).await?;
    Ok(Json(Page::complete(projects)))
}

/// Get a project with the sizes of its data.
///
/// Returns the number of its records, documents, tasks, files and passages, and how many passages
/// still wait for a vector.
#[utoipa::path(
    get, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "The project", body = ProjectOverview))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<ProjectOverview>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let overview = projects::overview(&ctx.store, ctx.project.id).await?;
    let backlog = ctx.queue().await?;
    Ok(Json(ProjectOverview::of(ctx.project, &overview, backlog)))
}

/// Delete a project with all its data.
///
/// Deletes everything but the project's audit, at once and for good. For administrators of the
/// project.
#[utoipa::path(
    delete, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    projects::delete(&ctx.store, &ctx.project).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Authorizes the caller in a project that is named by its path, where the field is `key`.
pub async fn entered(
    api: &ApiState,
    caller: &Principal,
    key: &ProjectKey,
    permission: Permission,
) -> Result<ProjectContext, Problem> {
    api.authorize(caller, key, permission).await.map_err(|problem| problem.field("key"))
}

impl From<projects::Project> for Project {
    fn from(project: projects::Project) -> Self {
        Self {
            id: project.id.into(),
            key: project.key.to_string(),
            name: project.name,
            role: project.role.as_str(),
            created_at: project.created_at,
        }
    }
}

impl ProjectOverview {
    fn of(project: projects::Project, overview: &Overview, backlog: EmbeddingBacklog) -> Self {
        Self {
            project: project.into(),
            records: overview.records,
            stale_records: overview.stale_records,
            docs: overview.docs,
            dialogs: overview.dialogs,
            tasks: overview.tasks,
            repositories: overview.repositories,
            files: overview.files,
            passages: overview.passages,
            pending_vectors: backlog.pending,
        }
    }
}
