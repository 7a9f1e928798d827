//! Signing in with a browser, at a provider where the person has an account, and the visit that comes of
//! it: long enough to agree to a login at a terminal.

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{TimeDelta, Utc};
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderValue, header};
use mc_auth::login::{Callback, ExternalIdentity, Pending, ProviderName};
use mc_auth::secret::{LoginState, RefreshToken};
use mc_domain::{AuditAction, Scopes, SessionId, UserId};
use mc_store::accounts::User;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::sessions::{self, NewSession};
use serde::Deserialize;
use serde_json::json;
use sha2::Sha256;
use utoipa::ToSchema;

use super::SignIn;
use super::device::parameter;
use super::pages;
use crate::ApiState;
use crate::authenticate::Authenticate as _;
use crate::extract::Form;
use crate::problem::Problem;

/// What a visit is stored as.
pub(super) const CLIENT: &str = "browser";
/// How long a visit lasts.
const VISIT: TimeDelta = TimeDelta::hours(8);

/// Somebody who signed in with this browser.
pub struct BrowserSession {
    /// Who it is.
    pub user: UserId,
    /// What they may pass on.
    pub scopes: Scopes,
    /// The visit.
    pub session: SessionId,
    proof: String,
}

impl BrowserSession {
    /// What the pages of this visit put into their forms.
    pub fn csrf_token(&self) -> &str {
        &self.proof
    }

    /// Whether a form comes from a page of this visit.
    pub fn proves(&self, proof: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        self.proof.as_bytes().ct_eq(proof.as_bytes()).into()
    }
}

/// Send the browser to a login provider.
#[utoipa::path(
    get, path = "/auth/oauth/{provider}/start", tag = "accounts", security(()),
    params(
        ("provider" = String, Path, description = "Its name in the configuration"),
        ("user_code" = Option<String>, Query, description = "Of a login at a terminal to go on with"),
    ),
    responses((status = 303, description = "To the provider"))
)]
pub async fn start(
    State(api): State<ApiState>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    let name = ProviderName::parse(&name).map_err(|_| unknown_provider())?;
    let provider = sign_in.provider(&name).await?.ok_or_else(unknown_provider)?;
    let started = provider.start(&redirect_uri(sign_in, &name), Utc::now());
    let sealed = started.pending.encrypt(&sign_in.0.sealer, &started.state);
    let hash = started.state.hash();
    let expires_at = started.pending.expires_at();
    sessions::keep_pending(sign_in.store(), hash.as_bytes(), name.as_str(), &sealed, expires_at)
        .await?;
    let code = parameter(query.as_deref().unwrap_or_default(), "user_code").unwrap_or_default();
    let mut response = Redirect::to(started.url.as_str()).into_response();
    let minutes = mc_auth::login::LIFETIME;
    set_cookie(&mut response, sign_in, "mc_login", started.state.expose(), minutes);
    set_cookie(&mut response, sign_in, "mc_code", &plain_code(&code), minutes);
    Ok(response)
}

/// Where the provider sends the browser back to.
#[utoipa::path(
    get, path = "/auth/oauth/{provider}/callback", tag = "accounts", security(()),
    params(("provider" = String, Path, description = "Its name in the configuration")),
    responses((status = 303, description = "Signed in"))
)]
pub async fn callback(
    State(api): State<ApiState>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    let name = ProviderName::parse(&name).map_err(|_| unknown_provider())?;
    let provider = sign_in.provider(&name).await?.ok_or_else(unknown_provider)?;
    let callback = Callback::from_query(query.as_deref().unwrap_or_default())?;
    let begun_here =
        cookie(&headers, sign_in, "mc_login").and_then(|text| LoginState::parse(&text).ok());
    if begun_here.is_none_or(|state| state.hash() != callback.state().hash()) {
        sign_in.refusals().token();
        return Err(mc_auth::login::Error::WrongState.into());
    }
    let state = callback.state();
    let taken = sessions::take_pending(sign_in.store(), state.hash().as_bytes()).await?;
    let sealed = taken.ok_or(mc_auth::login::Error::WrongState)?;
    let pending = Pending::decrypt(&sign_in.0.sealer, state, &sealed)?;
    let identity = provider.finish(&callback, pending, Utc::now()).await?;
    let Some(user) = account(sign_in, &identity).await? else {
        sign_in.refusals().token();
        let address = identity.email.as_deref().unwrap_or("the address you have there");
        let text = format!(
            "{name} says who you are, and no account here is yours. Ask an administrator to add a user \
             with the e-mail address {address}."
        );
        return Ok(pages::message("You have no account here", &text).into_response());
    };
    tracing::info!(user = %user.id, provider = %name, "signed in");
    let code = cookie(&headers, sign_in, "mc_code").unwrap_or_default();
    start_browser_session(sign_in, user.id, &plain_code(&code)).await
}

/// The account that the identity is linked to, or the one that an administrator made for its address.
/// Nobody gets an account by knocking.
async fn account(sign_in: &SignIn, identity: &ExternalIdentity) -> Result<Option<User>, Problem> {
    let (store, provider) = (sign_in.store(), identity.provider.as_str());
    let mut user = sessions::identified(store, provider, &identity.subject).await?;
    if let (None, Some(email)) = (&user, &identity.email) {
        user = sessions::invited(store, email).await?;
        if let Some(user) = &user {
            sessions::identify(store, provider, &identity.subject, user.id).await?;
        }
    }
    Ok(user.filter(|user| user.disabled_at.is_none()))
}

/// Begins a visit and leads to the login at a terminal that it is for.
async fn start_browser_session(
    sign_in: &SignIn,
    user: UserId,
    code: &str,
) -> Result<Response, Problem> {
    let ends_at = Utc::now() + VISIT;
    let secret = RefreshToken::generate();
    let session = NewSession { user, client: CLIENT, scopes: Scopes::ALL, expires_at: ends_at };
    let mut tx = sign_in.store().begin().await?;
    let session = sessions::begin(&mut tx, &session).await?;
    let session = session.ok_or_else(|| Problem::forbidden("you may no longer come in"))?;
    sessions::add_refresh(&mut tx, session, secret.hash().as_bytes(), ends_at).await?;
    let event =
        NewEvent::new(AuditAction::SessionCreated, session).with(json!({ "client": CLIENT }));
    audit::add(&mut tx, Chain::Service, Some(user), &[event]);
    tx.commit().await?;
    let next = if code.is_empty() {
        "/auth/device".to_owned()
    } else {
        format!("/auth/device?user_code={code}")
    };
    let mut response = Redirect::to(&next).into_response();
    set_cookie(&mut response, sign_in, "mc_visit", secret.expose(), VISIT);
    set_cookie(&mut response, sign_in, "mc_login", "", TimeDelta::zero());
    set_cookie(&mut response, sign_in, "mc_code", "", TimeDelta::zero());
    Ok(response)
}

/// Who is visiting with this browser.
pub async fn visitor(
    sign_in: &SignIn,
    headers: &HeaderMap,
) -> Result<Option<BrowserSession>, Problem> {
    let Some(text) = cookie(headers, sign_in, "mc_visit") else { return Ok(None) };
    let Ok(secret) = RefreshToken::parse(&text) else { return Ok(None) };
    let mut tx = sign_in.store().begin().await?;
    let found = sessions::refresh(&mut tx, secret.hash().as_bytes()).await?;
    let is_valid = |found: &sessions::Refresh| {
        let is_unused = found.used_at.is_none() && found.expires_at > Utc::now();
        found.client == CLIENT && !found.is_revoked && is_unused
    };
    Ok(found.filter(is_valid).map(|found| BrowserSession {
        user: found.user,
        scopes: found.scopes,
        session: found.session,
        proof: proof(&secret),
    }))
}

/// The form that ends a visit.
#[derive(Debug, Deserialize, ToSchema)]
pub struct SignOutForm {
    /// What only the pages of the visit have.
    proof: String,
}

/// End the visit of this browser. Logins at terminals that it let in go on.
#[utoipa::path(
    post, path = "/auth/sign-out", tag = "accounts", security(()),
    request_body(content = SignOutForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
pub async fn sign_out(
    State(api): State<ApiState>,
    headers: HeaderMap,
    Form(form): Form<SignOutForm>,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    if let Some(visitor) = visitor(sign_in, &headers).await? {
        // Nobody else's page signs people out.
        if !visitor.proves(&form.proof) {
            return Err(Problem::forbidden("this form is not from a page of this visit"));
        }
        let mut tx = sign_in.store().begin().await?;
        sessions::revoke(&mut tx, visitor.session).await?;
        let event = NewEvent::new(AuditAction::SessionRevoked, visitor.session)
            .with(json!({ "client": CLIENT }));
        audit::add(&mut tx, Chain::Service, Some(visitor.user), &[event]);
        tx.commit().await?;
    }
    let text = "This browser decides about no more terminals. Those that it let in stay signed in.";
    let mut response = pages::message("You are signed out", text).into_response();
    set_cookie(&mut response, sign_in, "mc_visit", "", TimeDelta::zero());
    Ok(response)
}

/// Known to whoever has the cookie and to nobody else.
fn proof(secret: &RefreshToken) -> String {
    let key = secret.expose().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(b"memory-copilot form");
    hex::encode(mac.finalize().into_bytes())
}

fn redirect_uri(sign_in: &SignIn, provider: &ProviderName) -> url::Url {
    sign_in.address(&format!("/auth/oauth/{provider}/callback"))
}

fn unknown_provider() -> Problem {
    Problem::not_found("there is no such login provider")
        .field("provider")
        .hint("providers are set up in the configuration: sign_in.providers")
}

/// A user code as a cookie and an address take it: nothing but letters and hyphens.
fn plain_code(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_alphabetic() || *c == '-').take(16).collect()
}

/// The browser sends it to this host alone, shows it to no script, and not to requests from elsewhere
/// but for links that are followed.
fn set_cookie(
    response: &mut Response,
    sign_in: &SignIn,
    name: &str,
    value: &str,
    lives: TimeDelta,
) {
    let (prefix, secure) = cookie_style(sign_in);
    let seconds = lives.num_seconds();
    let text = format!(
        "{prefix}{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    );
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

fn cookie(headers: &HeaderMap, sign_in: &SignIn, name: &str) -> Option<String> {
    let (prefix, _) = cookie_style(sign_in);
    let name = format!("{prefix}{name}");
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let value = pairs.find(|(key, _)| *key == name)?.1;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Under TLS no other host of the domain can set the cookie (`__Host-`); without, only on this machine,
/// browsers refuse both.
fn cookie_style(sign_in: &SignIn) -> (&'static str, &'static str) {
    if sign_in.is_secure() { ("__Host-", "; Secure") } else { ("", "") }
}
