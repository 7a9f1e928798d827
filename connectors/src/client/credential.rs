//! How credentials are written into a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use reqwest::header::AUTHORIZATION;
use zeroize::Zeroizing;

use super::http::RequestDefaults;
use super::{ConnectorConfig, Error, Token};

/// The token as a bearer's.
pub(super) fn bearer(settings: &ConnectorConfig) -> Result<RequestDefaults, Error> {
    in_header(settings, AUTHORIZATION, |token| Zeroizing::new(format!("Bearer {token}")))
}

/// The token as the user's password, or as a bearer's where no user is named: Atlassian's cloud wants the first, its
/// Data Center the second.
pub(super) fn basic_or_bearer(settings: &ConnectorConfig) -> Result<RequestDefaults, Error> {
    let Some(user) = &settings.user else { return bearer(settings) };
    in_header(settings, AUTHORIZATION, |token| {
        let pair = Zeroizing::new(format!("{user}:{token}"));
        Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())))
    })
}

/// The token in a header of its own.
pub(super) fn header(
    settings: &ConnectorConfig,
    name: &'static str,
) -> Result<RequestDefaults, Error> {
    let plain = |token: &str| Zeroizing::new(token.to_owned());
    in_header(settings, HeaderName::from_static(name), plain)
}

fn in_header(
    settings: &ConnectorConfig,
    name: HeaderName,
    written: impl FnOnce(&str) -> Zeroizing<String>,
) -> Result<RequestDefaults, Error> {
    let Some(token) = settings.token.as_ref().map(Token::expose) else {
        return Ok(RequestDefaults::default());
    };
    let mut value = HeaderValue::from_str(&written(token)).map_err(|_| Error::Settings {
        system: settings.name.clone(),
        reason: "the token holds what no token does, such as a line break; read it again"
            .to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(RequestDefaults { credential: Some((name, value)), ..RequestDefaults::default() })
}
