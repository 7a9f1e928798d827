//! `/teams`, and the members of teams and projects.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_accounts::{members, teams};
use mc_contract::operations::member::{
    CreateTeam, MemberPath, ProjectMembers, SetRole, SharePath, Team, TeamMemberPath, TeamMembers,
    TeamPath,
};
use mc_contract::operations::page::Page;
use mc_contract::operations::project::ProjectPath;
use mc_domain::{Permission, Scope};
use mc_store::members::{self as store, MembershipScope};

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams};
use crate::openapi::Access;
use crate::problem::Problem;

/// Create a team.
///
/// Returns the team, with the caller as its administrator. For service administrators.
#[utoipa::path(
    post, path = "/teams", tag = "accounts", request_body = CreateTeam,
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 201, description = "Created", body = Team))
)]
pub async fn create_team(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateTeam>,
) -> Result<(StatusCode, Json<Team>), Problem> {
    caller.require_service_admin()?;
    let team = teams::create(&api.store, &caller, &request).await?;
    Ok((StatusCode::CREATED, Json(team)))
}

/// List teams.
///
/// Returns the caller's teams by key; for service administrators all teams.
#[utoipa::path(
    get, path = "/teams", tag = "accounts",
    extensions(("x-access" = json!(Access::Scope(Scope::MemoryRead)))),
    responses((status = 200, description = "Sorted by key", body = Page<Team>))
)]
pub async fn list_teams(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Page<Team>>, Problem> {
    caller.require(Scope::MemoryRead)?;
    Ok(Json(Page::new(teams::list(&api.store, &caller).await?, None)))
}

/// Delete a team.
///
/// Its members lose the roles that they had through it. For administrators of the team and of the
/// service.
#[utoipa::path(
    delete, path = "/teams/{team}", tag = "accounts", params(TeamPath),
    extensions(("x-access" = json!(Access::Scope(Scope::Admin)))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_team(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TeamPath { team }): PathParams<TeamPath>,
) -> Result<StatusCode, Problem> {
    teams::delete(&api.store, &caller, team.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the members of a team.
///
/// Returns the users by login, each with the role in the team. For members of the team and service
/// administrators.
#[utoipa::path(
    get, path = "/teams/{team}/members", tag = "accounts", params(TeamPath),
    extensions(("x-access" = json!(Access::Scope(Scope::MemoryRead)))),
    responses((status = 200, description = "Sorted by login", body = TeamMembers))
)]
pub async fn list_team_members(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TeamPath { team }): PathParams<TeamPath>,
) -> Result<Json<TeamMembers>, Problem> {
    caller.require(Scope::MemoryRead)?;
    let users = teams::list_members(&api.store, &caller, team.as_str()).await?;
    Ok(Json(TeamMembers { users }))
}

/// Set a user's role in a team.
///
/// Adds the user to the team, or changes the role. For administrators of the team and of the
/// service.
#[utoipa::path(
    put, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    request_body = SetRole,
    extensions(("x-access" = json!(Access::Scope(Scope::Admin)))),
    responses((status = 204, description = "The role is set"))
)]
pub async fn set_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TeamMemberPath { team, login }): PathParams<TeamMemberPath>,
    JsonBody(SetRole { role }): JsonBody<SetRole>,
) -> Result<StatusCode, Problem> {
    teams::set_member(&api.store, &caller, team.as_str(), login.as_str(), role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user from a team.
///
/// The user loses the roles that the team gave. For administrators of the team and of the service.
#[utoipa::path(
    delete, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    extensions(("x-access" = json!(Access::Scope(Scope::Admin)))),
    responses((status = 204, description = "Removed"))
)]
pub async fn remove_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TeamMemberPath { team, login }): PathParams<TeamMemberPath>,
) -> Result<StatusCode, Problem> {
    teams::remove_member(&api.store, &caller, team.as_str(), login.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users and teams with a role on a project.
///
/// Returns the users with a role of their own and the teams that the project is shared with, by
/// name. Members of those teams are not listed one by one.
#[utoipa::path(
    get, path = "/projects/{key}/members", tag = "projects", params(ProjectPath),
    extensions(("x-access" = json!(Access::Permission(Permission::Read)))),
    responses((status = 200, description = "Sorted by name", body = ProjectMembers))
)]
pub async fn list_members(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<ProjectMembers>, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::Read).await?;
    let users = store::users(&ctx.store, MembershipScope::Project(ctx.project.id)).await?;
    let teams = store::teams_of(&ctx.store, ctx.project.id).await?;
    Ok(Json(ProjectMembers { users, teams }))
}

/// Set a user's role on a project.
///
/// Adds the user to the project, or changes the role. The last administrator keeps the role
/// `admin`. For administrators of the project.
#[utoipa::path(
    put, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    request_body = SetRole,
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 204, description = "The role is set"))
)]
pub async fn set_member(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(MemberPath { key, login }): PathParams<MemberPath>,
    JsonBody(SetRole { role }): JsonBody<SetRole>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    members::set_role(&ctx.store, &ctx.project, login.as_str(), role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user's role on a project.
///
/// Removes the user's own role; a team may still give one. The last administrator stays. For
/// administrators of the project.
#[utoipa::path(
    delete, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 204, description = "Removed; a team may still give the user a role"))
)]
pub async fn remove_member(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(MemberPath { key, login }): PathParams<MemberPath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    members::remove_role(&ctx.store, &ctx.project, login.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Share a project with a team.
///
/// Sets the highest role that the team gives its members; `viewer` shares it read-only. For
/// administrators of the project who may see the team.
#[utoipa::path(
    put, path = "/projects/{key}/teams/{team}", tag = "projects", params(SharePath),
    request_body = SetRole,
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 204, description = "Shared"))
)]
pub async fn grant_team_role(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(SharePath { key, team }): PathParams<SharePath>,
    JsonBody(SetRole { role }): JsonBody<SetRole>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    members::share(&ctx.store, &caller, &ctx.project, team.as_str(), role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop sharing a project with a team.
///
/// The team's members lose the roles that they had through it; roles of their own stay. For
/// administrators of the project.
#[utoipa::path(
    delete, path = "/projects/{key}/teams/{team}", tag = "projects", params(SharePath),
    extensions(("x-access" = json!(Access::Permission(Permission::ManageMembers)))),
    responses((status = 204, description = "No longer shared"))
)]
pub async fn revoke_team_role(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(SharePath { key, team }): PathParams<SharePath>,
) -> Result<StatusCode, Problem> {
    let ctx = api.authorize_path(&caller, &key, Permission::ManageMembers).await?;
    members::unshare(&ctx.store, &caller, &ctx.project, team.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}
