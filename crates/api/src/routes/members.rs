//! `/teams`, and the members of teams and projects: who has which role.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, Permission, ProjectKey, Role, Scope};
use mc_store::audit::{self, NewEvent};
use mc_store::members::{self, Grantee, MembershipScope};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::projects::{ProjectPath, entered};
use super::users;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::{ProjectContext, commit};
use crate::extract::{ValidJson, ValidPath};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// A team to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"key": "platform", "name": "Platform"}))]
pub struct CreateTeam {
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit; kept in lower case.
    #[schema(value_type = schemas::TeamKey)]
    key: String,
    /// Name for people; the key when absent.
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

/// A role to give.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "member"}))]
pub struct SetRole {
    /// `viewer`, `agent`, `member`, `maintainer` or `admin`; for a team the highest that its members
    /// have by it.
    #[schema(value_type = schemas::MemberRole)]
    role: String,
}

impl Validate for SetRole {
    type Checked = Role;

    fn check(self) -> Result<Role, ValidationError> {
        self.role.parse().map_err(|error| ValidationError::new("role", error))
    }
}

/// A team in a path.
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

/// A member of a team in a path.
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

/// A member of a project in a path.
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

/// A team that a project is shared with, in a path.
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
pub struct Team {
    id: Uuid,
    key: String,
    name: String,
    created_at: DateTime<Utc>,
}

/// Someone, or a team, with a role.
#[derive(Debug, Serialize, ToSchema)]
pub struct Member {
    /// A user's login or a team's key.
    name: String,
    /// Of a team the highest that its members have by it.
    role: &'static str,
    added_at: DateTime<Utc>,
}

/// Who is in a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct TeamMembers {
    users: Vec<Member>,
}

/// Who has a role on a project.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectMembers {
    /// By themselves.
    users: Vec<Member>,
    /// As members of a team.
    teams: Vec<Member>,
}

/// Add a team, which the caller then administers. For administrators of the service.
#[utoipa::path(
    post, path = "/teams", tag = "accounts", request_body = CreateTeam,
    responses((status = 201, description = "Added", body = Team))
)]
pub async fn create_team(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson((key, name)): ValidJson<CreateTeam>,
) -> Result<(StatusCode, Json<Team>), Problem> {
    caller.require_administrator()?;
    let mut tx = api.store.begin().await?;
    let team = members::create_team(&mut tx, &key, &name, caller.user).await;
    let team = team.map_err(|error| Problem::from(error).field("key"))?;
    let event =
        NewEvent::new(AuditAction::TeamChanged, &team.key).with(json!({ "change": "added" }));
    commit(tx, &caller, event).await?;
    Ok((StatusCode::CREATED, Json(team.into())))
}

/// List the teams that the caller is in; for administrators of the service, all.
#[utoipa::path(
    get, path = "/teams", tag = "accounts",
    responses((status = 200, description = "By key", body = Page<Team>))
)]
pub async fn list_teams(
    State(api): State<ApiState>,
    caller: Principal,
) -> Result<Json<Page<Team>>, Problem> {
    caller.require(Scope::MemoryRead)?;
    let teams = members::teams(&api.store, caller.user, caller.administers()).await?;
    Ok(Json(Page::complete(teams)))
}

/// Remove a team; its members lose the roles that they had by it.
#[utoipa::path(
    delete, path = "/teams/{team}", tag = "accounts", params(TeamPath),
    responses((status = 204, description = "Removed"))
)]
pub async fn remove_team(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<TeamPath>,
) -> Result<StatusCode, Problem> {
    let team = administered(&api, &caller, &key).await?;
    let mut tx = api.store.begin().await?;
    members::delete_team(&mut tx, team.id).await?;
    let event = NewEvent::new(AuditAction::TeamChanged, key).with(json!({ "change": "deleted" }));
    commit(tx, &caller, event).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// See who is in a team.
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
    let (team, _) = seen(&api, &caller, &key).await?;
    let users = members::users(&api.store, MembershipScope::Team(team.id)).await?;
    Ok(Json(TeamMembers { users: users.into_iter().map(Into::into).collect() }))
}

/// Give someone a role in a team.
#[utoipa::path(
    put, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    request_body = SetRole, responses((status = 204, description = "Given"))
)]
pub async fn set_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<TeamMemberPath>,
    ValidJson(role): ValidJson<SetRole>,
) -> Result<StatusCode, Problem> {
    let team = administered(&api, &caller, &key).await?;
    let user = users::named(&api.store, &login).await?;
    let mut tx = api.store.begin().await?;
    members::set(&mut tx, MembershipScope::Team(team.id), Grantee::User(user.id), role).await?;
    let event = NewEvent::new(AuditAction::TeamChanged, key).with(given(&user.login, role));
    commit(tx, &caller, event).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take someone out of a team.
#[utoipa::path(
    delete, path = "/teams/{team}/members/{login}", tag = "accounts", params(TeamMemberPath),
    responses((status = 204, description = "No longer in it"))
)]
pub async fn remove_team_member(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<TeamMemberPath>,
) -> Result<StatusCode, Problem> {
    let team = administered(&api, &caller, &key).await?;
    let user = users::named(&api.store, &login).await?;
    let mut tx = api.store.begin().await?;
    let removed =
        members::remove(&mut tx, MembershipScope::Team(team.id), Grantee::User(user.id)).await?;
    if removed {
        let event = NewEvent::new(AuditAction::TeamChanged, key).with(taken(&user.login));
        commit(tx, &caller, event).await?;
    }
    gone(removed, "login", &login)
}

/// See who has a role on a project.
#[utoipa::path(
    get, path = "/projects/{key}/members", tag = "projects", params(ProjectPath),
    responses((status = 200, description = "By name", body = ProjectMembers))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(key): ValidPath<ProjectPath>,
) -> Result<Json<ProjectMembers>, Problem> {
    let ProjectContext { project, store, .. } =
        entered(&api, &caller, &key, Permission::Read).await?;
    let users = members::users(&store, MembershipScope::Project(project.id)).await?;
    let teams = members::teams_of(&store, project.id).await?;
    Ok(Json(ProjectMembers {
        users: users.into_iter().map(Into::into).collect(),
        teams: teams.into_iter().map(Into::into).collect(),
    }))
}

/// Give someone a role on a project.
#[utoipa::path(
    put, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    request_body = SetRole, responses((status = 204, description = "Given"))
)]
pub async fn set(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<MemberPath>,
    ValidJson(role): ValidJson<SetRole>,
) -> Result<StatusCode, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    let user = users::named(&api.store, &login).await?;
    let event = NewEvent::new(AuditAction::MemberChanged, key).with(given(&user.login, role));
    give(&here, Grantee::User(user.id), role, event).await
}

/// Take someone's role on a project away.
#[utoipa::path(
    delete, path = "/projects/{key}/members/{login}", tag = "projects", params(MemberPath),
    responses((status = 204, description = "Taken; a team may still give one"))
)]
pub async fn delete(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, login)): ValidPath<MemberPath>,
) -> Result<StatusCode, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    let user = users::named(&api.store, &login).await?;
    let event = NewEvent::new(AuditAction::MemberChanged, key).with(taken(&user.login));
    let removed = take(&here, Grantee::User(user.id), event).await?;
    gone(removed, "login", &login)
}

/// Share a project with a team; with `viewer` read-only.
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
    let here = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    let team = seen(&api, &caller, &team).await?.0;
    let detail = given(&format!("team {}", team.key), role);
    let event = NewEvent::new(AuditAction::MemberChanged, key).with(detail);
    give(&here, Grantee::Team(team.id), role, event).await
}

/// End the sharing of a project with a team.
#[utoipa::path(
    delete, path = "/projects/{key}/teams/{team}", tag = "projects", params(SharePath),
    responses((status = 204, description = "No longer shared"))
)]
pub async fn unshare(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath((key, team)): ValidPath<SharePath>,
) -> Result<StatusCode, Problem> {
    let here = entered(&api, &caller, &key, Permission::ManageMembers).await?;
    let (of, role) = existing(&api, &caller, &team).await?;
    let event = NewEvent::new(AuditAction::MemberChanged, key).with(taken(&format!("team {team}")));
    let removed = take(&here, Grantee::Team(of.id), event).await?;
    // A project is taken back from a team that has left; of others not even that they are there is told.
    if !removed && role.is_none() && !caller.administers() {
        return Err(no_team(&team));
    }
    gone(removed, "team", &team)
}

/// The team with this key, and the caller's role in it.
async fn existing(
    api: &ApiState,
    caller: &Principal,
    key: &str,
) -> Result<(members::Team, Option<Role>), Problem> {
    members::find_team(&api.store, key, caller.user).await?.ok_or_else(|| no_team(key))
}

/// A team that the caller is in, or that an administrator of the service looks at.
async fn seen(
    api: &ApiState,
    caller: &Principal,
    key: &str,
) -> Result<(members::Team, Option<Role>), Problem> {
    let (team, role) = existing(api, caller, key).await?;
    if role.is_none() && !caller.administers() {
        return Err(no_team(key));
    }
    Ok((team, role))
}

/// A team that the caller may change.
async fn administered(
    api: &ApiState,
    caller: &Principal,
    key: &str,
) -> Result<members::Team, Problem> {
    caller.require(Scope::Admin)?;
    let (team, role) = seen(api, caller, key).await?;
    if role < Some(Role::Admin) && !caller.administers() {
        let detail = format!("only an administrator of the team \"{key}\" may do this");
        return Err(Problem::forbidden(detail));
    }
    Ok(team)
}

/// Gives a role on the project; its audit has it, or it did not happen.
async fn give(
    here: &ProjectContext,
    who: Grantee,
    role: Role,
    event: NewEvent,
) -> Result<StatusCode, Problem> {
    let mut tx = here.store.begin().await?;
    members::set(&mut tx, MembershipScope::Project(here.project.id), who, role).await?;
    audit::record(&mut tx, event);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a role on the project away, in the same way; `false` where there was none.
async fn take(here: &ProjectContext, who: Grantee, event: NewEvent) -> Result<bool, Problem> {
    let mut tx = here.store.begin().await?;
    let removed = members::remove(&mut tx, MembershipScope::Project(here.project.id), who).await?;
    if removed {
        audit::record(&mut tx, event);
        tx.commit().await?;
    }
    Ok(removed)
}

fn no_team(key: &str) -> Problem {
    Problem::not_found(format!("there is no team \"{key}\", or it is not yours to see"))
        .field("team")
        .hint("GET /teams lists those that you are in")
}

/// Of an event: who was given which role.
fn given(who: &str, role: Role) -> Value {
    json!({ "who": who, "role": role })
}

/// Of an event: who lost theirs.
fn taken(who: &str) -> Value {
    json!({ "who": who, "role": null })
}

fn gone(removed: bool, field: &str, name: &str) -> Result<StatusCode, Problem> {
    if removed {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::not_found(format!("\"{name}\" had no role here")).field(field))
}

impl From<members::Team> for Team {
    fn from(team: members::Team) -> Self {
        Self { id: team.id.into(), key: team.key, name: team.name, created_at: team.created_at }
    }
}

impl From<members::Member> for Member {
    fn from(member: members::Member) -> Self {
        Self { name: member.name, role: member.role.as_str(), added_at: member.added_at }
    }
}
