//! The errors of logins with a provider.

use std::fmt::Display;

use mc_domain::{Classified, ErrorKind};
use oauth2::{ErrorResponseType, RequestTokenError, StandardErrorResponse};
use serde::Deserialize;

use super::config::ProviderName;
use super::http::ProviderHttpError;

/// The error of a failed login. Messages are for the person who signs in. They contain no code, no
/// token, and no text of the provider other than its error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration of a provider is not usable: the provider, and the setting to change.
    #[error("the login provider {0} is not configured correctly: {1}")]
    Settings(ProviderName, String),
    /// The provider cannot be reached, or failed.
    #[error("{0} cannot be reached: {1}; try again in a moment")]
    Unavailable(ProviderName, String),
    /// The provider's response violates the protocol.
    #[error("{0} sent an invalid response: {1}")]
    BadAnswer(ProviderName, String),
    /// The provider rejected the request with this error code (RFC 6749, section 5.2).
    #[error("{0} rejected the login ({1}); start it again")]
    Refused(ProviderName, String),
    /// The login was denied, with this error code (RFC 6749, section 4.1.2.1).
    #[error("the login was not approved ({0})")]
    NotApproved(String),
    /// The redirect URL lacks parameters of an authorization response.
    #[error("this URL does not finish a login; start the login again")]
    BadCallback,
    /// The login was started in another browser, or is already finished.
    #[error("this login was started elsewhere or is already finished; start it again")]
    WrongState,
    /// The login has expired.
    #[error("the login took too long; start it again")]
    Expired,
    /// The response comes from another provider than the request went to (RFC 9207).
    #[error("the response is not from {0}; start the login again")]
    MixUp(ProviderName),
    /// The identity in the response is not valid. The text is the failed check, for the log.
    #[error("the identity from {0} is not valid; start the login again")]
    Identity(ProviderName, String),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Settings(..) | Self::BadAnswer(..) => ErrorKind::Internal,
            Self::Unavailable(..) => ErrorKind::Unavailable,
            Self::BadCallback => ErrorKind::Invalid,
            Self::NotApproved(..) => ErrorKind::Forbidden,
            Self::Refused(..)
            | Self::WrongState
            | Self::Expired
            | Self::MixUp(..)
            | Self::Identity(..) => ErrorKind::Unauthenticated,
        }
    }
}

/// Maximum characters of an error code that are shown.
const MAX_CODE: usize = 40;

impl ProviderHttpError {
    pub(super) fn of(self, provider: &ProviderName) -> Error {
        let provider = provider.clone();
        let reason = self.to_string();
        match self {
            Self::Address(_) | Self::Setup => Error::Settings(provider, reason),
            Self::Late | Self::Broken | Self::Status { .. } => Error::Unavailable(provider, reason),
            Self::TooLarge | Self::Json => Error::BadAnswer(provider, reason),
        }
    }
}

/// Classifies an error of the token endpoint.
pub(super) fn token_error<T: ErrorResponseType + Display + 'static>(
    provider: &ProviderName,
    error: RequestTokenError<ProviderHttpError, StandardErrorResponse<T>>,
) -> Error {
    let refused = |code: &str| Error::Refused(provider.clone(), shown_code(code));
    match error {
        RequestTokenError::Request(error) => error.of(provider),
        RequestTokenError::ServerResponse(response) => refused(&response.error().to_string()),
        // GitHub sends errors with status 200.
        RequestTokenError::Parse(error, body) => match serde_json::from_slice::<Refusal>(&body) {
            Ok(refusal) => refused(&refusal.error),
            Err(_) => bad_answer(provider, &format!("no token at `{}`", error.path())),
        },
        RequestTokenError::Other(_) => bad_answer(provider, "no token"),
    }
}

/// Returns the error of an invalid response. `reason` must not quote it: it may contain a token.
pub(super) fn bad_answer(provider: &ProviderName, reason: &str) -> Error {
    Error::BadAnswer(provider.clone(), reason.to_owned())
}

/// Reduces a provider's error code to letters, digits, `_`, `-` and `.`, to show it safely.
pub(crate) fn shown_code(code: &str) -> String {
    let is_harmless = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    code.chars().filter(is_harmless).take(MAX_CODE).collect()
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}
