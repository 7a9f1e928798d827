//! Classification of a provider's error responses.

use std::fmt::Display;

use oauth2::{ErrorResponseType, RequestTokenError, StandardErrorResponse};
use serde::Deserialize;

use super::http::ProviderHttpError;
use super::{Error, ProviderName};

/// Maximum characters of an error code that are shown.
const MAX_CODE: usize = 40;

impl ProviderHttpError {
    pub(super) fn of(self, provider: &ProviderName) -> Error {
        let provider = provider.clone();
        let reason = self.to_string();
        match self {
            Self::Address(_) | Self::Setup => Error::Settings { provider, reason },
            Self::Late | Self::Broken | Self::Status(_) => Error::Unavailable { provider, reason },
            Self::TooLarge | Self::Json => Error::BadAnswer { provider, reason },
        }
    }
}

/// Classifies an error of the token endpoint.
pub(super) fn token_error<T: ErrorResponseType + Display + 'static>(
    provider: &ProviderName,
    error: RequestTokenError<ProviderHttpError, StandardErrorResponse<T>>,
) -> Error {
    let refused =
        |code: &str| Error::Refused { provider: provider.clone(), code: shown_code(code) };
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
    Error::BadAnswer { provider: provider.clone(), reason: reason.to_owned() }
}

/// Reduces an error code of a provider to letters, digits, `_`, `-` and `.`, so that it is safe to
/// show.
pub(crate) fn shown_code(code: &str) -> String {
    let is_harmless = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    code.chars().filter(is_harmless).take(MAX_CODE).collect()
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}
