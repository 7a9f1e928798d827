//! Errors of providers' APIs. Each message names the way out.

use chrono::{DateTime, SecondsFormat, Utc};
use mc_domain::{Classified, ErrorKind, PullRequestState};

use crate::client::{Capability, Provider};

/// Why a request to a provider failed. `connector` is the operator's name for the connector,
/// `action` is the purpose of the request, such as "to list the issues of CS", and `status` is the
/// HTTP status of the response; `number` is that of a pull request. No message has a credential.
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
    /// This crate does not change repositories at the provider.
    #[error("{0} is a {1}, whose repositories are only read; choose a connector to GitHub")]
    UnsupportedWrites(String, Provider),
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
    /// No connection to the provider can be opened, so it did not receive the request.
    #[error("{connector} is unavailable: the connection failed; the request is retried later")]
    Unreachable { connector: String },
    /// The response to a write was lost. The write may have been carried out.
    #[error(
        "{connector} may have carried out a request {action}, whose response was lost ({reason}); \
         look whether it was carried out before you send it again"
    )]
    OutcomeUnknown {
        connector: String,
        action: String,
        /// The status, or the error of the connection.
        reason: String,
    },
    /// The branch to create exists. If it has the commit to create it at, it is as requested.
    #[error(
        "{connector} already has the branch {branch:?}, at {sha}; if that is another commit than \
         yours, choose another name"
    )]
    BranchExists {
        connector: String,
        branch: String,
        /// The commit of the branch.
        sha: String,
    },
    /// An open pull request with this head and base exists.
    #[error("{connector} already has pull request {number} of this head; use that one")]
    PullRequestExists {
        connector: String,
        /// The number of the existing pull request.
        number: u64,
    },
    /// The head of a pull request is not the commit that was reviewed.
    #[error("the head of pull request {number} at {connector} is now {head}; review that commit")]
    HeadChanged {
        connector: String,
        number: u64,
        /// The head now.
        head: String,
    },
    /// The author of a pull request can't approve it.
    #[error(
        "the credential's user opened pull request {number} at {connector}; another person must \
         approve it"
    )]
    OwnPullRequest { connector: String, number: u64 },
    /// The pull request is closed, or merged with another head.
    #[error("pull request {number} at {connector} is {state}; open another one for more changes")]
    PullRequestClosed { connector: String, number: u64, state: PullRequestState },
    /// The provider does not merge the pull request in its present state: a required check or
    /// review is missing, it has conflicts, it is a draft, or the method is not allowed.
    #[error(
        "{connector} does not merge pull request {number} now: {reason}; read its checks and its \
         state, and merge it once they allow that"
    )]
    NotMergeable {
        connector: String,
        number: u64,
        /// The provider's message, truncated and without the credential.
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
            | Self::UnsupportedWrites(..)
            | Self::Rejected { .. } => ErrorKind::Invalid,
            Self::Denied { .. } | Self::OwnPullRequest { .. } => ErrorKind::Forbidden,
            Self::NotFound { .. } => ErrorKind::NotFound,
            // Not transient: a write must not be repeated before its caller has looked.
            Self::OutcomeUnknown { .. }
            | Self::ResourceMoved { .. }
            | Self::BranchExists { .. }
            | Self::PullRequestExists { .. }
            | Self::HeadChanged { .. }
            | Self::PullRequestClosed { .. }
            | Self::NotMergeable { .. } => ErrorKind::Conflict,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            // The page of a proxy in place of a response is an outage.
            Self::Unreachable { .. }
            | Self::Unavailable { .. }
            | Self::UnexpectedResponse { .. } => ErrorKind::Unavailable,
        }
    }
}

fn seconds(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
