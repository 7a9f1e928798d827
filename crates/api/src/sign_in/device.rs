//! Signing in at a terminal (RFC 8628): a code is shown there, and a person agrees to it in a browser,
//! or, where no login provider is set up, with a token that they have.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Utc;
use http::{HeaderMap, StatusCode};
use mc_auth::client::ClientId;
use mc_auth::device_grant::{self, Grant, State as GrantState};
use mc_auth::secret::{DeviceCode, UserCode};
use mc_domain::{AuditAction, Scope, Scopes, TokenId, UserId};
use mc_store::Tx;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::sessions::{self, Device, DeviceCodeKey, DeviceState};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::SignIn;
use super::browser;
use super::pages::{self, Page};
use super::token_endpoint::{OauthError, TokenError, client};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::{Form, ValidJson};
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{Validate, ValidationError};

/// What a terminal gets that asks for nothing in particular: the daily work, and no administration.
const UNASKED: [Scope; 3] = [Scope::MemoryRead, Scope::MemoryWrite, Scope::Ingest];

/// A login to begin.
#[derive(Debug, Deserialize, ToSchema)]
pub struct DeviceRequest {
    /// Which program asks.
    #[schema(value_type = schemas::ClientName, required = false)]
    client_id: Option<String>,
    /// What for, with spaces between; `memory:read memory:write ingest` when absent.
    #[schema(value_type = schemas::ScopeNames, required = false)]
    scope: Option<String>,
}

/// A login that was begun.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeviceAuthorizationResponse {
    /// What to poll `POST /auth/token` with.
    device_code: String,
    /// What the person types.
    user_code: String,
    /// Where.
    verification_uri: String,
    /// The same with the code filled in.
    verification_uri_complete: String,
    /// Seconds until both codes expire.
    expires_in: i64,
    /// Seconds between two polls.
    interval: u32,
}

/// Begin to sign in at a terminal.
#[utoipa::path(
    post, path = "/auth/device", tag = "accounts", security(()),
    request_body(content = DeviceRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "Begun", body = DeviceAuthorizationResponse),
        (status = 400, description = "Not begun, and why", body = OauthError),
    )
)]
pub async fn authorize(
    State(api): State<ApiState>,
    form: Result<Form<DeviceRequest>, Problem>,
) -> Result<Json<DeviceAuthorizationResponse>, TokenError> {
    let Form(request) = form.map_err(TokenError::form)?;
    let client = client(request.client_id.as_deref())?;
    let asked = request.scope.as_deref().map(Scopes::parse).transpose();
    let asked = asked.map_err(|error| TokenError::new("invalid_scope", error.to_string()))?;
    let grant = Grant::begin(client, asked.unwrap_or(UNASKED.into_iter().collect()), Utc::now());
    let (device, user_code) = (DeviceCode::generate(), UserCode::generate());
    let row = Device {
        client: grant.client.to_string(),
        requested_scopes: grant.requested,
        expires_at: grant.expires_at,
        interval: i32::try_from(grant.interval).unwrap_or(i32::MAX),
        last_polled_at: None,
        state: DeviceState::Pending,
        user: None,
        scopes: Scopes::NONE,
        session: None,
    };
    let (device_hash, code_hash) = (device.hash(), user_code.hash());
    let store = api.sign_in.store();
    sessions::begin_device(store, device_hash.as_bytes(), code_hash.as_bytes(), &row).await?;
    let address = api.sign_in.address("/auth/device");
    Ok(Json(DeviceAuthorizationResponse {
        device_code: device.expose().to_owned(),
        user_code: user_code.to_string(),
        verification_uri_complete: format!("{address}?user_code={user_code}"),
        verification_uri: address.into(),
        expires_in: device_grant::LIFETIME.num_seconds(),
        interval: grant.interval,
    }))
}

/// What a person decides about a login at a terminal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"user_code": "BCDF-GHJK", "approve": true}))]
pub struct DeviceDecision {
    /// As the terminal shows it.
    #[schema(value_type = schemas::UserCode)]
    user_code: String,
    /// Whether whoever sits there may come in as the caller.
    approve: bool,
}

impl Validate for DeviceDecision {
    type Checked = (UserCode, bool);

    fn check(self) -> Result<(UserCode, bool), ValidationError> {
        let code = UserCode::parse(&self.user_code);
        Ok((code.map_err(|error| ValidationError::new("user_code", error))?, self.approve))
    }
}

/// Let somebody at a terminal come in as the caller, or refuse it.
#[utoipa::path(
    post, path = "/auth/device/decision", tag = "accounts", request_body = DeviceDecision,
    responses((status = 204, description = "Decided"))
)]
pub async fn decide(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson((code, approve)): ValidJson<DeviceDecision>,
) -> Result<StatusCode, Problem> {
    caller.require_presence()?;
    let by = Decider { user: caller.user, credential: caller.credential() };
    settle(&api.sign_in, &code, by, approve.then_some(caller.scopes())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The page on which a person decides about a login at a terminal.
#[utoipa::path(
    get, path = "/auth/device", tag = "accounts", security(()),
    params(("user_code" = Option<String>, Query, description = "As the terminal shows it")),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
pub async fn show(
    State(api): State<ApiState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let typed = parameter(query.as_deref().unwrap_or_default(), "user_code");
    let Some(visitor) = browser::visitor(&api.sign_in, &headers).await? else {
        let code = typed.filter(|typed| UserCode::parse(typed).is_ok());
        return Ok(pages::sign_in(&api.sign_in, code.as_deref()).into_response());
    };
    let Some(typed) = typed else { return Ok(pages::ask_for_code(&visitor).into_response()) };
    let Ok(code) = UserCode::parse(&typed) else {
        return Ok(
            pages::message("That is no code", "Type it as the terminal shows it.").into_response()
        );
    };
    let mut tx = api.sign_in.store().begin().await?;
    let hash = code.hash();
    let grant = sessions::device(&mut tx, DeviceCodeKey::User(hash.as_bytes())).await?;
    let waits = |row: &Device| row.state == DeviceState::Pending && row.expires_at > Utc::now();
    Ok(match grant.filter(waits) {
        Some(row) => pages::consent_page(&visitor, &code, &row).into_response(),
        None => pages::message(
            "No login waits with this code",
            "It may have expired or been decided. Start it at the terminal again.",
        )
        .into_response(),
    })
}

/// The form of that page.
#[derive(Debug, Deserialize, ToSchema)]
pub struct DecisionForm {
    user_code: String,
    /// `approve` or `deny`.
    decision: String,
    /// What only the page itself has.
    proof: String,
}

/// What the page of a login at a terminal sends.
#[utoipa::path(
    post, path = "/auth/device/page", tag = "accounts", security(()),
    request_body(content = DecisionForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "A page", content_type = "text/html"),
        (status = 303, description = "To the page that begins a visit, where there is none"),
    )
)]
pub async fn decide_in_browser(
    State(api): State<ApiState>,
    headers: HeaderMap,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    let Some(visitor) = browser::visitor(&api.sign_in, &headers).await? else {
        return Ok(Redirect::to("/auth/device").into_response());
    };
    // The cookie comes along from anywhere; the proof is only on our own page.
    if !visitor.proves(&form.proof) {
        return Err(Problem::forbidden("this form is not from this login's page"));
    }
    let code = UserCode::parse(&form.user_code)?;
    let approves = form.decision == "approve";
    let by = Decider { user: visitor.user, credential: visitor.session.0.into() };
    settle(&api.sign_in, &code, by, approves.then_some(visitor.scopes)).await?;
    let done: Page = if approves {
        pages::decided(&visitor, "You are signed in at the terminal", "You can close this page.")
    } else {
        let text = "Nobody comes in by it. You can close this page.";
        pages::decided(&visitor, "The login was refused", text)
    };
    Ok(done.into_response())
}

/// Who decides, and what they came in by.
#[derive(Clone, Copy)]
struct Decider {
    user: UserId,
    credential: TokenId,
}

/// Approves (with at most these scopes) or refuses.
async fn settle(
    sign_in: &SignIn,
    code: &UserCode,
    by: Decider,
    approved: Option<Scopes>,
) -> Result<(), Problem> {
    let hash = code.hash();
    let code = DeviceCodeKey::User(hash.as_bytes());
    let mut tx: Tx = sign_in.store().begin().await?;
    let row = sessions::device(&mut tx, code).await?;
    let mut row = row.ok_or_else(unknown_code)?;
    let mut grant = judged(&row).ok_or_else(unknown_code)?;
    match approved {
        Some(scopes) => grant.approve(by.user, scopes, Utc::now())?,
        None => grant.deny(Utc::now())?,
    }
    // Behind the rules: a login that still waits is none that whoever ends the sessions waits for.
    if !sessions::is_credential_valid(&mut tx, by.user, by.credential).await? {
        return Err(Problem::unauthenticated());
    }
    stored(&mut row, &grant);
    sessions::put_device(&mut tx, code, &row).await?;
    let detail = json!({ "approved": approved.is_some(), "client": row.client });
    let event = NewEvent::new(AuditAction::DeviceLoginDecided, "device").with(detail);
    audit::add(&mut tx, Chain::Service, Some(by.user), &[event]);
    tx.commit().await?;
    Ok(())
}

fn unknown_code() -> Problem {
    Problem::not_found("no login waits with this code")
        .field("user_code")
        .hint("start it at the terminal again: memory-copilot login")
}

/// A stored login as its rules see it.
pub(super) fn judged(row: &Device) -> Option<Grant> {
    let state = match (row.state, row.user) {
        (DeviceState::Pending, _) => GrantState::Pending,
        (DeviceState::Approved, Some(user)) => GrantState::Approved { user, scopes: row.scopes },
        // Without a user there is nobody to be.
        (DeviceState::Approved, None) | (DeviceState::Denied, _) => GrantState::Denied,
        (DeviceState::Consumed, _) => GrantState::Consumed,
    };
    Some(Grant {
        client: ClientId::parse(&row.client).ok()?,
        requested: row.requested_scopes,
        expires_at: row.expires_at,
        interval: u32::try_from(row.interval).ok()?,
        last_polled_at: row.last_polled_at,
        state,
    })
}

/// Writes into the row what its rules made of it.
pub(super) fn stored(row: &mut Device, grant: &Grant) {
    row.interval = i32::try_from(grant.interval).unwrap_or(i32::MAX);
    row.last_polled_at = grant.last_polled_at;
    row.state = match grant.state {
        GrantState::Pending => DeviceState::Pending,
        GrantState::Approved { user, scopes } => {
            row.user = Some(user);
            row.scopes = scopes;
            DeviceState::Approved
        }
        GrantState::Denied => DeviceState::Denied,
        GrantState::Consumed => DeviceState::Consumed,
    };
}

/// The one value of a parameter; none where it stands twice.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let value = values.next()?.1.into_owned();
    values.next().is_none().then_some(value)
}
