//! Errors of prompts and settings.

use mc_domain::{Classified, ErrorKind};

use crate::prompt::{Limits, PromptSize};

/// Reason why a prompt or a setting is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The prompt exceeds a limit.
    #[error(
        "the prompt has {} tokens and {} bytes, and {} tokens and {} bytes are allowed; drop or \
         shorten instructions or examples",
        size.tokens, size.bytes, limits.max_tokens, limits.max_bytes
    )]
    PromptTooLong {
        /// Size of the prompt.
        size: PromptSize,
        /// The allowed size.
        limits: Limits,
    },
    /// Two items of a prompt have the same id or the same text.
    #[error("`{id}` is in the prompt twice; remove one of them")]
    Duplicate {
        /// Id of the second one.
        id: String,
    },
    /// An id is empty, too long, or has characters that are not allowed.
    #[error("`{id}` is no id: use 1 to 64 of the characters a-z, 0-9, `-`, `_` and `.`")]
    InvalidId {
        /// The id, shortened.
        id: String,
    },
    /// A text is empty, or has a control character.
    #[error("the text of `{id}` is empty or has a control character; write a plain text")]
    InvalidText {
        /// Id of the item.
        id: String,
    },
    /// The file of a prompt cannot be read.
    #[error("the prompt file is invalid: {reason}")]
    InvalidFile {
        /// What is wrong, with its line.
        reason: String,
    },
    /// A setting is out of its range.
    #[error("{setting} is {value}, and must be {rule}")]
    InvalidSetting {
        /// Name of the setting.
        setting: &'static str,
        /// The value.
        value: String,
        /// What it must be.
        rule: &'static str,
    },
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::PromptTooLong { .. } => ErrorKind::TooLarge,
            Self::Duplicate { .. }
            | Self::InvalidId { .. }
            | Self::InvalidText { .. }
            | Self::InvalidFile { .. }
            | Self::InvalidSetting { .. } => ErrorKind::Invalid,
        }
    }
}
