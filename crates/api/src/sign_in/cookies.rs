//! Cookies of the sign-in pages.

use axum::response::Response;
use chrono::TimeDelta;
use http::{HeaderMap, HeaderValue, header};
use mc_accounts::SignIn;

/// Secret of the browser session.
pub const SESSION: &str = "mc_visit";
/// State of the login at a provider.
pub const LOGIN: &str = "mc_login";
/// User code of the device login to continue with after a login at a provider.
pub const USER_CODE: &str = "mc_code";

/// Adds a cookie to a response. Browsers send it to this host only, hide it from scripts, and
/// leave it out of cross-site requests other than followed links.
pub fn set(
    response: &mut Response,
    sign_in: &SignIn,
    name: &str,
    value: &str,
    lifetime: TimeDelta,
) {
    let (prefix, secure) = style(sign_in);
    let seconds = lifetime.num_seconds();
    let text = format!(
        "{prefix}{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    );
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

/// Deletes a cookie.
pub fn delete(response: &mut Response, sign_in: &SignIn, name: &str) {
    set(response, sign_in, name, "", TimeDelta::zero());
}

/// Returns the value of a cookie, unless it is empty.
pub fn get(headers: &HeaderMap, sign_in: &SignIn, name: &str) -> Option<String> {
    let (prefix, _) = style(sign_in);
    let name = format!("{prefix}{name}");
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let value = pairs.find(|(key, _)| *key == name)?.1;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the prefix and the attribute of cookies over TLS: with `__Host-` no other host of the
/// domain can set the cookie. Without TLS, which is for one machine, browsers reject both.
fn style(sign_in: &SignIn) -> (&'static str, &'static str) {
    if sign_in.is_secure() { ("__Host-", "; Secure") } else { ("", "") }
}
