//! Why a system did not say what it was asked for, each with the way out in its message.

use chrono::{DateTime, SecondsFormat, Utc};
use mc_domain::{Classified, ErrorKind};

use super::{Capability, Provider};

/// Why there is no answer. `system` is the operator's name for it; no message holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The operator's settings can't be right.
    #[error("connectors.{system}: {reason}")]
    Settings {
        /// Which system.
        system: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// It is not the kind of system that has such things.
    #[error("{system} is a {kind} and has no {ability}; choose another system")]
    Lacks {
        /// Which system.
        system: String,
        /// What it is.
        kind: Provider,
        /// What it was asked for.
        ability: Capability,
    },
    /// What was asked for can't be the name of anything there.
    #[error("{what:?} is nothing that {system} can have: {rule}")]
    Unfit {
        /// Which system.
        system: String,
        /// What was asked for, cut to size.
        what: String,
        /// What it must be.
        rule: &'static str,
    },
    /// The place where a sync stood is none of this client's.
    #[error("the cursor is none of {system}'s; begin the sync anew, without one")]
    Cursor {
        /// Which system.
        system: String,
    },
    /// The credential is missing, wrong, or may not do it.
    #[error("{system} refused {action} (status {status}): {remedy}")]
    Refused {
        /// Which system.
        system: String,
        /// What was to be done, such as "to list the issues of CS".
        action: String,
        /// HTTP status.
        status: u16,
        /// Which credential, and which right may be missing.
        remedy: String,
    },
    /// It is not there, or the credential may not see it.
    #[error(
        "{system} knows nothing of what is needed {action} (status {status}); check its name, and that the \
         credential may see it"
    )]
    NotFound {
        /// Which system.
        system: String,
        /// What was to be done.
        action: String,
        /// HTTP status.
        status: u16,
    },
    /// What was to be written to is not where somebody agreed to have it written.
    #[error(
        "{system} has what is needed {action} at another place by now, or by another name, so nothing was written; \
         connect that place by the name that it has now, and agree to it there"
    )]
    Moved {
        /// Which system.
        system: String,
        /// What was to be done.
        action: String,
    },
    /// It wants fewer requests.
    #[error("{system} is limiting requests; ask again after {}", moment(*retry_at))]
    RateLimited {
        /// Which system.
        system: String,
        /// When it will answer again.
        retry_at: DateTime<Utc>,
    },
    /// It is away, slow, or failing.
    #[error("{system} is unavailable: {reason}; it is asked again later")]
    Unavailable {
        /// Which system.
        system: String,
        /// Status, or the client's words.
        reason: String,
    },
    /// It understood the request and said no.
    #[error("{system} did not agree {action} (status {status}): {reason}")]
    Rejected {
        /// Which system.
        system: String,
        /// What was to be done.
        action: String,
        /// HTTP status.
        status: u16,
        /// Its words, cut to size and without the credential.
        reason: String,
    },
    /// What came back is not what such a system answers.
    #[error(
        "{system} answered {action} with {reason}; check that connectors.{system}.base_url is the address of \
         its API and not of a page to log in at"
    )]
    NotUnderstood {
        /// Which system.
        system: String,
        /// What was to be done.
        action: String,
        /// What is wrong, with its place and without its text.
        reason: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Settings { .. }
            | Self::Lacks { .. }
            | Self::Unfit { .. }
            | Self::Cursor { .. }
            | Self::Rejected { .. } => ErrorKind::Invalid,
            Self::Refused { .. } => ErrorKind::Forbidden,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Moved { .. } => ErrorKind::Conflict,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            // A proxy's page in place of an answer passes, as an outage does.
            Self::Unavailable { .. } | Self::NotUnderstood { .. } => ErrorKind::Unavailable,
        }
    }
}

fn moment(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
