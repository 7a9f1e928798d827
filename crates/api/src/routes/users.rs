//! `/users` and `/whoami`: who may come in.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use http::StatusCode;
use mc_domain::{AuditAction, Scope, UserId};
use mc_store::Store;
use mc_store::accounts::{self, NewUser, UserUpdate};
use mc_store::audit::NewEvent;
use mc_store::sessions;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::commit;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};

/// A user to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"login": "ann", "name": "Ann Example", "email": "ann@example.com"}))]
pub struct CreateUser {
    /// 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit; unique whatever the
    /// case.
    #[schema(value_type = schemas::Login)]
    login: String,
    /// Name for people.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
    /// Address; for people to see, never to decide by.
    #[schema(value_type = Option<schemas::Email>)]
    email: Option<String>,
    /// A program that acts by itself: it proposes, and confirms nothing.
    #[serde(default)]
    is_agent: bool,
    /// Administers the service itself. No program does.
    #[serde(default)]
    is_admin: bool,
}

/// A [`UserEntry`] as checked.
#[derive(Debug)]
pub struct ValidatedUser {
    login: String,
    name: String,
    email: Option<String>,
    is_agent: bool,
    is_admin: bool,
}

impl Validate for CreateUser {
    type Checked = ValidatedUser;

    fn check(self) -> Result<ValidatedUser, ValidationError> {
        if self.is_agent && self.is_admin {
            return Err(ValidationError::new("is_admin", "can't be set for a program"));
        }
        Ok(ValidatedUser {
            login: validate::login("login", &self.login)?,
            name: validate::optional_masked("name", self.name, limits::NAME)?.unwrap_or_default(),
            email: validate::optional_line("email", self.email, limits::EMAIL)?,
            is_agent: self.is_agent,
            is_admin: self.is_admin,
        })
    }
}

/// What becomes of a user; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"disabled": true}))]
pub struct UpdateUser {
    /// Name for people.
    #[schema(value_type = Option<schemas::Name>)]
    name: Option<String>,
    /// Whether the user administers the service itself.
    is_admin: Option<bool>,
    /// Whether the user may no longer come in.
    is_disabled: Option<bool>,
}

impl Validate for UpdateUser {
    type Checked = Self;

    fn check(self) -> Result<Self, ValidationError> {
        let name = validate::optional_masked("name", self.name, limits::NAME)?;
        Ok(Self { name, ..self })
    }
}

/// A user in a path.
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

/// Which users.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// The last login of the page before.
    #[param(value_type = Option<schemas::Login>, inline)]
    cursor: Option<String>,
    /// At most so many, 1 to 200; 50 when absent.
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
pub struct User {
    id: Uuid,
    login: String,
    name: String,
    email: Option<String>,
    is_agent: bool,
    is_admin: bool,
    created_at: DateTime<Utc>,
    /// Since when the user may no longer come in.
    disabled_at: Option<DateTime<Utc>>,
}

/// Who the token stands for.
#[derive(Debug, Serialize, ToSchema)]
pub struct CurrentUser {
    id: Uuid,
    login: String,
    /// Whether the user administers the service itself.
    is_admin: bool,
    /// What the token may be used for.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
}

/// See who the token stands for, and what it may be used for.
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

/// Add a user. For administrators of the service.
#[utoipa::path(
    post, path = "/users", tag = "accounts", request_body = CreateUser,
    responses((status = 201, description = "Added", body = User))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(user): ValidJson<CreateUser>,
) -> Result<(StatusCode, Json<User>), Problem> {
    caller.require_administrator()?;
    let new = NewUser {
        login: &user.login,
        name: &user.name,
        email: user.email.as_deref(),
        is_agent: user.is_agent,
        is_admin: user.is_admin,
    };
    let mut tx = api.store.begin().await?;
    let created = accounts::create(&mut tx, &new).await;
    let created = created.map_err(|error| Problem::from(error).field("login"))?;
    let detail =
        json!({ "change": "added", "is_agent": created.is_agent, "is_admin": created.is_admin });
    let event = NewEvent::new(AuditAction::UserChanged, created.id).with(detail);
    commit(tx, &caller, event).await?;
    Ok((StatusCode::CREATED, Json(created.into())))
}

/// List the users. For administrators of the service.
#[utoipa::path(
    get, path = "/users", tag = "accounts", params(UserQuery),
    responses((status = 200, description = "A page, by login", body = Page<User>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery((after, limit)): ValidQuery<UserQuery>,
) -> Result<Json<Page<User>>, Problem> {
    caller.require_administrator()?;
    let users = accounts::list(&api.store, &after, limit).await?;
    Ok(Json(Page::of(users, limit, |user| user.login.clone())))
}

/// Change a user, or shut one out. For administrators of the service.
///
/// Nothing lets in who is shut out. Their sessions end for good; their personal access tokens are of use again
/// when they may come in again.
#[utoipa::path(
    patch, path = "/users/{login}", tag = "accounts", params(UserPath), request_body = UpdateUser,
    responses((status = 200, description = "As changed", body = User))
)]
pub async fn update(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(login): ValidPath<UserPath>,
    ValidJson(request): ValidJson<UpdateUser>,
) -> Result<Json<User>, Problem> {
    caller.require_administrator()?;
    let user = named(&api.store, &login).await?;
    if user.is_agent && request.is_admin == Some(true) {
        return Err(Problem::conflict("can't be set for a program").field("is_admin"));
    }
    // Whoever is left could not undo it.
    if user.id == caller.user
        && (request.is_disabled == Some(true) || request.is_admin == Some(false))
    {
        let detail = "you can't shut yourself out, nor stop administering by yourself";
        return Err(Problem::conflict(detail).hint("another administrator can do it"));
    }
    let update = UserUpdate {
        name: request.name.as_deref(),
        is_admin: request.is_admin,
        is_disabled: request.is_disabled,
    };
    let mut tx = api.store.begin().await?;
    let changed = accounts::change(&mut tx, &login, &update).await?;
    let changed = changed.ok_or_else(|| unknown(&login))?;
    let is_disabled = changed.disabled_at.is_some();
    let detail = json!({ "is_admin": changed.is_admin, "is_disabled": is_disabled });
    let event = NewEvent::new(AuditAction::UserChanged, changed.id).with(detail);
    commit(tx, &caller, event).await?;
    Ok(Json(changed.into()))
}

/// Sign a user out everywhere, at once. For the user, and for administrators of the service.
///
/// That ends the logins at terminals with all tokens that they gave, those that were agreed to and not fetched
/// yet, and the visits of browsers; that of this request, too, if it is the user's. Personal access tokens stay:
/// they are revoked one by one.
#[utoipa::path(
    delete, path = "/users/{login}/sessions", tag = "accounts", params(UserPath),
    responses((status = 204, description = "Signed out everywhere"))
)]
pub async fn revoke_sessions(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(login): ValidPath<UserPath>,
) -> Result<StatusCode, Problem> {
    caller.require_presence()?;
    let user = own_or_administered(&api.store, &caller, &login).await?;
    let mut tx = api.store.begin().await?;
    let ended = sessions::revoke_all(&mut tx, user).await?;
    let event = NewEvent::new(AuditAction::SessionRevoked, user).with(json!({ "sessions": ended }));
    commit(tx, &caller, event).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The id of the user with this login: the caller's own, or for administrators of the service anybody's.
/// Others are not told whether there is such a user.
pub async fn own_or_administered(
    store: &Store,
    caller: &Principal,
    login: &str,
) -> Result<UserId, Problem> {
    if caller.name().eq_ignore_ascii_case(login) {
        return Ok(caller.user);
    }
    caller.require_administrator()?;
    Ok(named(store, login).await?.id)
}

/// The user with this login.
pub async fn named(store: &Store, login: &str) -> Result<accounts::User, Problem> {
    accounts::find(store, login).await?.ok_or_else(|| unknown(login))
}

/// The id of the user with this login, to look for; one that nobody has where there is no such user.
/// Whether somebody exists whom one has never met is nobody's business.
pub async fn called(store: &Store, login: &str) -> Result<UserId, Problem> {
    let user = accounts::find(store, login).await?;
    Ok(user.map_or(UserId(Uuid::max()), |user| user.id))
}

fn unknown(login: &str) -> Problem {
    Problem::not_found(format!("there is no user \"{login}\""))
        .field("login")
        .hint("an administrator of the service adds users with POST /users")
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
