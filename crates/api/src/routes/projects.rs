//! `/projects`: create, list, look at.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::ProjectKey;
use mc_store::Store;
use mc_store::projects::{self, Overview, Project};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::ApiState;
use crate::check::{self, Check, Invalid};
use crate::extract::{ValidJson, ValidPath};
use crate::limits;
use crate::problem::Problem;

/// A project to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "shop", "name": "Shop"}))]
pub struct NewProject {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; kept in lower case.
    key: String,
    /// Name for people; the key when absent.
    name: Option<String>,
}

/// A [`NewProject`] as checked.
#[derive(Debug)]
pub struct CheckedProject {
    key: ProjectKey,
    name: String,
}

impl Check for NewProject {
    type Checked = CheckedProject;

    fn check(self) -> Result<CheckedProject, Invalid> {
        let key = check::project_key("key", &self.key)?;
        let name = check::optional_line("name", self.name, limits::NAME)?;
        let name = name.unwrap_or_else(|| key.to_string());
        Ok(CheckedProject { key, name })
    }
}

/// A project's key in a path.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProjectPath {
    /// The project's key.
    key: String,
}

impl Check for ProjectPath {
    type Checked = ProjectKey;

    fn check(self) -> Result<ProjectKey, Invalid> {
        check::project_key("key", &self.key)
    }
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectView {
    id: Uuid,
    key: String,
    name: String,
    created_at: DateTime<Utc>,
}

/// Every project.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectList {
    projects: Vec<ProjectView>,
}

/// A project and how much it holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectOverview {
    #[serde(flatten)]
    project: ProjectView,
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
    /// Passages that keyword search finds and vector search does not yet.
    pending_vectors: i64,
}

/// Create a project, or find it as it is.
#[utoipa::path(
    post, path = "/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 201, description = "Created", body = ProjectView),
        (status = 200, description = "It was there already", body = ProjectView),
    )
)]
pub async fn create(
    State(api): State<ApiState>,
    ValidJson(new): ValidJson<NewProject>,
) -> Result<(StatusCode, Json<ProjectView>), Problem> {
    let (project, created) = projects::create(&api.store, &new.key, &new.name).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(project.into())))
}

/// List every project.
#[utoipa::path(
    get, path = "/projects", tag = "projects",
    responses((status = 200, description = "By key", body = ProjectList))
)]
pub async fn list(State(api): State<ApiState>) -> Result<Json<ProjectList>, Problem> {
    let projects = projects::list(&api.store).await?;
    Ok(Json(ProjectList { projects: projects.into_iter().map(Into::into).collect() }))
}

/// See how much a project holds.
#[utoipa::path(
    get, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "The project", body = ProjectOverview))
)]
pub async fn show(
    State(api): State<ApiState>,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<ProjectOverview>, Problem> {
    let project = named(&api.store, &key).await.map_err(|problem| problem.field("key"))?;
    let overview = projects::overview(&api.store, project.id).await?;
    Ok(Json(ProjectOverview::of(project, &overview)))
}

/// Remove a project and all that belongs to it.
#[utoipa::path(
    delete, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn remove(
    State(api): State<ApiState>,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<StatusCode, Problem> {
    let project = named(&api.store, &key).await.map_err(|problem| problem.field("key"))?;
    projects::delete(&api.store, project.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The project that a request names by `project_key`.
pub async fn named(store: &Store, key: &ProjectKey) -> Result<Project, Problem> {
    projects::find(store, key).await?.ok_or_else(|| {
        Problem::not_found(format!("there is no project \"{key}\"")).field("project_key").hint(
            format!(
                "create it with POST /projects {{\"key\": \"{key}\"}}, or index a repository into it: \
                 memory-copilot ingest --project {key} <path or URL>"
            ),
        )
    })
}

impl From<Project> for ProjectView {
    fn from(project: Project) -> Self {
        Self {
            id: project.id.into(),
            key: project.key,
            name: project.name,
            created_at: project.created_at,
        }
    }
}

impl ProjectOverview {
    fn of(project: Project, held: &Overview) -> Self {
        Self {
            project: project.into(),
            records: held.records,
            stale_records: held.stale_records,
            docs: held.docs,
            dialogs: held.dialogs,
            tasks: held.tasks,
            repositories: held.repositories,
            files: held.files,
            passages: held.passages,
            pending_vectors: held.pending_vectors,
        }
    }
}
