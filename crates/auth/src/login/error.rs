//! The errors of logins with a provider.

use mc_domain::{Classified, ErrorKind};

use super::config::ProviderName;

/// The error of a failed login. Messages are for the person who signs in. They contain no code, no
/// token, and no text of the provider other than its error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration of a provider is not usable.
    #[error("the login provider {provider} is not configured correctly: {reason}")]
    Settings {
        /// The provider.
        provider: ProviderName,
        /// The setting to change.
        reason: String,
    },
    /// The provider cannot be reached, or failed.
    #[error("{provider} cannot be reached: {reason}; try again in a moment")]
    Unavailable {
        /// The provider.
        provider: ProviderName,
        /// The failure.
        reason: String,
    },
    /// The provider's response violates the protocol.
    #[error("{provider} sent an invalid response: {reason}")]
    BadAnswer {
        /// The provider.
        provider: ProviderName,
        /// The violation.
        reason: String,
    },
    /// The provider rejected the request, for example a code that was used before.
    #[error("{provider} rejected the login ({code}); start it again")]
    Refused {
        /// The provider.
        provider: ProviderName,
        /// The provider's error code (RFC 6749, section 5.2).
        code: String,
    },
    /// The person denied the login, or the provider did.
    #[error("the login was not approved ({code})")]
    NotApproved {
        /// The provider's error code (RFC 6749, section 4.1.2.1).
        code: String,
    },
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
    #[error("the response is not from {provider}; start the login again")]
    MixUp {
        /// The provider of the request.
        provider: ProviderName,
    },
    /// The identity in the provider's response is not valid.
    #[error("the identity from {provider} is not valid; start the login again")]
    Identity {
        /// The provider.
        provider: ProviderName,
        /// The failed check, for the log.
        reason: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Settings { .. } | Self::BadAnswer { .. } => ErrorKind::Internal,
            Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::BadCallback => ErrorKind::Invalid,
            Self::NotApproved { .. } => ErrorKind::Forbidden,
            Self::Refused { .. }
            | Self::WrongState
            | Self::Expired
            | Self::MixUp { .. }
            | Self::Identity { .. } => ErrorKind::Unauthenticated,
        }
    }
}
