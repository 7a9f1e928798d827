//! What a model answered.

use std::iter::Sum;
use std::ops::Add;

use mc_sanitizer::Sanitized;
use serde_json::Value;

/// Tokens that a request used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the completion, with those of hidden reasoning.
    pub completion_tokens: u64,
}

impl Usage {
    /// Returns all tokens.
    pub fn total(self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            completion_tokens: self.completion_tokens + other.completion_tokens,
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// The content of a completion, masked.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(Sanitized),
    /// JSON of the requested schema, with its texts masked.
    Json(Value),
}

/// A completion of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Its content.
    pub content: Content,
    /// The tokens that it used.
    pub usage: Usage,
}
