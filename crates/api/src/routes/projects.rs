//! `/projects`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_accounts::projects as use_cases;
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_contract::operations::project::{CreateProject, Project, ProjectOverview, UpdateProject};
use mc_domain::{Permission, Scope};
use mc_store::projects;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams};
use crate::openapi::Access;
use crate::problem::Problem;

/// Create a project, or return the existing one.
///
/// The caller becomes the administrator of a new project. Agents can't create projects: they get
/// those on which they have a role.
#[utoipa::path(
    post, path = "/projects", tag = "projects", request_body = CreateProject,
    extensions(("x-access" = json!(Access::Scope(Scope::Ingest)))),
    responses(
        (status = 201, description = "Created", body = Project),
        (status = 200, description = "The existing project", body = Project),
    )
)]
pub async fn create_project(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateProject>,
) -> Result<(StatusCode, Json<Project>), Problem> {
    caller.require(Scope::Ingest)?;
    let (row, is_new) = use_cases::create(&api.store, &caller, &request).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(project(row))))
}

/// List the projects on which the caller has a role.
///
/// Returns all of them, by key, each with the caller's role. Roles through teams count.
#[utoipa::path(
    get, path = "/projects", tag = "projects",
    extensions(("x-access" = json!(Access::Scope(Scope::MemoryRead)))),
    responses((status = 200, description = "Sorted by key", body = Page<Project>))
)]
pub async fn list_projects(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Page<Project>>, Problem> {
    caller.require(Scope::MemoryRead)?;
    let projects = projects::list(&api.store, caller.user).await?;
    Ok(Json(Page::new(projects.into_iter().map(project).collect(), None)))
}

/// Get a project with the sizes of its data.
///
/// Returns the number of its records, documents, tasks, files and passages, and how many passages
/// still wait for a vector.
#[utoipa::path(
    get, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "The project", body = ProjectOverview))
)]
pub async fn get_project(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<ProjectOverview>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let overview = projects::overview(&ctx.store, ctx.project.id).await?;
    let pending_vectors = ctx.queue().await?.pending;
    Ok(Json(ProjectOverview {
        project: project(ctx.project),
        records: overview.records,
        stale_records: overview.stale_records,
        docs: overview.docs,
        dialogs: overview.dialogs,
        tasks: overview.tasks,
        repositories: overview.repositories,
        files: overview.files,
        passages: overview.passages,
        pending_vectors,
    }))
}

/// Rename a project.
///
/// Returns the project with its new display name. Its key stays, because clients are configured
/// with it. For administrators of the project.
#[utoipa::path(
    patch, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    request_body = UpdateProject,
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 200, description = "The renamed project", body = Project))
)]
pub async fn update_project(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
    JsonBody(request): JsonBody<UpdateProject>,
) -> Result<Json<Project>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    let row = use_cases::rename(&ctx.store, ctx.project, &request).await?;
    Ok(Json(project(row)))
}

/// Delete a project with all its data.
///
/// Deletes everything but the project's audit, at once and permanently. For administrators of the
/// project.
#[utoipa::path(
    delete, path = "/projects/{key}", tag = "projects", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_project(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    projects::delete(&ctx.store, &ctx.project).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn project(row: projects::Project) -> Project {
    Project {
        id: row.id,
        key: row.key.to_string(),
        name: row.name,
        role: row.role,
        created_at: row.created_at,
    }
}
