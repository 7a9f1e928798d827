//! What a provider's answer means when it is not the one that was wanted.

use std::fmt::Display;

use oauth2::{ErrorResponseType, RequestTokenError, StandardErrorResponse};
use serde::Deserialize;

use super::http::ProviderHttpError;
use super::{Error, ProviderName};

/// Characters of an error code that are shown.
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

/// The token endpoint's refusal.
pub(super) fn of_token<T: ErrorResponseType + Display + 'static>(
    provider: &ProviderName,
    error: RequestTokenError<ProviderHttpError, StandardErrorResponse<T>>,
) -> Error {
    let refused =
        |code: &str| Error::Refused { provider: provider.clone(), code: shown_code(code) };
    match error {
        RequestTokenError::Request(lost) => lost.of(provider),
        RequestTokenError::ServerResponse(response) => refused(&response.error().to_string()),
        // GitHub answers its refusals with status 200.
        RequestTokenError::Parse(error, body) => match serde_json::from_slice::<Refusal>(&body) {
            Ok(refusal) => refused(&refusal.error),
            Err(_) => bad_answer(provider, &format!("no token at `{}`", error.path())),
        },
        RequestTokenError::Other(_) => bad_answer(provider, "no token"),
    }
}

/// `reason` says where the answer is wrong, and repeats none of it: it may hold a token.
pub(super) fn bad_answer(provider: &ProviderName, reason: &str) -> Error {
    Error::BadAnswer { provider: provider.clone(), reason: reason.to_owned() }
}

/// An error code from outside, harmless to show: letters, digits, `_`, `-` and `.` of it.
pub(crate) fn shown_code(code: &str) -> String {
    let is_harmless = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    code.chars().filter(is_harmless).take(MAX_CODE).collect()
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}
