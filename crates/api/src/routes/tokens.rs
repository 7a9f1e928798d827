//! `/tokens`: personal access tokens.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use http::StatusCode;
use mc_auth::secret::{PersonalAccessToken, hint};
use mc_domain::{AuditAction, Scope, Scopes, TokenId};
use mc_store::accounts::{self, NewToken};
use mc_store::audit::NewEvent;
use mc_store::sessions;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::pagination::Page;
use super::users;
use crate::ApiState;
use crate::authenticate::Principal;
use crate::authorize::commit;
use crate::extract::{ValidJson, ValidPath, ValidQuery};
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::whole;

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "laptop", "scopes": ["memory:read", "memory:write"], "expires_in_days": 90}))]
pub struct CreateToken {
    /// What to call it.
    #[schema(value_type = schemas::Name)]
    name: String,
    /// What it may be used for: `memory:read`, `memory:write`, `ingest`, `coding`, `github:write`,
    /// `admin`; none that the token of this request does not have.
    #[schema(value_type = Vec<schemas::ScopeName>, min_items = 1, max_items = 6)]
    scopes: Vec<String>,
    /// 1 to 366 days; 90 when absent.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::TokenDays>)]
    expires_in_days: Option<i64>,
    /// The program that it is for; for administrators of the service. The caller when absent.
    #[schema(value_type = Option<schemas::Login>)]
    agent_login: Option<String>,
}

/// A [`TokenEntry`] as checked.
#[derive(Debug)]
pub struct ValidatedToken {
    name: String,
    scopes: Scopes,
    lives: TimeDelta,
    agent_login: Option<String>,
}

impl Validate for CreateToken {
    type Checked = ValidatedToken;

    fn check(self) -> Result<ValidatedToken, ValidationError> {
        let scopes = validate::list("scopes", self.scopes, Scope::ALL.len(), |field, scope| {
            scope.parse::<Scope>().map_err(|error| ValidationError::new(field, error))
        })?;
        if scopes.is_empty() {
            return Err(ValidationError::new("scopes", "must hold at least one item"));
        }
        let days = self.expires_in_days.unwrap_or(limits::DEFAULT_TOKEN_DAYS);
        Ok(ValidatedToken {
            name: validate::identifier("name", &self.name, limits::NAME)?,
            scopes: scopes.into_iter().collect(),
            lives: TimeDelta::days(validate::range("expires_in_days", days, &limits::TOKEN_DAYS)?),
            agent_login: validate::optional("agent_login", self.agent_login, |field, login| {
                validate::login(field, &login)
            })?,
        })
    }
}

/// A token in a path.
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

/// Whose tokens.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    /// A user's login; another's is for administrators of the service. The caller's when absent.
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
pub struct AccessToken {
    id: Uuid,
    name: String,
    /// The secret's last characters.
    hint: String,
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    /// To the minute.
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

/// A token that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenWithSecret {
    /// The secret. It is not kept, and not shown again.
    token: String,
    #[serde(flatten)]
    view: AccessToken,
}

/// Make a personal access token.
#[utoipa::path(
    post, path = "/tokens", tag = "accounts", request_body = CreateToken,
    responses((status = 201, description = "Made; its secret is shown this once", body = TokenWithSecret))
)]
pub async fn create(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(entry): ValidJson<CreateToken>,
) -> Result<(StatusCode, Json<TokenWithSecret>), Problem> {
    caller.require_presence()?;
    if !entry.scopes.is_subset_of(caller.scopes()) {
        let detail =
            format!("a token gives no more than the one it is made with: {}", caller.scopes());
        return Err(Problem::forbidden(detail).field("scopes"));
    }
    let user = match &entry.agent_login {
        None => caller.user,
        Some(login) => {
            caller.require_administrator()?;
            let user = users::named(&api.store, login).await?;
            if !user.is_agent {
                let detail = "is a person, who makes tokens for themselves";
                return Err(Problem::conflict(detail).field("agent_login"));
            }
            user.id
        }
    };
    let secret = PersonalAccessToken::generate();
    let (text, hash) = (secret.expose(), secret.hash());
    let token = NewToken {
        user,
        name: &entry.name,
        hash: hash.as_bytes(),
        hint: hint(text),
        scopes: entry.scopes,
        expires_at: Some(Utc::now() + entry.lives),
    };
    let mut tx = api.store.begin().await?;
    if !sessions::is_credential_valid(&mut tx, caller.user, caller.credential()).await? {
        return Err(Problem::unauthenticated());
    }
    let made = accounts::create_token(&mut tx, &token).await?;
    let detail =
        json!({ "user": user, "scopes": entry.scopes.to_string(), "ends": made.expires_at });
    let event = NewEvent::new(AuditAction::TokenCreated, made.id).with(detail);
    commit(tx, &caller, event).await?;
    let view = made.into();
    Ok((StatusCode::CREATED, Json(TokenWithSecret { token: text.to_owned(), view })))
}

/// List the caller's tokens, or for administrators of the service those of another user.
#[utoipa::path(
    get, path = "/tokens", tag = "accounts", params(TokenQuery),
    responses((status = 200, description = "Newest first", body = Page<AccessToken>))
)]
pub async fn list(
    State(api): State<ApiState>,
    caller: Principal,
    ValidQuery(login): ValidQuery<TokenQuery>,
) -> Result<Json<Page<AccessToken>>, Problem> {
    caller.require_presence()?;
    let user = match login {
        None => caller.user,
        Some(login) => users::own_or_administered(&api.store, &caller, &login).await?,
    };
    let tokens = accounts::tokens(&api.store, user).await?;
    Ok(Json(Page::complete(tokens)))
}

/// Revoke one of the caller's tokens, at once; for administrators of the service anybody's.
#[utoipa::path(
    delete, path = "/tokens/{id}", tag = "accounts", params(TokenPath),
    responses((status = 204, description = "Lets nobody in any more"))
)]
pub async fn revoke(
    State(api): State<ApiState>,
    caller: Principal,
    ValidPath(id): ValidPath<TokenPath>,
) -> Result<StatusCode, Problem> {
    caller.require_presence()?;
    let mut tx = api.store.begin().await?;
    let of = if accounts::revoke(&mut tx, caller.user, id).await? {
        Some(caller.user)
    } else if caller.administers() {
        accounts::revoke_any(&mut tx, id).await?
    } else {
        None
    };
    if let Some(user) = of {
        let event = NewEvent::new(AuditAction::TokenRevoked, id).with(json!({ "user": user }));
        commit(tx, &caller, event).await?;
        return Ok(StatusCode::NO_CONTENT);
    }
    // Beside the word an id may look like a secret.
    Err(Problem::not_found("none of your valid tokens has this id")
        .field("id")
        .hint("GET /tokens lists yours, and GET /tokens?user= another's for administrators"))
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
