//! Files that are no text.

use mc_domain::{Classified, ErrorKind};

/// Reason why a file can't be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    /// The file has NUL, so it is binary or in an encoding such as UTF-32.
    #[error(
        "the file contains NUL bytes, so it is not text; only text files can be viewed and edited"
    )]
    Nul,
    /// The file has the byte order mark of UTF-16 and is not UTF-16.
    #[error("the file begins as UTF-16 and is invalid UTF-16; convert it to UTF-8 first")]
    InvalidUtf16,
    /// The file is too large.
    #[error("the file has {bytes} bytes, and {max} are allowed; search it instead of viewing it")]
    TooLarge {
        /// Size of the file.
        bytes: usize,
        /// Maximum size.
        max: usize,
    },
}

impl Classified for NotText {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Nul | Self::InvalidUtf16 => ErrorKind::Invalid,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
        }
    }
}
