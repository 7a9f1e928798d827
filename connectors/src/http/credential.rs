//! The headers that carry a credential.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use reqwest::header::AUTHORIZATION;
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use super::RequestDefaults;
use crate::client::ConnectorConfig;
use crate::error::Error;

/// Sends the token as a bearer token.
pub(crate) fn bearer(config: &ConnectorConfig) -> Result<RequestDefaults, Error> {
    in_header(config, AUTHORIZATION, |token| Zeroizing::new(format!("Bearer {token}")))
}

/// Sends the token as the user's password, or as a bearer token if the connector has no user.
/// Atlassian Cloud takes the former, Data Center the latter.
pub(crate) fn basic_or_bearer(config: &ConnectorConfig) -> Result<RequestDefaults, Error> {
    let Some(user) = &config.user else { return bearer(config) };
    in_header(config, AUTHORIZATION, |token| {
        let pair = Zeroizing::new(format!("{user}:{token}"));
        Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())))
    })
}

/// Sends the token in a header of the provider's own.
pub(crate) fn header(
    config: &ConnectorConfig,
    name: &'static str,
) -> Result<RequestDefaults, Error> {
    let plain = |token: &str| Zeroizing::new(token.to_owned());
    in_header(config, HeaderName::from_static(name), plain)
}

fn in_header(
    config: &ConnectorConfig,
    name: HeaderName,
    format: impl FnOnce(&str) -> Zeroizing<String>,
) -> Result<RequestDefaults, Error> {
    let Some(token) = config.token.as_ref().map(ExposeSecret::expose_secret) else {
        return Ok(RequestDefaults::default());
    };
    let mut value = HeaderValue::from_str(&format(token)).map_err(|_| Error::InvalidConfig {
        connector: config.name.clone(),
        reason: "the token has characters that no header can hold, such as a line break; \
                 set the token again"
            .to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(RequestDefaults { credential: Some((name, value)), ..RequestDefaults::default() })
}
