//! Login at an identity provider in a browser, and the end of a browser session.

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use mc_accounts::SignIn;
use mc_accounts::sign_in::browser::{
    self, BrowserSession, FinishedLogin, LOGIN_LIFETIME, SESSION_LIFETIME,
};
use mc_auth::secret::RefreshToken;
use serde::Deserialize;
use utoipa::ToSchema;

use super::device::parameter;
use super::{cookies, pages};
use crate::ApiState;
use crate::extract::Form;
use crate::problem::Problem;

/// Send the browser to an identity provider.
///
/// Redirects to the provider's sign-in page and sets a cookie that ties the login to this browser.
/// The login has to be finished within ten minutes.
#[utoipa::path(
    get, path = "/auth/oauth/{provider}/start", tag = "accounts", security(()),
    params(
        ("provider" = String, Path, description = "Name of the provider in the configuration"),
        ("user_code" = Option<String>, Query, description = "The code of a login in a terminal"),
    ),
    responses((status = 303, description = "To the provider"))
)]
pub async fn start_sign_in(
    State(api): State<ApiState>,
    Path(provider): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    let started = browser::start_login(sign_in, &provider).await?;
    let code = parameter(query.as_deref().unwrap_or_default(), "user_code").unwrap_or_default();
    let code = code_characters(&code);
    let mut response = Redirect::to(started.url.as_str()).into_response();
    let state = started.state.expose();
    cookies::set(&mut response, sign_in, cookies::LOGIN, state, LOGIN_LIFETIME);
    cookies::set(&mut response, sign_in, cookies::USER_CODE, &code, LOGIN_LIFETIME);
    Ok(response)
}

/// Finish a login at an identity provider.
///
/// The provider redirects the browser here. Starts a browser session, sets its cookie and redirects
/// to `/auth/device`. An identity without an account gets a page that says so.
#[utoipa::path(
    get, path = "/auth/oauth/{provider}/callback", tag = "accounts", security(()),
    params(("provider" = String, Path, description = "Name of the provider in the configuration")),
    responses((status = 303, description = "Signed in"))
)]
pub async fn complete_sign_in(
    State(api): State<ApiState>,
    Path(provider): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let sign_in = &api.sign_in;
    let state = cookies::get(&headers, sign_in, cookies::LOGIN);
    let query = query.as_deref().unwrap_or_default();
    let secret = match browser::finish_login(sign_in, &provider, query, state.as_deref()).await? {
        FinishedLogin::Session(secret) => secret,
        FinishedLogin::NoAccount(email) => {
            return Ok(pages::no_account(&provider, email.as_deref()).into_response());
        }
    };
    let code = cookies::get(&headers, sign_in, cookies::USER_CODE).unwrap_or_default();
    let mut response = signed_in(sign_in, &secret, &code);
    cookies::delete(&mut response, sign_in, cookies::LOGIN);
    cookies::delete(&mut response, sign_in, cookies::USER_CODE);
    Ok(response)
}

/// The form that ends a browser session.
#[derive(Debug, Deserialize, ToSchema)]
pub struct SignOutForm {
    /// The CSRF token, which only pages of the session have.
    proof: String,
}

/// End the session of this browser.
///
/// Deletes the session's cookie and returns an HTML page. Terminal logins that the session approved
/// stay.
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
    if let Some(session) = session(sign_in, &headers).await? {
        if !session.is_csrf_token(&form.proof) {
            return Err(Problem::forbidden("this form is not from a page of this session"));
        }
        browser::end_session(sign_in, &session).await?;
    }
    let text = "This browser can approve no more terminals. Those that it approved stay signed in.";
    let mut response = pages::message("You are signed out", text).into_response();
    cookies::delete(&mut response, sign_in, cookies::SESSION);
    Ok(response)
}

/// Returns the session of a browser, if it has a valid one.
pub async fn session(
    sign_in: &SignIn,
    headers: &HeaderMap,
) -> Result<Option<BrowserSession>, Problem> {
    let Some(secret) = cookies::get(headers, sign_in, cookies::SESSION) else { return Ok(None) };
    Ok(browser::find_session(sign_in, &secret).await?)
}

/// Reduces a user code to the characters that are safe in a cookie and a URL.
pub(super) fn code_characters(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_alphabetic() || *c == '-').take(16).collect()
}

/// Sets the cookie of a new session and redirects to the page of device logins, which continues
/// with the user code if there is one.
pub(super) fn signed_in(sign_in: &SignIn, session: &RefreshToken, user_code: &str) -> Response {
    let next = match code_characters(user_code).as_str() {
        "" => "/auth/device".to_owned(),
        code => format!("/auth/device?user_code={code}"),
    };
    let mut response = Redirect::to(&next).into_response();
    cookies::set(&mut response, sign_in, cookies::SESSION, session.expose(), SESSION_LIFETIME);
    response
}
