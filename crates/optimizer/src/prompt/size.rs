//! Sizes of prompts and their limits.

use serde::{Deserialize, Serialize};

use super::Prompt;
use crate::Error;

/// Size of a rendered prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSize {
    /// Tokens, as `mc_tokens` counts them.
    pub tokens: usize,
    /// Bytes in UTF-8.
    pub bytes: usize,
}

impl PromptSize {
    pub(super) fn of(text: &str) -> Self {
        Self { tokens: mc_tokens::count(text), bytes: text.len() }
    }
}

/// Maximum size of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum number of tokens.
    pub max_tokens: usize,
    /// Maximum number of bytes.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_tokens: 2_000, max_bytes: 16 * 1024 }
    }
}

impl Limits {
    /// Returns the size of a prompt, or an error with both numbers if it exceeds a limit.
    pub fn check(&self, prompt: &Prompt) -> Result<PromptSize, Error> {
        let size = prompt.size();
        if size.tokens > self.max_tokens || size.bytes > self.max_bytes {
            return Err(Error::PromptTooLong { size, limits: *self });
        }
        Ok(size)
    }
}
