//! `/projects`: create, list, look at.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
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
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// A project to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "shop", "name": "Shop"}))]
pub struct NewProject {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; kept in lower case.
    #[schema(value_type = schemas::ProjectKey)]
    key: String,
    /// Name for people; the key when absent.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
}

/// A [`NewProject`] as checked.
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

/// A project's key in a path.
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
pub struct Project {
    id: Uuid,
    key: String,
    name: String,
    /// What the caller is in it: viewer, agent, member, maintainer or admin.
    role: &'static str,
    created_at: DateTime<Utc>,
}

/// A project and how much it holds.
#[derive(Debug, Serialize, ToSchema)]
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
    /// Passages that keyword search finds and vector search does not yet; 0 where the project's policy keeps
    /// them from the embedding model.
    pending_vectors: i64,
}

/// Create a project, or find it as it is. A program only finds those on which it has a role: one of its own
/// would be nobody's to administer.
#[utoipa::path(
    post, path = "/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 201, description = "Created", body = Project),
        (status = 200, description = "It was there already", body = Project),
    )
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(new): ValidJson<NewProject>,
) -> Result<(StatusCode, Json<Project>), Problem> {
    caller.require(Scope::Ingest)?;
    if !projects::may_create(&api.store, caller.user).await? {
        let found = projects::find(&api.store, caller.user, &new.key).await?;
        let found = found.ok_or_else(|| for_people(&new.key))?;
        return Ok((StatusCode::OK, Json(found.into())));
    }
    let created = projects::create(&api.store, caller.user, &new.key, &new.name).await;
    let (project, created) = created.map_err(|error| Problem::from(error).field("key"))?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(project.into())))
}

/// The same whether the key is taken or not.
fn for_people(key: &ProjectKey) -> Problem {
    let detail = "a program can't create a project: nobody would administer it";
    Problem::forbidden(detail).field("key").hint(format!(
        "have a person create it (POST /projects {{\"key\": \"{key}\"}}) and give the program a role: \
         PUT /projects/{key}/members/<its login> {{\"role\": \"agent\"}}"
    ))
}

/// List the projects on which the caller has a role.
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

/// See how much a project holds.
#[utoipa::path(
    get, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "The project", body = ProjectOverview))
)]
pub async fn get(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<ProjectOverview>, Problem> {
    let here = entered(&api, &caller, &key, Permission::Read).await?;
    let held = projects::overview(&here.store, here.project.id).await?;
    let queue = here.queue().await?;
    Ok(Json(ProjectOverview::of(here.project, &held, queue)))
}

/// Remove a project and all that belongs to it.
#[utoipa::path(
    delete, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<StatusCode, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::ManageMembers).await?;
    projects::delete(&store, &project).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The project that a path names, where the field is `key`.
pub async fn entered(
    api: &ApiState,
    caller: &Principal,
    key: &ProjectKey,
    action: Permission,
) -> Result<ProjectContext, Problem> {
    api.authorize(caller, key, action).await.map_err(|problem| problem.field("key"))
}

impl From<projects::Project> for Project {
    fn from(project: projects::Project) -> Self {
        Self {
            id: project.id.into(),
            key: project.key,
            name: project.name,
            role: project.role.as_str(),
            created_at: project.created_at,
        }
    }
}

impl ProjectOverview {
    fn of(project: projects::Project, held: &Overview, queue: EmbeddingBacklog) -> Self {
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
            pending_vectors: queue.pending,
        }
    }
}
