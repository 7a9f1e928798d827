//! `/teams`, and the members of teams and projects.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_accounts::{members, teams};
use mc_contract::operations::project::ProjectPath;
use mc_domain::{Permission, ProjectKey, Role, Scope};
use mc_store::members::{self as store, MembershipScope};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::entered;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{PathParams, ValidJson, ValidPath};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use mc_contract::limits;

/// A team to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "platform", "name": "Platform"}))]
pub struct CreateTeam {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; stored in lower case.
    #[schema(value_type = schemas::TeamKey)]
    key: String,
    /// Display name; the key by default.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
}

impl Validate for CreateTeam {
    type Checked = (String, String);

    fn check(self) -> Result<(String, String), ValidationError> {
        let key = validate::team_key("key", &self.key)?;
        let name = validate::optional_masked("name", self.name, limits::NAME)?;
        Ok((key.clone(), name.unwrap_or(key)))
    }
}

/// The role of a user or team.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "member"}))]
pub struct SetRole {
    /// `viewer`, `agent`, `member`, `maintainer` or `admin`. For a team it is the highest role that
    /// the team gives its members.
    #[schema(value_type = schemas::MemberRole)]
    role: String,
}

impl Validate for SetRole {
    type Checked = Role;

    fn check(self) -> Result<Role, ValidationError> {
        self.role.parse().map_err(|error| ValidationError::new("role", error))
    }
}

/// Path parameter: a team.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TeamPath {
    /// The team's key.
    #[param(value_type = schemas::TeamKey, inline)]
    team: String,
}

impl Validate for TeamPath {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::team_key("team", &self.team)
    }
}

/// Path parameters: a member of a team.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TeamMemberPath {
    /// The team's key.
    #[param(value_type = schemas::TeamKey, inline)]
    team: String,
    /// The user's login.
    #[param(value_type = schemas::Login, inline)]
    login: String,
}

impl Validate for TeamMemberPath {
    type Checked = (String, String);

    fn check(self) -> Result<(String, String), ValidationError> {
        Ok((validate::team_key("team", &self.team)?, validate::login("login", &self.login)?))
    }
}

/// Path parameters: a member of a project.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The user's login.
    #[param(value_type = schemas::Login, inline)]
    login: String,
}

impl Validate for MemberPath {
    type Checked = (ProjectKey, String);

    fn check(self) -> Result<(ProjectKey, String), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, validate::login("login", &self.login)?))
    }
}

/// Path parameters: a team that a project is shared with.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SharePath {
    /// The project's key.
    #[param(value_type = schemas::ProjectKey, inline)]
    key: String,
    /// The team's key.
    #[param(value_type = schemas::TeamKey, inline)]
    team: String,
}

impl Validate for SharePath {
    type Checked = (ProjectKey, String);

    fn check(self) -> Result<(ProjectKey, String), ValidationError> {
        Ok((validate::project_key("key", &self.key)?, validate::team_key("team", &self.team)?))
    }
}

/// A team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000017", "key": "platform", "name": "Platform",
    "created_at": "2026-11-20T10:00:00Z"
}))]
pub struct Team {
    id: Uuid,
    key: String,
    name: String,
    created_at: DateTime<Utc>,
}

/// A user or team with its role.
#[derive(Debug, Serialize, ToSchema)]
pub struct Member {
    /// A user's login or a team's key.
    name: String,
    /// The role; of a team the highest that it gives its members.
    role: &'static str,
    added_at: DateTime<Utc>,
}

/// The members of a team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "users": [{"name": "vera", "role": "maintainer", "added_at": "2026-11-20T10:00:00Z"}]
}))]
pub struct TeamMembers {
    users: Vec<Member>,
}

/// The members of a project.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "users": [{"name": "vera", "role": "maintainer", "added_at": "2026-11-20T10:00:00Z"}],
    "teams": [{"name": "platform", "role": "member", "added_at": "2026-11-20T10:00:00Z"}]
}))]
pub struct ProjectMembers {
    /// Users with a role of their own.
    users: Vec<Member>,
    /// Teams that give their members a role.
    teams: Vec<Member>,
}

/// Create a team.
///
/// Returns the team, with the caller as its administrator. For service administrators.
#[utoipa::path(
    post, path = "/teams", tag = "accounts", request_body = CreateTeam,
    responses((status = 201, description = "Created", body = Team))
)]
pub async fn create_team(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson((key, name)): ValidJson<CreateTeam>,
) -> Result<(StatusCode, Json<Team>), Problem> {
    caller.require_service_admin()?;
    let team = teams::create(&api.store, &caller, &key, &name).await?;
    Ok((StatusCode::CREATED, Json(team.into())))
}

/// List teams.
///
/// Returns the caller's teams by key; for service administrators all teams.
#[utoipa::path(
    get, path = "/teams", tag = "accounts",
    responses((status = 200, description = "By key", body = Page<Team>))
)]
pub async fn list_teams(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Page<Team>>, Problem> {
    caller.require(Scope::MemoryRead)?;
    Ok(Json(Page::complete(teams::list(&api.store, &caller).await?)))
}

/// Delete a team.
///
/// Its members lose the roles that they had through it. For administrators of the team and of the
/// service.
#[utoipa::path(
    delete, path = "/teams/{team}", tag = "accounts", params(TeamPath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn remove_team(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<TeamPath>,
) -> Result<StatusCode, Problem> {
    teams::delete(&api.store, &caller, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the members of a team.
///
/// Returns the users by login, each with the role in the team. For members of the team and service
/// administrators.
#[utoipa::path(
    get, path = "/teams/{team}/members", tag = "accounts", params(TeamPath),
    responses((status = 200, description = "By login", body = TeamMembers))
)]
pub async fn list_team_members(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<TeamPath>,
) -> Result<Json<TeamMembers>, Problem> {
    caller.require(Scope::MemoryRead)?;
    let users = teams::list_members(&api.store, &caller, &key).await?;
    Ok(Json(TeamMembers { users: users.into_iter().map(Into::into).collect() }))
}

/// Set a user's role in a team.
///
/// Adds the user to the team, or changes the role. For administrators of the team and of the
/// service.
#[utoipa::path(
    put, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    request_body = SetRole, responses((status = 204, description = "Set"))
)]
pub async fn set_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<TeamMemberPath>,
    ValidJson(role): ValidJson<SetRole>,
) -> Result<StatusCode, Problem> {
    teams::set_member(&api.store, &caller, &key, &login, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user from a team.
///
/// The user loses the roles that the team gave. For administrators of the team and of the service.
#[utoipa::path(
    delete, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn remove_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<TeamMemberPath>,
) -> Result<StatusCode, Problem> {
    teams::remove_member(&api.store, &caller, &key, &login).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users and teams with a role on a project.
///
/// Returns the users with a role of their own and the teams that the project is shared with, by
/// name. Members of those teams are not listed one by one.
#[utoipa::path(
    get, path = "/projects/{key}/members", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "By name", body = ProjectMembers))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProjectPath { key }): PathParams<ProjectPath>,
) -> Result<Json<ProjectMembers>, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::Read).await?;
    let users = store::users(&ctx.store, MembershipScope::Project(ctx.project.id)).await?;
    let teams = store::teams_of(&ctx.store, ctx.project.id).await?;
    Ok(Json(ProjectMembers {
        users: users.into_iter().map(Into::into).collect(),
        teams: teams.into_iter().map(Into::into).collect(),
    }))
}

/// Set a user's role on a project.
///
/// Adds the user to the project, or changes the role. The last administrator keeps the role
/// `admin`. For administrators of the project.
#[utoipa::path(
    put, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    request_body = SetRole, responses((status = 204, description = "Set"))
)]
pub async fn set(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<MemberPath>,
    ValidJson(role): ValidJson<SetRole>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    members::set_role(&ctx.store, &ctx.project, &login, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user's role on a project.
///
/// Removes the user's own role; a team may still give one. The last administrator stays. For
/// administrators of the project.
#[utoipa::path(
    delete, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    responses((status = 204, description = "Removed; a team may still give the user a role"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<MemberPath>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    members::remove_role(&ctx.store, &ctx.project, &login).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Share a project with a team.
///
/// Sets the highest role that the team gives its members; `viewer` shares it read-only. For
/// administrators of the project who may see the team.
#[utoipa::path(
    put, path = "/projects/{key}/teams/{team}", tag = "projects", params(SharePath),
    request_body = SetRole, responses((status = 204, description = "Shared"))
)]
pub async fn share(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, team)): ValidPath<SharePath>,
    ValidJson(role): ValidJson<SetRole>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    members::share(&ctx.store, &caller, &ctx.project, &team, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop sharing a project with a team.
///
/// The team's members lose the roles that they had through it; roles of their own stay. For
/// administrators of the project.
#[utoipa::path(
    delete, path = "/projects/{key}/teams/{team}", tag = "projects", params(SharePath),
    responses((status = 204, description = "No longer shared"))
)]
pub async fn unshare(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, team)): ValidPath<SharePath>,
) -> Result<StatusCode, Problem> {
    let ctx = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    members::unshare(&ctx.store, &caller, &ctx.project, &team).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<store::Team> for Team {
    fn from(team: store::Team) -> Self {
        Self { id: team.id.into(), key: team.key, name: team.name, created_at: team.created_at }
    }
}

impl From<store::Member> for Member {
    fn from(member: store::Member) -> Self {
        Self { name: member.name, role: member.role.as_str(), added_at: member.added_at }
    }
}
