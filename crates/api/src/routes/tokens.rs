//! `/tokens`: personal access tokens.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use http::StatusCode;
use mc_accounts::tokens;
use mc_domain::{Scope, TokenId};
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
use crate::wire::whole;
use mc_contract::limits;

/// A token to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "name": "laptop", "scopes": ["memory:read", "memory:write"], "expires_in_days": 90
}))]
pub struct CreateToken {
    /// Display name.
    #[schema(value_type = schemas::Name)]
    name: String,
    /// `memory:read`, `memory:write`, `ingest`, `coding`, `github:write` and `admin`; at most the
    /// scopes of the token of this request.
    #[schema(value_type = Vec<schemas::ScopeName>, min_items = 1, max_items = 6)]
    scopes: Vec<String>,
    /// 1 to 366 days; 90 by default.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::TokenDays>)]
    expires_in_days: Option<i64>,
    /// Login of the agent that it is for, if not for the caller. For service administrators.
    #[schema(value_type = Option<schemas::Login>)]
    agent_login: Option<String>,
}

impl Validate for CreateToken {
    type Checked = tokens::CreateToken;

    fn check(self) -> Result<tokens::CreateToken, ValidationError> {
        let scopes = validate::list("scopes", self.scopes, Scope::ALL.len(), |field, scope| {
            scope.parse::<Scope>().map_err(|error| ValidationError::new(field, error))
        })?;
        if scopes.is_empty() {
            return Err(ValidationError::new("scopes", "must hold at least one item"));
        }
        let days = self.expires_in_days.unwrap_or(limits::DEFAULT_TOKEN_DAYS);
        Ok(tokens::CreateToken {
            name: validate::identifier("name", &self.name, limits::NAME)?,
            scopes: scopes.into_iter().collect(),
            lifetime: TimeDelta::days(validate::range(
                "expires_in_days",
                days,
                &limits::TOKEN_DAYS,
            )?),
            agent_login: validate::optional("agent_login", self.agent_login, |field, login| {
                validate::login(field, &login)
            })?,
        })
    }
}

/// Path parameter: a token.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TokenPath {
    /// The token's id.
    id: Uuid,
}

impl Validate for TokenPath {
    type Checked = TokenId;

    fn check(self) -> Result<TokenId, ValidationError> {
        Ok(TokenId(self.id))
    }
}

/// Query of a list of tokens.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    /// A user's login; the caller's by default. Other users' are for service administrators.
    #[param(value_type = Option<schemas::Login>, inline)]
    user: Option<String>,
}

impl Validate for TokenQuery {
    type Checked = Option<String>;

    fn check(self) -> Result<Option<String>, ValidationError> {
        validate::optional("user", self.user, |field, login| validate::login(field, &login))
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "id": "019a0000-0000-7000-8000-000000000018", "name": "laptop", "hint": "0000",
    "scopes": ["memory:read", "memory:write"], "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2027-02-18T10:00:00Z", "last_used_at": null, "revoked_at": null
}))]
pub struct AccessToken {
    id: Uuid,
    name: String,
    /// The secret's last characters.
    hint: String,
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    /// Last use, to the minute.
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

/// A created token with its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "token": "example-token-that-is-shown-once",
    "id": "019a0000-0000-7000-8000-000000000018", "name": "laptop", "hint": "0000",
    "scopes": ["memory:read", "memory:write"], "created_at": "2026-11-20T10:00:00Z",
    "expires_at": "2027-02-18T10:00:00Z", "last_used_at": null, "revoked_at": null
}))]
pub struct TokenWithSecret {
    /// The secret. It is not stored, and not shown again.
    token: String,
    #[serde(flatten)]
    view: AccessToken,
}

/// Create a personal access token.
///
/// Returns the token with its secret, which is not shown again. The caller has to be signed in: a
/// personal access token creates no other.
#[utoipa::path(
    post, path = "/tokens", tag = "accounts", request_body = CreateToken,
    responses((status = 201, description = "The token, with its secret this one time",
               body = TokenWithSecret))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<CreateToken>,
) -> Result<(StatusCode, Json<TokenWithSecret>), Problem> {
    caller.require_interactive()?;
    let created = tokens::create(&api.store, &caller, &request).await?;
    let token = created.secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(TokenWithSecret { token, view: created.token.into() })))
}

/// List personal access tokens.
///
/// Returns the caller's tokens without their secrets, newest first; for service administrators also
/// those of another user. The caller has to be signed in.
#[utoipa::path(
    get, path = "/tokens", tag = "accounts", params(TokenQuery),
    responses((status = 200, description = "Newest first", body = Page<AccessToken>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(login): ValidQuery<TokenQuery>,
) -> Result<Json<Page<AccessToken>>, Problem> {
    caller.require_interactive()?;
    let tokens = tokens::list(&api.store, &caller, login.as_deref()).await?;
    Ok(Json(Page::complete(tokens)))
}

/// Revoke a personal access token.
///
/// Revokes a token of the caller at once; for service administrators a token of any user. The
/// caller has to be signed in.
#[utoipa::path(
    delete, path = "/tokens/{id}", tag = "accounts", params(TokenPath),
    responses((status = 204, description = "Revoked"))
)]
pub async fn revoke(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<TokenPath>,
) -> Result<StatusCode, Problem> {
    caller.require_interactive()?;
    tokens::revoke(&api.store, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<accounts::AccessToken> for AccessToken {
    fn from(token: accounts::AccessToken) -> Self {
        Self {
            id: token.id.into(),
            name: token.name,
            hint: token.hint,
            scopes: token.scopes.iter().map(Scope::as_str).collect(),
            created_at: token.created_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
            revoked_at: token.revoked_at,
        }
    }
}
