//! Errors of chat models; each message names a remedy.

use std::time::Duration;

use mc_domain::{Classified, ErrorKind};

use crate::{ModelRole, Usage};

/// Reason why a completion is missing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No model has the role.
    #[error(
        "no chat model has the role {role}: add one to `chat.models` in the configuration, with \
         `roles: [{role}]`, and restart the service"
    )]
    NotConfigured {
        /// The role.
        role: ModelRole,
    },
    /// The role has the model of MCP clients.
    #[error(
        "the role {role} has the model {model} of MCP clients in `chat.models`, which is asked \
         after saves only; give the role to a model of a server in its place, and restart the \
         service"
    )]
    OfClients {
        /// The role.
        role: ModelRole,
        /// Name of the model in the configuration.
        model: String,
    },
    /// A setting of a model is invalid.
    #[error("chat.models.{model}.{field}: {rule}")]
    Settings {
        /// Name of the model in the configuration.
        model: String,
        /// The setting.
        field: &'static str,
        /// What it must be.
        rule: String,
    },
    /// The server rejected the API key.
    #[error("the chat server {server} refused the key (status {status}): {remedy}")]
    Credentials {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// How to configure the key.
        remedy: String,
    },
    /// The server limits the rate of requests.
    #[error("the chat server {server} is limiting requests; try again later")]
    RateLimited {
        /// Host and port.
        server: String,
        /// Wait that the server requested.
        retry_after: Option<Duration>,
    },
    /// The server is unreachable or failing, or broke off its answer.
    #[error(
        "the chat server {server} is unavailable: {reason}; check that it runs and that \
         `base_url` is right"
    )]
    Unavailable {
        /// Host and port.
        server: String,
        /// What happened.
        reason: String,
        /// Wait that the server requested.
        retry_after: Option<Duration>,
    },
    /// The answer took too long.
    #[error(
        "the chat server {server} did not finish its answer within {} s; use a faster model, or \
         raise `timeout_seconds` of the model", limit.as_secs()
    )]
    TimedOut {
        /// Host and port.
        server: String,
        /// The time limit.
        limit: Duration,
    },
    /// The server failed repeatedly, so no request is sent for a while.
    #[error(
        "the chat model {model} failed several times in a row; no request is sent to it for \
         another {} s", wait.as_secs().max(1)
    )]
    Paused {
        /// Name of the model in the configuration.
        model: String,
        /// Time until the next request.
        wait: Duration,
    },
    /// The server rejected the request as invalid.
    #[error(
        "the chat server {server} refused the request (status {status}): {reason}; check \
        `model`"
    )]
    Refused {
        /// Host and port.
        server: String,
        /// HTTP status.
        status: u16,
        /// Message of the server, shortened and masked.
        reason: String,
    },
    /// The prompt exceeds the model's limit. Nothing was sent.
    #[error(
        "the prompt has {bytes} bytes, and {max_bytes} are allowed; shorten it, or raise \
         `max_prompt_bytes` of the model"
    )]
    PromptTooLarge {
        /// Size of the prompt.
        bytes: usize,
        /// Limit of the model.
        max_bytes: usize,
    },
    /// The answer exceeds the model's limit.
    #[error(
        "the answer has more than {max_bytes} bytes; ask for less, or raise \
         `max_completion_bytes` of the model"
    )]
    AnswerTooLarge {
        /// Limit of the model.
        max_bytes: usize,
    },
    /// The answer reached the limit of tokens, and is incomplete.
    #[error(
        "the model {model} reached its limit of {max_tokens} tokens; ask for less, or raise \
        `max_completion_tokens` of the model"
    )]
    TokenLimit {
        /// Name of the model in the configuration.
        model: String,
        /// Limit of the model.
        max_tokens: u32,
    },
    /// The model, or a filter of its provider, declined to answer.
    #[error("the model {model} declined to answer")]
    Declined {
        /// Name of the model in the configuration.
        model: String,
    },
    /// The answer has not the requested form.
    #[error("the model {model} returned {defect}")]
    BadAnswer {
        /// Name of the model in the configuration.
        model: String,
        /// What is wrong; quotes nothing of the answer.
        defect: String,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotConfigured { .. } | Self::OfClients { .. } => ErrorKind::Conflict,
            Self::Settings { .. } => ErrorKind::Invalid,
            Self::RateLimited { .. } => ErrorKind::RateLimited,
            Self::Credentials { .. }
            | Self::Unavailable { .. }
            | Self::TimedOut { .. }
            | Self::Paused { .. } => ErrorKind::Unavailable,
            Self::PromptTooLarge { .. } => ErrorKind::TooLarge,
            Self::Refused { .. }
            | Self::AnswerTooLarge { .. }
            | Self::TokenLimit { .. }
            | Self::Declined { .. }
            | Self::BadAnswer { .. } => ErrorKind::Internal,
        }
    }
}

impl Error {
    /// Returns whether the same request may succeed at once or after a wait. An answer that timed
    /// out would probably time out again.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }

    /// Returns whether the server is to blame, and not the request.
    pub(crate) fn is_failure_of_server(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Unavailable { .. }
                | Self::TimedOut { .. }
                | Self::Credentials { .. }
        )
    }

    /// Returns the wait that the server requested.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

/// A request that failed, with the tokens that it used all the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// The cause.
    #[source]
    pub error: Error,
    /// Tokens of all attempts that reached the model.
    pub usage: Usage,
}

impl Classified for Failure {
    fn kind(&self) -> ErrorKind {
        self.error.kind()
    }
}
