//! `/users` and `/whoami`: the users of the service.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_accounts::{invitations, offboarding, users};
use mc_contract::operations::page::{Page, page};
use mc_contract::operations::user::{
    CreateInvitation, CreateUser, CurrentUser, Invitation, OffboardResponse, OffboardUser,
    ProviderLogin, ProviderLoginPath, SetProviderLogin, UpdateUser, User, UserPath, UserQuery,
};
use mc_contract::text::Login;
use mc_store::accounts;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Show the user and the scopes of the token.
///
/// Returns the login, whether the user administers the service, and the scopes of the token.
#[utoipa::path(
    get, path = "/whoami", tag = "accounts",
    extensions(("x-access" = json!(Access::Credential))),
    responses((status = 200, description = "The caller", body = CurrentUser))
)]
pub async fn get_current_user(caller: Principal) -> Json<CurrentUser> {
    Json(CurrentUser {
        id: caller.user,
        login: caller.name().to_owned(),
        is_admin: caller.is_admin,
        scopes: caller.scopes().iter().collect(),
    })
}

/// Create a user.
///
/// Returns the user, who has no role on any project yet. A first sign-in with the email address
/// finds this account. For service administrators.
#[utoipa::path(
    post, path = "/users", tag = "accounts", request_body = CreateUser,
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 201, description = "Created", body = User))
)]
pub async fn create_user(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateUser>,
) -> Result<(StatusCode, Json<User>), Problem> {
    caller.require_service_admin()?;
    let user = users::create(&api.store, &caller, &request).await?;
    Ok((StatusCode::CREATED, Json(user)))
}

/// List users.
///
/// Returns a page of the users, by login, also of disabled ones. For service administrators.
#[utoipa::path(
    get, path = "/users", tag = "accounts", params(UserQuery),
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "A page, sorted by login", body = Page<User>))
)]
pub async fn list_users(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<UserQuery>,
) -> Result<Json<Page<User>>, Problem> {
    caller.require_service_admin()?;
    let after = query.cursor.as_ref().map_or("", Login::as_str);
    let limit = query.limit.unwrap_or_default().get();
    let users = accounts::list(&api.store, after, limit).await?;
    Ok(Json(page(users, limit, |user| user.login.clone())))
}

/// Update or disable a user. For service administrators.
///
/// A disabled account has no access at all. Its sessions are revoked permanently; its
/// personal access tokens work again once it is enabled.
#[utoipa::path(
    patch, path = "/users/{login}", tag = "accounts", params(UserPath), request_body = UpdateUser,
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "The updated user", body = User))
)]
pub async fn update_user(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(UserPath { login }): PathParams<UserPath>,
    JsonBody(request): JsonBody<UpdateUser>,
) -> Result<Json<User>, Problem> {
    caller.require_service_admin()?;
    Ok(Json(users::update(&api.store, &caller, login.as_str(), &request).await?))
}

/// Invite a person to an account.
///
/// Returns a code, which is shown once. The person signs in with it once, on the page `url` or with
/// `memory-copilot login --invitation`, which ends all other sessions of the account. A new
/// invitation replaces the former one. For service administrators who are signed in.
#[utoipa::path(
    post, path = "/users/{login}/invitation", tag = "accounts", params(UserPath),
    request_body = CreateInvitation,
    extensions(("x-access" = json!(Access::InteractiveServiceAdmin))),
    responses((status = 201, description = "The invitation with its code", body = Invitation))
)]
pub async fn create_invitation(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(UserPath { login }): PathParams<UserPath>,
    JsonBody(request): JsonBody<CreateInvitation>,
) -> Result<(StatusCode, Json<Invitation>), Problem> {
    caller.require_interactive()?;
    caller.require_service_admin()?;
    let (user, code, expires_at) =
        invitations::create(&api.store, &caller, login.as_str(), &request).await?;
    let invitation = Invitation {
        login: user.login,
        code: code.expose().to_owned(),
        url: api.sign_in.url("/auth/invitation").into(),
        expires_at,
    };
    Ok((StatusCode::CREATED, Json(invitation)))
}

/// Remove a person or agent who leaves.
///
/// Disables the account, revokes its sessions and tokens permanently, deletes its identities and
/// its private records, and ends its roles. The successor, if named, becomes the owner of its
/// records, and the administrator of its projects and teams that have no other one. The records
/// that it saved for the team stay: `POST /forget` erases them. For service administrators.
#[utoipa::path(
    post, path = "/users/{login}/offboard", tag = "accounts", params(UserPath),
    request_body = OffboardUser,
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "What was removed", body = OffboardResponse))
)]
pub async fn offboard_user(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(UserPath { login }): PathParams<UserPath>,
    JsonBody(request): JsonBody<OffboardUser>,
) -> Result<Json<OffboardResponse>, Problem> {
    caller.require_service_admin()?;
    Ok(Json(offboarding::offboard(&api.store, &caller, login.as_str(), &request).await?))
}

/// Revoke all sessions of a user at once. For the user, and for service administrators.
///
/// This ends terminal logins with all their tokens, approved logins that no terminal has fetched,
/// and browser sessions; also the session of this request, if it is the user's. Personal access
/// tokens stay: they are revoked one by one.
#[utoipa::path(
    delete, path = "/users/{login}/sessions", tag = "accounts", params(UserPath),
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 204, description = "Revoked"))
)]
pub async fn revoke_user_sessions(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(UserPath { login }): PathParams<UserPath>,
) -> Result<StatusCode, Problem> {
    caller.require_interactive()?;
    users::revoke_sessions(&api.store, &caller, login.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the logins of a user at providers. For the user, and for service administrators.
///
/// They tie authors of pull requests to users. A sign-in with GitHub stores the login there.
#[utoipa::path(
    get, path = "/users/{login}/provider-logins", tag = "accounts", params(UserPath),
    extensions(("x-access" = json!(Access::Credential))),
    responses((status = 200, description = "By host", body = Page<ProviderLogin>))
)]
pub async fn list_provider_logins(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(UserPath { login }): PathParams<UserPath>,
) -> Result<Json<Page<ProviderLogin>>, Problem> {
    let logins = users::list_provider_logins(&api.store, &caller, login.as_str()).await?;
    Ok(Json(Page::new(logins, None)))
}

/// Set the login of a user at a provider. For service administrators.
///
/// A user has one login at a host, and a login there belongs to one user.
#[utoipa::path(
    put, path = "/users/{login}/provider-logins/{host}", tag = "accounts",
    params(ProviderLoginPath), request_body = SetProviderLogin,
    extensions(("x-access" = json!(Access::ServiceAdmin))),
    responses((status = 200, description = "The login", body = ProviderLogin))
)]
pub async fn set_provider_login(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProviderLoginPath { login, host }): PathParams<ProviderLoginPath>,
    JsonBody(request): JsonBody<SetProviderLogin>,
) -> Result<Json<ProviderLogin>, Problem> {
    caller.require_service_admin()?;
    let path = (login.as_str(), &host);
    Ok(Json(users::set_provider_login(&api.store, &caller, path, &request).await?))
}

/// Delete the login of a user at a provider. For the user, and for service administrators.
///
/// The next sign-in with that account sets it again.
#[utoipa::path(
    delete, path = "/users/{login}/provider-logins/{host}", tag = "accounts",
    params(ProviderLoginPath),
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete_provider_login(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(ProviderLoginPath { login, host }): PathParams<ProviderLoginPath>,
) -> Result<StatusCode, Problem> {
    caller.require_interactive()?;
    users::delete_provider_login(&api.store, &caller, (login.as_str(), &host)).await?;
    Ok(StatusCode::NO_CONTENT)
}
