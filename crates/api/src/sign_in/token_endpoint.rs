//! The OAuth token endpoint (RFC 6749, RFC 8628, RFC 8693), revocation and metadata.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use http::StatusCode;
use mc_accounts::sign_in::token::{self, GrantError, INVALID_GRANT, IssuedTokens, TokenGrant};
use mc_auth::client::INVITATION_GRANT;
use mc_domain::{Scope, Scopes};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::ApiState;
use crate::extract::Form;
use crate::ingress::AuthFailed;
use crate::problem::Problem;

/// Grant type of RFC 8628, section 3.4.
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Grant type of RFC 8693, section 2.1.
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A grant to exchange for an access token.
#[derive(Debug, Deserialize, ToSchema)]
pub struct TokenRequest {
    /// `refresh_token`, `urn:ietf:params:oauth:grant-type:device_code`,
    /// `urn:ietf:params:oauth:grant-type:token-exchange` or
    /// `urn:memory-copilot:grant-type:invitation`.
    grant_type: String,
    /// Client id of the program: 1 to 64 lower-case letters, digits, ".", "_" or "-".
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// With `refresh_token`.
    #[schema(nullable = false)]
    refresh_token: Option<String>,
    /// With the device code grant.
    #[schema(nullable = false)]
    device_code: Option<String>,
    /// With the grant of an invitation: its code.
    #[schema(nullable = false)]
    invitation_code: Option<String>,
    /// With token exchange: a personal access token.
    #[schema(nullable = false)]
    subject_token: Option<String>,
    /// With token exchange: `urn:ietf:params:oauth:token-type:access_token`.
    #[schema(nullable = false)]
    subject_token_type: Option<String>,
    /// Scopes, separated by spaces, if fewer than the grant has.
    #[schema(nullable = false)]
    scope: Option<String>,
}

/// An access token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "access_token": "example-access-token", "token_type": "Bearer", "expires_in": 900,
    "scope": "memory:read memory:write", "refresh_token": "example-refresh-token"
}))]
pub struct TokenResponse {
    access_token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Seconds.
    expires_in: i64,
    /// Scopes of the token, separated by spaces.
    scope: String,
    /// For the next access token; valid for one exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    /// With token exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_token_type: Option<&'static str>,
}

/// An error of RFC 6749, section 5.2.
#[derive(Debug, Serialize, ToSchema)]
pub struct OauthError {
    /// Such as `invalid_grant`.
    error: &'static str,
    /// What happened, and the way out.
    error_description: String,
}

/// A failed request to an OAuth endpoint.
pub enum TokenError {
    /// An error that the protocol has a code for.
    Oauth(OauthError),
    /// Any other error.
    Problem(Problem),
}

impl TokenError {
    pub(super) fn new(error: &'static str, description: impl Into<String>) -> Self {
        // The description can quote the request, such as an unknown scope.
        let error_description = mc_sanitizer::mask(&description.into()).text.into_string();
        Self::Oauth(OauthError { error, error_description })
    }

    /// Converts the error of a form that can't be read.
    pub(super) fn form(problem: Problem) -> Self {
        match problem.status() {
            StatusCode::BAD_REQUEST => Self::new("invalid_request", problem.message()),
            _ => Self::Problem(problem),
        }
    }
}

impl From<GrantError> for TokenError {
    fn from(error: GrantError) -> Self {
        match (error.code(), error) {
            (_, GrantError::Failed(error)) => error.into(),
            (Some(code), error) => Self::new(code, error.to_string()),
            (None, _) => Self::Problem(Problem::internal()),
        }
    }
}

impl From<mc_accounts::Error> for TokenError {
    fn from(error: mc_accounts::Error) -> Self {
        Self::Problem(error.into())
    }
}

impl From<Problem> for TokenError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        match self {
            Self::Oauth(error) => {
                let is_invalid_grant = error.error == INVALID_GRANT;
                let mut response = (StatusCode::BAD_REQUEST, Json(error)).into_response();
                if is_invalid_grant {
                    response.extensions_mut().insert(AuthFailed);
                }
                response
            }
            Self::Problem(problem) => problem.into_response(),
        }
    }
}

/// Exchange a refresh token, a device code, an invitation or a personal access token for an access
/// token.
///
/// Returns a short-lived access token. A refresh token is valid for one exchange: keep the new one
/// that the response holds. Poll with a device code no faster than `interval` says.
#[utoipa::path(
    post, path = "/auth/token", tag = "accounts", security(()),
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A token", body = TokenResponse),
        (status = 400, description = "The reason for the error", body = OauthError),
    )
)]
pub async fn issue_token(
    State(api): State<ApiState>,
    form: Result<Form<TokenRequest>, Problem>,
) -> Result<Json<TokenResponse>, TokenError> {
    let Form(request) = form.map_err(TokenError::form)?;
    let client = token::parse_client(request.client_id.as_deref())?;
    let scopes = request.scope.as_deref().map(Scopes::parse).transpose();
    let scopes = scopes.map_err(|error| TokenError::new("invalid_scope", error.to_string()))?;
    let grant = grant(&api, request).await?;
    let issued = token::exchange(&api.sign_in, client, &grant, scopes).await?;
    let is_exchange = matches!(grant, TokenGrant::PersonalAccessToken(_));
    Ok(Json(TokenResponse {
        issued_token_type: is_exchange.then_some(ACCESS_TOKEN),
        ..TokenResponse::from(issued)
    }))
}

async fn grant(api: &ApiState, request: TokenRequest) -> Result<TokenGrant, TokenError> {
    let required = |name: &str, value: Option<String>| {
        value.ok_or_else(|| TokenError::new("invalid_request", format!("`{name}` is missing")))
    };
    match request.grant_type.as_str() {
        "refresh_token" => {
            Ok(TokenGrant::RefreshToken(required("refresh_token", request.refresh_token)?))
        }
        DEVICE_CODE => Ok(TokenGrant::DeviceCode(required("device_code", request.device_code)?)),
        INVITATION_GRANT => {
            Ok(TokenGrant::Invitation(required("invitation_code", request.invitation_code)?))
        }
        TOKEN_EXCHANGE => {
            if request.subject_token_type.as_deref() != Some(ACCESS_TOKEN) {
                let description = format!("`subject_token_type` must be {ACCESS_TOKEN}");
                return Err(TokenError::new("invalid_request", description));
            }
            let token = required("subject_token", request.subject_token)?;
            let subject = token::find_subject(&api.sign_in, &token).await?;
            // It authenticates in its body, so the layers have not counted it for its caller.
            api.admission.count_caller(&subject).await?;
            Ok(TokenGrant::PersonalAccessToken(subject))
        }
        _ => Err(TokenError::new(
            "unsupported_grant_type",
            format!(
                "`grant_type` must be refresh_token, {DEVICE_CODE}, {TOKEN_EXCHANGE} or \
                 {INVITATION_GRANT}"
            ),
        )),
    }
}

impl From<IssuedTokens> for TokenResponse {
    fn from(issued: IssuedTokens) -> Self {
        Self {
            access_token: issued.access_token.expose_secret().to_owned(),
            token_type: "Bearer",
            expires_in: (issued.expires_at - Utc::now()).num_seconds().max(0),
            scope: issued.scopes.to_string(),
            refresh_token: issued.refresh_token.map(|token| token.expose().to_owned()),
            issued_token_type: None,
        }
    }
}

/// A token to revoke.
#[derive(Debug, Deserialize, ToSchema)]
pub struct RevocationRequest {
    /// A refresh token, whose whole session is revoked.
    token: String,
}

/// Revoke the session of a refresh token (RFC 7009).
///
/// Ends the session with all its tokens. The response is the same for a token that the service does
/// not know.
#[utoipa::path(
    post, path = "/auth/revoke", tag = "accounts", security(()),
    request_body(content = RevocationRequest, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The token is invalid from now on"))
)]
pub async fn revoke_session_token(
    State(api): State<ApiState>,
    Form(request): Form<RevocationRequest>,
) -> Result<(), TokenError> {
    Ok(token::revoke(&api.sign_in, &request.token).await?)
}

/// Get the public keys that verify access tokens (RFC 7517).
///
/// Returns a JSON Web Key Set. After a rotation it still holds the previous key until the last
/// token of that key has expired.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "accounts", security(()),
    responses((status = 200, description = "A JSON Web Key Set", body = Value))
)]
pub async fn get_signing_keys(State(api): State<ApiState>) -> Result<Json<Value>, Problem> {
    Ok(Json(api.sign_in.jwks().await?))
}

/// Get the metadata of the authorization server (RFC 8414).
///
/// Returns the addresses of the OAuth endpoints, the supported grant types and the supported
/// scopes.
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server", tag = "accounts", security(()),
    responses((status = 200, description = "Metadata", body = Value))
)]
pub async fn get_authorization_server(State(api): State<ApiState>) -> Json<Value> {
    let url = |path: &str| api.sign_in.url(path);
    Json(json!({
        "issuer": api.sign_in.issuer(),
        "token_endpoint": url("/auth/token"),
        "device_authorization_endpoint": url("/auth/device"),
        "revocation_endpoint": url("/auth/revoke"),
        "jwks_uri": url("/.well-known/jwks.json"),
        "grant_types_supported": ["refresh_token", DEVICE_CODE, TOKEN_EXCHANGE, INVITATION_GRANT],
        "token_endpoint_auth_methods_supported": ["none"],
        "response_types_supported": [],
        "scopes_supported": Scopes::ALL.iter().map(Scope::as_str).collect::<Vec<_>>(),
    }))
}
