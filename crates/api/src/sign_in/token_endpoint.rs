//! `POST /auth/token`: a refresh token, a device code or a personal access token for an access token
//! (RFC 6749, RFC 8628, RFC 8693); and what describes it to clients.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use http::StatusCode;
use mc_auth::client::ClientId;
use mc_auth::device_grant::Answer;
use mc_auth::refresh::{self, Verdict};
use mc_auth::secret::{DeviceCode, PersonalAccessToken, RefreshToken};
use mc_domain::{AuditAction, Scopes, SessionId};
use mc_store::accounts;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::sessions::{self, DeviceCodeKey, NewSession, Refresh};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::browser;
use super::device::{judged, stored};
use super::{CLI, SignIn};
use crate::ApiState;
use crate::authenticate::Authenticate as _;
use crate::extract::Form;
use crate::ingress::AuthFailed;
use crate::problem::Problem;

/// RFC 8628, section 3.4.
pub const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// RFC 8693, section 2.1.
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// What is exchanged.
#[derive(Debug, Deserialize, ToSchema)]
pub struct TokenRequest {
    /// `refresh_token`, `urn:ietf:params:oauth:grant-type:device_code` or
    /// `urn:ietf:params:oauth:grant-type:token-exchange`.
    grant_type: String,
    /// Which program asks: 1 to 64 small letters, digits, ".", "_" or "-".
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// With `refresh_token`.
    #[schema(nullable = false)]
    refresh_token: Option<String>,
    /// With the device code grant.
    #[schema(nullable = false)]
    device_code: Option<String>,
    /// With token exchange: a personal access token.
    #[schema(nullable = false)]
    subject_token: Option<String>,
    /// With token exchange: `urn:ietf:params:oauth:token-type:access_token`.
    #[schema(nullable = false)]
    subject_token_type: Option<String>,
    /// Fewer scopes than there are to have, with spaces between.
    #[schema(nullable = false)]
    scope: Option<String>,
}

/// An access token, and what comes with it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenResponse {
    access_token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Seconds.
    expires_in: i64,
    /// What it may be used for, with spaces between.
    scope: String,
    /// For the next access token; good for one exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    /// With token exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_token_type: Option<&'static str>,
}

/// What says that a grant is wrong, or no longer good.
const INVALID_GRANT: &str = "invalid_grant";

/// A refusal as RFC 6749, section 5.2, has it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OauthError {
    /// Such as `invalid_grant`.
    error: &'static str,
    /// What to do about it.
    error_description: String,
}

/// Why no token is given.
pub enum TokenError {
    /// The client is told by the protocol's own codes.
    Oauth(OauthError),
    /// The service can't.
    Problem(Problem),
}

impl TokenError {
    pub(super) fn new(error: &'static str, description: impl Into<String>) -> Self {
        // A scope that is not known is told in the caller's own words.
        let error_description = mc_sanitizer::mask(&description.into()).text.into_string();
        Self::Oauth(OauthError { error, error_description })
    }

    /// A form that can't be read is refused in the protocol's words, too.
    pub(super) fn form(problem: Problem) -> Self {
        match problem.status() {
            StatusCode::BAD_REQUEST => Self::new("invalid_request", problem.in_words()),
            _ => Self::Problem(problem),
        }
    }
}

impl<E: Into<Problem>> From<E> for TokenError {
    fn from(error: E) -> Self {
        Self::Problem(error.into())
    }
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        match self {
            Self::Oauth(error) => {
                let is_wrong = error.error == INVALID_GRANT;
                let mut response = (StatusCode::BAD_REQUEST, Json(error)).into_response();
                if is_wrong {
                    response.extensions_mut().insert(AuthFailed);
                }
                response
            }
            Self::Problem(problem) => problem.into_response(),
        }
    }
}

/// Exchange a refresh token, a device code or a personal access token for an access token.
#[utoipa::path(
    post, path = "/auth/token", tag = "accounts", security(()),
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A token", body = TokenResponse),
        (status = 400, description = "None, and why", body = OauthError),
    )
)]
pub async fn token(
    State(api): State<ApiState>,
    form: Result<Form<TokenRequest>, Problem>,
) -> Result<Json<TokenResponse>, TokenError> {
    let Form(request) = form.map_err(TokenError::form)?;
    let sign_in = &api.sign_in;
    let client = client(request.client_id.as_deref())?;
    let asked = request.scope.as_deref().map(Scopes::parse).transpose();
    let asked = asked.map_err(|error| TokenError::new("invalid_scope", error.to_string()))?;
    let given = match request.grant_type.as_str() {
        "refresh_token" => {
            let token = needed("refresh_token", request.refresh_token)?;
            grant_refresh_token(sign_in, &client, &token, asked).await
        }
        DEVICE_CODE => {
            grant_device_code(sign_in, &client, &needed("device_code", request.device_code)?).await
        }
        TOKEN_EXCHANGE => {
            if request.subject_token_type.as_deref() != Some(ACCESS_TOKEN) {
                let description = format!("`subject_token_type` must be {ACCESS_TOKEN}");
                return Err(TokenError::new("invalid_request", description));
            }
            let token = needed("subject_token", request.subject_token)?;
            grant_token_exchange(sign_in, client, &token, asked).await
        }
        _ => Err(TokenError::new(
            "unsupported_grant_type",
            format!("`grant_type` must be refresh_token, {DEVICE_CODE} or {TOKEN_EXCHANGE}"),
        )),
    };
    if let Err(TokenError::Oauth(OauthError { error: INVALID_GRANT, .. })) = &given {
        sign_in.refusals().token();
    }
    given.map(Json)
}

/// Who asks; the command line where nothing is said.
pub(super) fn client(id: Option<&str>) -> Result<ClientId, TokenError> {
    let client = ClientId::parse(id.unwrap_or(CLI))
        .map_err(|error| TokenError::new("invalid_client", error.to_string()))?;
    // The sessions of browsers are for the pages here; their secrets are exchanged for nothing.
    if client.as_str() == browser::CLIENT {
        return Err(TokenError::new("invalid_client", "this name is the service's own"));
    }
    Ok(client)
}

fn needed(name: &str, value: Option<String>) -> Result<String, TokenError> {
    value.ok_or_else(|| TokenError::new("invalid_request", format!("`{name}` is missing")))
}

fn no_grant() -> TokenError {
    TokenError::new(INVALID_GRANT, "this is not valid, or no longer; sign in again")
}

async fn grant_refresh_token(
    sign_in: &SignIn,
    client: &ClientId,
    token: &str,
    asked: Option<Scopes>,
) -> Result<TokenResponse, TokenError> {
    let hash = RefreshToken::parse(token).map_err(|_| no_grant())?.hash();
    let mut tx = sign_in.store().begin().await?;
    let found = sessions::refresh(&mut tx, hash.as_bytes()).await?.ok_or_else(no_grant)?;
    let session = family(&found)?;
    match refresh::judge(&session, client, asked, Utc::now()) {
        Verdict::Rotate { scopes, next_expires_at } => {
            let next = RefreshToken::generate();
            sessions::spend(&mut tx, hash.as_bytes()).await?;
            sessions::add_refresh(&mut tx, found.session, next.hash().as_bytes(), next_expires_at)
                .await?;
            // Made before the old one is spent for good, and written before it is handed out.
            let answer = issue_token(sign_in, &found, client.clone(), scopes, Some(next)).await?;
            tx.commit().await?;
            Ok(answer)
        }
        Verdict::Refuse(_) => Err(no_grant()),
        Verdict::RevokeFamily(theft) => {
            sessions::revoke(&mut tx, found.session).await?;
            let why = json!({ "why": "a refresh token came back", "session_revoked": true });
            let event = NewEvent::new(AuditAction::AccessDenied, found.session).with(why);
            audit::add(&mut tx, Chain::Service, Some(found.user), &[event]);
            tx.commit().await?;
            tracing::warn!(session = %found.session, ?theft, "a refresh token came back; its session is revoked");
            Err(no_grant())
        }
        Verdict::BeyondScope => {
            let description = format!("the session has only: {}", session.scopes);
            Err(TokenError::new("invalid_scope", description))
        }
    }
}

fn family(found: &Refresh) -> Result<refresh::StoredToken, TokenError> {
    let client = ClientId::parse(&found.client).map_err(|_| no_grant())?;
    Ok(refresh::StoredToken {
        client,
        scopes: found.scopes,
        expires_at: found.expires_at,
        used_at: found.used_at,
        family_ends_at: found.session_expires_at,
        is_family_revoked: found.is_revoked,
    })
}

async fn issue_token(
    sign_in: &SignIn,
    of: &Refresh,
    client: ClientId,
    scopes: Scopes,
    refresh: Option<RefreshToken>,
) -> Result<TokenResponse, TokenError> {
    let issued =
        sign_in.issue(of.user, client, of.session, scopes, Some(of.session_expires_at)).await?;
    Ok(response(&issued, scopes, refresh))
}

fn response(
    issued: &mc_auth::jwt::Issued,
    scopes: Scopes,
    refresh: Option<RefreshToken>,
) -> TokenResponse {
    TokenResponse {
        access_token: issued.token.expose_secret().to_owned(),
        token_type: "Bearer",
        expires_in: (issued.expires_at - Utc::now()).num_seconds().max(0),
        scope: scopes.to_string(),
        refresh_token: refresh.map(|token| token.expose().to_owned()),
        issued_token_type: None,
    }
}

async fn grant_device_code(
    sign_in: &SignIn,
    client: &ClientId,
    code: &str,
) -> Result<TokenResponse, TokenError> {
    let hash = DeviceCode::parse(code).map_err(|_| no_grant())?.hash();
    let code = DeviceCodeKey::Device(hash.as_bytes());
    let mut tx = sign_in.store().begin().await?;
    let mut row = sessions::device(&mut tx, code).await?.ok_or_else(no_grant)?;
    let now = Utc::now();
    let mut grant = judged(&row).ok_or_else(no_grant)?;
    let answer = grant.poll(client, now);
    stored(&mut row, &grant);
    match answer {
        Answer::Redeem { user, scopes } => {
            let ends_at = now + refresh::FAMILY;
            let refresh = RefreshToken::generate();
            let new = NewSession { user, client: client.as_str(), scopes, expires_at: ends_at };
            let session = sessions::begin_granted(&mut tx, &new).await?.ok_or_else(no_grant)?;
            let expires_at = refresh::expiry(now, ends_at);
            sessions::add_refresh(&mut tx, session, refresh.hash().as_bytes(), expires_at).await?;
            row.session = Some(session);
            sessions::put_device(&mut tx, code, &row).await?;
            let issued =
                sign_in.issue(user, client.clone(), session, scopes, Some(ends_at)).await?;
            audit::add(&mut tx, Chain::Service, Some(user), &[login(session, client, scopes)]);
            tx.commit().await?;
            Ok(response(&issued, scopes, Some(refresh)))
        }
        other => {
            if let (Answer::Replayed, Some(session)) = (other, row.session) {
                sessions::revoke(&mut tx, session).await?;
                let why = json!({ "why": "a device code came back", "session_revoked": true });
                let event = NewEvent::new(AuditAction::AccessDenied, session).with(why);
                audit::add(&mut tx, Chain::Service, row.user, &[event]);
                tracing::warn!(%session, "a device code came back; its session is revoked");
            }
            sessions::put_device(&mut tx, code, &row).await?;
            tx.commit().await?;
            Err(TokenError::new(other.error().unwrap_or("invalid_grant"), waiting(other)))
        }
    }
}

fn waiting(answer: Answer) -> &'static str {
    match answer {
        Answer::Pending => "nobody has decided yet",
        Answer::SlowDown => "ask less often",
        Answer::Denied => "the login was refused",
        Answer::Expired => "the code has expired; start the login again",
        _ => "this is not valid, or no longer; start the login again",
    }
}

async fn grant_token_exchange(
    sign_in: &SignIn,
    client: ClientId,
    token: &str,
    asked: Option<Scopes>,
) -> Result<TokenResponse, TokenError> {
    let hash = PersonalAccessToken::parse(token).map_err(|_| no_grant())?.hash();
    let holder = accounts::holder(sign_in.store(), hash.as_bytes()).await?.ok_or_else(no_grant)?;
    let held = holder.scopes;
    let scopes = asked.unwrap_or(held);
    if !scopes.is_subset_of(held) {
        return Err(TokenError::new("invalid_scope", format!("the token has only: {held}")));
    }
    let session = SessionId(holder.token.0);
    let event = login(session, &client, scopes);
    let issued = sign_in.issue(holder.user, client, session, scopes, None).await?;
    audit::record_in_own_tx(sign_in.store(), Chain::Service, Some(holder.user), &[event]).await?;
    let response = response(&issued, scopes, None);
    Ok(TokenResponse { issued_token_type: Some(ACCESS_TOKEN), ..response })
}

/// That somebody came in: by the login at a terminal, or with a personal access token.
fn login(session: SessionId, client: &ClientId, scopes: Scopes) -> NewEvent {
    let detail = json!({ "client": client.as_str(), "scopes": scopes.to_string() });
    NewEvent::new(AuditAction::SessionCreated, session).with(detail)
}

/// A token to revoke.
#[derive(Debug, Deserialize, ToSchema)]
pub struct RevocationRequest {
    /// A refresh token; its whole session ends.
    token: String,
}

/// End the session of a refresh token, with all its tokens (RFC 7009).
#[utoipa::path(
    post, path = "/auth/revoke", tag = "accounts", security(()),
    request_body(content = RevocationRequest, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "It is of no use now, whatever it was"))
)]
pub async fn revoke(
    State(api): State<ApiState>,
    Form(request): Form<RevocationRequest>,
) -> Result<(), TokenError> {
    let Ok(token) = RefreshToken::parse(&request.token) else { return Ok(()) };
    let mut tx = api.sign_in.store().begin().await?;
    if let Some(found) = sessions::refresh(&mut tx, token.hash().as_bytes()).await? {
        sessions::revoke(&mut tx, found.session).await?;
        let event = NewEvent::new(AuditAction::SessionRevoked, found.session);
        audit::add(&mut tx, Chain::Service, Some(found.user), &[event]);
        tx.commit().await?;
    }
    Ok(())
}

/// The public halves of the keys that sign access tokens (RFC 7517).
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "accounts", security(()),
    responses((status = 200, description = "A JSON Web Key Set", body = Value))
)]
pub async fn jwks(State(api): State<ApiState>) -> Result<Json<Value>, Problem> {
    let now = Utc::now();
    let keys = api.sign_in.0.keys.current(now).await?;
    Ok(Json(json!(keys.verifying.jwks(now))))
}

/// Where clients get tokens (RFC 8414).
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server", tag = "accounts", security(()),
    responses((status = 200, description = "Metadata", body = Value))
)]
pub async fn metadata(State(api): State<ApiState>) -> Json<Value> {
    let address = |path: &str| api.sign_in.address(path);
    Json(json!({
        "issuer": api.sign_in.0.party.issuer,
        "token_endpoint": address("/auth/token"),
        "device_authorization_endpoint": address("/auth/device"),
        "revocation_endpoint": address("/auth/revoke"),
        "jwks_uri": address("/.well-known/jwks.json"),
        "grant_types_supported": ["refresh_token", DEVICE_CODE, TOKEN_EXCHANGE],
        "token_endpoint_auth_methods_supported": ["none"],
        "response_types_supported": [],
        "scopes_supported": Scopes::ALL.iter().map(mc_domain::Scope::as_str).collect::<Vec<_>>(),
    }))
}
