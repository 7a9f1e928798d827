//! `/tokens`: personal access tokens.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use mc_accounts::tokens;
use mc_contract::operations::page::Page;
use mc_contract::operations::token::{
    AccessToken, CreateToken, TokenPath, TokenQuery, TokenWithSecret,
};
use mc_contract::text::Login;

use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::openapi::Access;
use crate::problem::Problem;

/// Create a personal access token.
///
/// Returns the token with its secret, which is not shown again. The caller has to be signed in: a
/// personal access token creates no other.
#[utoipa::path(
    post, path = "/tokens", tag = "accounts", request_body = CreateToken,
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 201, description = "The token with its secret, which is shown once",
               body = TokenWithSecret))
)]
pub async fn create_token(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<CreateToken>,
) -> Result<(StatusCode, Json<TokenWithSecret>), Problem> {
    caller.require_interactive()?;
    let (secret, access_token) = tokens::create(&api.store, &caller, &request).await?;
    let token = secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(TokenWithSecret { token, access_token })))
}

/// List personal access tokens.
///
/// Returns the caller's tokens without their secrets, newest first; for service administrators also
/// those of another user. The caller has to be signed in.
#[utoipa::path(
    get, path = "/tokens", tag = "accounts", params(TokenQuery),
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 200, description = "Newest first", body = Page<AccessToken>))
)]
pub async fn list_tokens(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<TokenQuery>,
) -> Result<Json<Page<AccessToken>>, Problem> {
    caller.require_interactive()?;
    let login = query.user.as_ref().map(Login::as_str);
    Ok(Json(Page::new(tokens::list(&api.store, &caller, login).await?, None)))
}

/// Revoke a personal access token.
///
/// Revokes a token of the caller at once; for service administrators a token of any user. The
/// caller has to be signed in.
#[utoipa::path(
    delete, path = "/tokens/{id}", tag = "accounts", params(TokenPath),
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 204, description = "Revoked"))
)]
pub async fn revoke_token(
    State(api): State<ApiState>,
    caller: Principal,
    PathParams(TokenPath { id }): PathParams<TokenPath>,
) -> Result<StatusCode, Problem> {
    caller.require_interactive()?;
    tokens::revoke(&api.store, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
