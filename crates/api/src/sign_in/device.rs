//! Device logins (RFC 8628): a terminal shows a code, and a person approves it in a browser. If no
//! identity provider is configured, the person approves it with a token.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use mc_accounts::sign_in::device::{self, Decider, Decision};
use mc_accounts::sign_in::token::parse_client;
use mc_auth::secret::UserCode;
use mc_contract::operations::sign_in::{DeviceDecision, DeviceLogin, DeviceLoginQuery};
use mc_domain::{Scope, Scopes};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::token_endpoint::{OauthError, TokenError};
use super::{browser, pages};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{Form, JsonBody, QueryString};
use crate::openapi::Access;
use crate::openapi::schemas;
use crate::problem::Problem;

/// A device login to start.
#[derive(Debug, Deserialize, ToSchema)]
pub struct DeviceRequest {
    /// Client id of the program.
    #[schema(value_type = schemas::ClientName, required = false)]
    client_id: Option<String>,
    /// Scopes, separated by spaces; `memory:read memory:write ingest` by default.
    #[schema(value_type = schemas::ScopeNames, required = false)]
    scope: Option<String>,
}

/// A started device login.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "device_code": "example-device-code", "user_code": "BCDF-GHJK",
    "verification_uri": "https://memory.example.org/auth/device",
    "verification_uri_complete": "https://memory.example.org/auth/device?user_code=BCDF-GHJK",
    "expires_in": 600, "interval": 5
}))]
pub struct DeviceAuthorizationResponse {
    /// The code for polling `POST /auth/token`.
    device_code: String,
    /// The code that the person types.
    user_code: String,
    /// The page on which the person types it.
    verification_uri: String,
    /// The same page with the code filled in.
    verification_uri_complete: String,
    /// Seconds until both codes expire.
    expires_in: i64,
    /// Seconds between two polls.
    interval: u32,
}

/// Start a device login.
///
/// Returns a code for the terminal, which polls `POST /auth/token` with it, and a code for the
/// person, who types it on the page `verification_uri`. Both expire after ten minutes.
#[utoipa::path(
    post, path = "/auth/device", tag = "accounts", security(()),
    request_body(content = DeviceRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "Started", body = DeviceAuthorizationResponse),
        (status = 400, description = "The reason for the error", body = OauthError),
    )
)]
pub async fn start_device_login(
    State(api): State<ApiState>,
    form: Result<Form<DeviceRequest>, Problem>,
) -> Result<Json<DeviceAuthorizationResponse>, TokenError> {
    let Form(request) = form.map_err(TokenError::form)?;
    let client = parse_client(request.client_id.as_deref())?;
    let scopes = request.scope.as_deref().map(Scopes::parse).transpose();
    let scopes = scopes.map_err(|error| TokenError::new("invalid_scope", error.to_string()))?;
    let started = device::start(&api.sign_in, &client, scopes).await?;
    let (page, user_code) = (api.sign_in.url("/auth/device"), started.user_code);
    Ok(Json(DeviceAuthorizationResponse {
        device_code: started.device_code.expose().to_owned(),
        user_code: user_code.to_string(),
        verification_uri_complete: format!("{page}?user_code={user_code}"),
        verification_uri: page.into(),
        expires_in: device::LIFETIME.num_seconds(),
        interval: started.interval_seconds,
    }))
}

/// Get a device login that waits for a decision.
///
/// Returns the program and the scopes that it requests, for the decision. A personal access token
/// can't decide: the caller has to be signed in.
#[utoipa::path(
    get, path = "/auth/device/decision", tag = "accounts", params(DeviceLoginQuery),
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 200, description = "The login", body = DeviceLogin))
)]
pub async fn get_device_login(
    State(api): State<ApiState>,
    caller: Principal,
    QueryString(query): QueryString<DeviceLoginQuery>,
) -> Result<Json<DeviceLogin>, Problem> {
    caller.require_interactive()?;
    let code = parse_code(&query.user_code)?;
    let login = device::find_pending(&api.sign_in, &code).await?;
    let login = login.ok_or(mc_accounts::Error::UnknownUserCode)?;
    Ok(Json(DeviceLogin {
        user_code: code.to_string(),
        client: login.client,
        requested_scopes: login.scopes.iter().collect(),
        grantable_scopes: login.scopes.intersection(caller.scopes()).iter().collect(),
    }))
}

/// Approve or deny a device login.
///
/// Approves the login, which signs the terminal in as the caller, or denies it. `ingest:local` and
/// `admin` are granted only if `scopes` contains them. If the caller has none of the requested
/// scopes, the login is denied and the response is an error. A personal access token can't decide:
/// the caller must be signed in.
#[utoipa::path(
    post, path = "/auth/device/decision", tag = "accounts", request_body = DeviceDecision,
    extensions(("x-access" = json!(Access::Interactive))),
    responses((status = 204, description = "Decided"))
)]
pub async fn decide_device_login(
    State(api): State<ApiState>,
    caller: Principal,
    JsonBody(request): JsonBody<DeviceDecision>,
) -> Result<StatusCode, Problem> {
    let code = parse_code(&request.user_code)?;
    caller.require_interactive()?;
    let decision = if request.approve {
        Decision::Approve(request.scopes.map(|scopes| scopes.into_iter().collect()))
    } else {
        Decision::Deny
    };
    device::decide(&api.sign_in, &code, Decider::from(&*caller), decision).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse_code(typed: &str) -> Result<UserCode, Problem> {
    UserCode::parse(typed).map_err(|error| Problem::from(error).field("user_code"))
}

/// Show the page on which a person decides about a device login.
///
/// Returns an HTML page: the question whether to approve, a form for the code, or, without a
/// browser session, the links to the identity providers.
#[utoipa::path(
    get, path = "/auth/device", tag = "accounts", security(()),
    params(("user_code" = Option<String>, Query, description = "The code that the terminal shows")),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
pub async fn show_device_page(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let typed = parameter(query.as_deref().unwrap_or_default(), "user_code");
    let Some(session) = browser::session(&api.sign_in, &headers).await? else {
        let code = typed.filter(|typed| UserCode::parse(typed).is_ok());
        return Ok(pages::sign_in(&api.sign_in, code.as_deref()).into_response());
    };
    let Some(typed) = typed else { return Ok(pages::ask_for_code(&session).into_response()) };
    let Ok(code) = UserCode::parse(&typed) else {
        let text = "Type the code as the terminal shows it.";
        return Ok(pages::message("The code is not valid", text).into_response());
    };
    Ok(match device::find_pending(&api.sign_in, &code).await? {
        Some(login) => pages::consent_page(&session, &code, &login).into_response(),
        None => pages::message(
            "No login waits with this code",
            "It may have expired or been decided. Start it at the terminal again.",
        )
        .into_response(),
    })
}

/// The form of the page on which a person decides.
#[derive(Debug, Deserialize, ToSchema)]
pub struct DecisionForm {
    user_code: String,
    /// `approve` or `deny`.
    decision: String,
    /// `yes` also grants the scope `admin`, if the program requests it.
    #[schema(nullable = false)]
    admin: Option<String>,
    /// `yes` also grants the scope `ingest:local`, if the program requests it.
    #[schema(nullable = false)]
    ingest_local: Option<String>,
    /// The CSRF token, which only pages of the session have.
    proof: String,
}

impl DecisionForm {
    /// Returns the scopes to grant. Those that are granted by name only need a tick.
    fn named_scopes(&self) -> Scopes {
        let is_named =
            |scope: &Scope| !Scopes::BY_NAME_ONLY.contains(*scope) || self.is_ticked(*scope);
        Scopes::ALL.iter().filter(is_named).collect()
    }

    fn is_ticked(&self, scope: Scope) -> bool {
        let value = match scope {
            Scope::IngestLocal => &self.ingest_local,
            Scope::Admin => &self.admin,
            _ => return false,
        };
        value.as_deref() == Some("yes")
    }
}

/// Receive the decision of the page of a device login.
///
/// Approves or denies the login as the person of the browser session and returns an HTML page. The
/// form has to come from a page of that session.
#[utoipa::path(
    post, path = "/auth/device/page", tag = "accounts", security(()),
    request_body(content = DecisionForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A page", content_type = "text/html"),
        (status = 303, description = "To the sign-in page, without a browser session"),
    )
)]
pub async fn submit_device_page(
    State(api): State<ApiState>,
    headers: HeaderMap,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    let Some(session) = browser::session(&api.sign_in, &headers).await? else {
        return Ok(Redirect::to("/auth/device").into_response());
    };
    // Forms of other sites can have the cookie sent along, but do not have the token.
    if !session.is_csrf_token(&form.proof) {
        return Err(Problem::forbidden("this form is not from this login's page"));
    }
    let code = UserCode::parse(&form.user_code)?;
    let is_approved = form.decision == "approve";
    let decision =
        if is_approved { Decision::Approve(Some(form.named_scopes())) } else { Decision::Deny };
    device::decide(&api.sign_in, &code, Decider::from(&session), decision).await?;
    let (title, text) = if is_approved {
        ("You are signed in at the terminal", "You can close this page.")
    } else {
        ("The login was denied", "The terminal is not signed in. You can close this page.")
    };
    Ok(pages::decided(&session, title, text).into_response())
}

/// Returns the value of a query parameter; `None` if it is given twice.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let value = values.next()?.1.into_owned();
    values.next().is_none().then_some(value)
}
