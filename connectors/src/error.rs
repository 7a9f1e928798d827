//! Errors of providers' APIs. Each message names the way out.

use chrono::{DateTime, SecondsFormat, Utc};
use mc_domain::{Classified, ErrorKind};

use crate::client::{Capability, Provider};

/// Why a request to a provider failed. `connector` is the operator's name for the connector,
/// `action` is the purpose of the request, such as "to list the issues of CS", and `status` is the
/// HTTP status of the response. No message has a credential.
#[expect(missing_docs, reason = "the fields that all errors have are described above")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The connector's configuration is invalid.
    #[error("connectors.{connector}: {reason}")]
    InvalidConfig {
        connector: String,
        /// The fault, and a valid value.
        reason: String,
    },
    /// The provider has no such data.
    #[error("{0} is a {1} and has no {2}; choose another connector")]
    UnsupportedCapability(String, Provider, Capability),
    /// The name of a resource or issue is invalid.
    #[error("{resource:?} is not a valid name at {connector}: {rule}")]
    InvalidResource {
        connector: String,
        /// The name, truncated.
        resource: String,
        /// The rule for names.
        rule: &'static str,
    },
    /// A cursor is not of this connector.
    #[error("the cursor is not of {0}; start the sync again without a cursor")]
    InvalidCursor(String),
    /// The credential is missing or wrong, or lacks a permission.
    #[error("{connector} denied a request {action} (status {status}): {remedy}")]
    Denied {
        connector: String,
        action: String,
        status: u16,
        /// The next step of the operator.
        remedy: String,
    },
    /// The resource does not exist, or the credential may not see it.
    #[error(
        "{connector} found nothing for a request {action} (status {status}); check the name, \
         and that the credential may see it"
    )]
    NotFound { connector: String, action: String, status: u16 },
    /// The resource of an approved write has moved.
    #[error(
        "{connector} has moved or renamed the resource of a request {action}, so nothing was \
         written; integrate the resource under its present name, and approve the text there"
    )]
    ResourceMoved { connector: String, action: String },
    /// The provider's rate limit is exhausted.
    #[error("{connector} is limiting requests; try again after {}", seconds(*retry_at))]
    RateLimited {
        connector: String,
        /// When the rate limit ends.
        retry_at: DateTime<Utc>,
    },
    /// The provider does not respond, or fails.
    #[error("{connector} is unavailable: {reason}; the request is retried later")]
    Unavailable {
        connector: String,
        /// The status, or the error of the connection.
        reason: String,
    },
    /// The provider rejected the request.
    #[error("{connector} rejected a request {action} (status {status}): {reason}")]
    Rejected {
        connector: String,
        action: String,
        status: u16,
        /// The provider's message, truncated and without the credential.
        reason: String,
    },
    /// The response is not one of such a provider.
    #[error(
        "{connector} responded to a request {action} with {reason}; check that \
         connectors.{connector}.base_url is the address of its API and not of a login page"
    )]
    UnexpectedResponse {
        connector: String,
        action: String,
        /// The fault and its position, without quotations.
        reason: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidConfig { .. }
            | Self::UnsupportedCapability(..)
            | Self::InvalidResource { .. }
            | Self::InvalidCursor(_)
            | Self::Rejected { .. } => ErrorKind::Invalid,
            Self::Denied { .. } => ErrorKind::Forbidden,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::ResourceMoved { .. } => ErrorKind::Conflict,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            // The page of a proxy in place of a response is an outage.
            Self::Unavailable { .. } | Self::UnexpectedResponse { .. } => ErrorKind::Unavailable,
        }
    }
}

fn seconds(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
