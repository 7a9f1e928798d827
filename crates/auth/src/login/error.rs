//! What can go wrong between the service and a provider.

use mc_domain::{Classified, ErrorKind};

use super::config::ProviderName;

/// A login that did not come about. Messages are for the person who signs in; none holds a code, a
/// token or a provider's own words beyond an error code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration of a provider can't be used.
    #[error("the login provider {provider} is not set up: {reason}")]
    Settings {
        /// Which.
        provider: ProviderName,
        /// What to change.
        reason: String,
    },
    /// The provider can't be reached, or is not well.
    #[error("{provider} can't be reached now: {reason}; try again in a moment")]
    Unavailable {
        /// Which.
        provider: ProviderName,
        /// What happened.
        reason: String,
    },
    /// What the provider answered is not what the protocol says.
    #[error("{provider} gave an answer that can't be used: {reason}")]
    BadAnswer {
        /// Which.
        provider: ProviderName,
        /// What is wrong with it.
        reason: String,
    },
    /// The provider refused the request, a code that was used before or is another login's included.
    #[error("{provider} refused the login ({code}); start it again")]
    Refused {
        /// Which.
        provider: ProviderName,
        /// The provider's error code (RFC 6749, section 5.2).
        code: String,
    },
    /// The person, or the provider on their behalf, did not agree.
    #[error("the login was not approved ({code})")]
    NotApproved {
        /// The provider's error code (RFC 6749, section 4.1.2.1).
        code: String,
    },
    /// The address that the browser came back with has not the parameters of a login's end.
    #[error("this address does not end a login; start the login again")]
    BadCallback,
    /// Not the login that this browser began, or one that was ended before.
    #[error("this login was begun elsewhere or has been ended before; start it again")]
    WrongState,
    /// It took too long.
    #[error("the login took too long; start it again")]
    Expired,
    /// The answer comes from another provider than the one that was asked (RFC 9207).
    #[error("the answer is not from {provider}; start the login again")]
    MixUp {
        /// The one that was asked.
        provider: ProviderName,
    },
    /// The provider's statement about the person does not hold.
    #[error("{provider}'s statement about who you are does not hold; start the login again")]
    Identity {
        /// Which.
        provider: ProviderName,
        /// What is wrong with it, for the log.
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
