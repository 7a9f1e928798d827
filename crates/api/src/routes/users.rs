//! `/users` and `/whoami`: the users of the service.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_accounts::users;
use mc_domain::Scope;
use mc_store::accounts;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use mc_contract::limits;

/// A user to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"login": "ann", "name": "Ann Example", "email": "ann@example.com"}))]
pub struct CreateUser {
    /// 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit. It is unique
    /// regardless of case.
    #[schema(value_type = schemas::Login)]
    login: String,
    /// Display name.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
    /// Email address. A first sign-in with it finds this account.
    #[schema(value_type = Option<schemas::Email>)]
    email: Option<String>,
    /// Whether it is a program that acts by itself. It proposes, and confirms nothing.
    #[serde(default)]
    is_agent: bool,
    /// Whether it administers the service. No agent does.
    #[serde(default)]
    is_admin: bool,
}

impl Validate for CreateUser {
    type Checked = users::CreateUser;

    fn check(self) -> Result<users::CreateUser, ValidationError> {
        if self.is_agent && self.is_admin {
            return Err(ValidationError::new("is_admin", "can't be set for an agent"));
        }
        Ok(users::CreateUser {
            login: validate::login("login", &self.login)?,
            name: validate::optional_masked("name", self.name, limits::NAME)?.unwrap_or_default(),
            email: validate::optional_line("email", self.email, limits::EMAIL)?,
            is_agent: self.is_agent,
            is_admin: self.is_admin,
        })
    }
}

/// Changes of a user. Fields that are absent keep their value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"is_disabled": true}))]
pub struct UpdateUser {
    /// Display name.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
    /// Whether the user administers the service.
    is_admin: Option<bool>,
    /// Whether the account is disabled.
    is_disabled: Option<bool>,
}

impl Validate for UpdateUser {
    type Checked = users::UpdateUser;

    fn check(self) -> Result<users::UpdateUser, ValidationError> {
        Ok(users::UpdateUser {
            name: validate::optional_masked("name", self.name, limits::NAME)?,
            is_admin: self.is_admin,
            is_disabled: self.is_disabled,
        })
    }
}

/// Path parameter: a user.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    /// The user's login.
    #[param(value_type = schemas::Login, inline)]
    login: String,
}

impl Validate for UserPath {
    type Checked = String;

    fn check(self) -> Result<String, ValidationError> {
        validate::login("login", &self.login)
    }
}

/// Query of a list of users.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<schemas::Login>, inline)]
    cursor: Option<String>,
    /// Maximum number of users, 1 to 200; 50 by default.
    #[param(value_type = Option<schemas::PageLimit>, inline)]
    limit: Option<i64>,
}

impl Validate for UserQuery {
    type Checked = (String, i64);

    fn check(self) -> Result<(String, i64), ValidationError> {
        let after = validate::optional("cursor", self.cursor, |field, login| {
            validate::login(field, &login)
        })?;
        let limit = self.limit.unwrap_or(limits::DEFAULT_PAGE_LIMIT);
        Ok((after.unwrap_or_default(), validate::range("limit", limit, &limits::PAGE_LIMIT)?))
    }
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000010", "login": "vera", "name": "Vera Example",
    "email": "vera@example.com", "is_agent": false, "is_admin": false,
    "created_at": "2026-11-20T10:00:00Z", "disabled_at": null
}))]
pub struct User {
    id: Uuid,
    login: String,
    name: String,
    email: Option<String>,
    is_agent: bool,
    is_admin: bool,
    created_at: DateTime<Utc>,
    /// When the account was disabled.
    disabled_at: Option<DateTime<Utc>>,
}

/// The user of the token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000010", "login": "vera", "is_admin": false,
    "scopes": ["memory:read", "memory:write"]
}))]
pub struct CurrentUser {
    id: Uuid,
    login: String,
    /// Whether the user administers the service.
    is_admin: bool,
    /// Scopes of the token.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
}

/// Show the user and the scopes of the token.
///
/// Returns the login, whether the user administers the service, and what the token may be used for.
#[utoipa::path(
    get, path = "/whoami", tag = "accounts",
    responses((status = 200, description = "The caller", body = CurrentUser))
)]
pub async fn whoami(caller: Principal) -> Json<CurrentUser> {
    Json(CurrentUser {
        id: caller.user.into(),
        login: caller.name().to_owned(),
        is_admin: caller.is_admin,
        scopes: caller.scopes().iter().map(Scope::as_str).collect(),
    })
}

/// Create a user.
///
/// Returns the user, who has no role on any project yet. A first sign-in with the email address
/// finds this account. For service administrators.
#[utoipa::path(
    post, path = "/users", tag = "accounts", request_body = CreateUser,
    responses((status = 201, description = "Created", body = User))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<CreateUser>,
) -> Result<(StatusCode, Json<User>), Problem> {
    caller.require_service_admin()?;
    let user = users::create(&api.store, &caller, &request).await?;
    Ok((StatusCode::CREATED, Json(user.into())))
}

/// List users.
///
/// Returns a page of the users, by login, also of disabled ones. For service administrators.
#[utoipa::path(
    get, path = "/users", tag = "accounts", params(UserQuery),
    responses((status = 200, description = "A page, by login", body = Page<User>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((after, limit)): ValidQuery<UserQuery>,
) -> Result<Json<Page<User>>, Problem> {
    caller.require_service_admin()?;
    let users = accounts::list(&api.store, &after, limit).await?;
    Ok(Json(Page::of(users, limit, |user| user.login.clone())))
}

/// Update or disable a user. For service administrators.
///
/// A disabled account has no access at all. Its sessions are revoked for good; its personal access
/// tokens work again once it is enabled.
#[utoipa::path(
    patch, path = "/users/{login}", tag = "accounts", params(UserPath), request_body = UpdateUser,
    responses((status = 200, description = "The updated user", body = User))
)]
pub async fn update(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(login): ValidPath<UserPath>,
    ValidJson(request): ValidJson<UpdateUser>,
) -> Result<Json<User>, Problem> {
    caller.require_service_admin()?;
    Ok(Json(users::update(&api.store, &caller, &login, &request).await?.into()))
}

/// Revoke all sessions of a user at once. For the user, and for service administrators.
///
/// This ends terminal logins with all their tokens, approved logins that no terminal has fetched,
/// and browser sessions; also the session of this request, if it is the user's. Personal access
/// tokens stay: they are revoked one by one.
#[utoipa::path(
    delete, path = "/users/{login}/sessions", tag = "accounts", params(UserPath),
    responses((status = 204, description = "Revoked"))
)]
pub async fn revoke_sessions(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(login): ValidPath<UserPath>,
) -> Result<StatusCode, Problem> {
    caller.require_interactive()?;
    users::revoke_sessions(&api.store, &caller, &login).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<accounts::User> for User {
    fn from(user: accounts::User) -> Self {
        Self {
            id: user.id.into(),
            login: user.login,
            name: user.name,
            email: user.email,
            is_agent: user.is_agent,
            is_admin: user.is_admin,
            created_at: user.created_at,
            disabled_at: user.disabled_at,
        }
    }
}
