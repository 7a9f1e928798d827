//! Limits of tokens, and words that are one token.

use std::fmt;

/// A limit of tokens for a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenBudget(usize);

/// A limit outside [`TokenBudget::MIN`] to [`TokenBudget::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token limit is {min} to {max}; {0} is not",
    min = TokenBudget::MIN,
    max = TokenBudget::MAX
)]
pub struct InvalidBudget(usize);

impl TokenBudget {
    /// Fewest tokens, enough for an empty bundle.
    pub const MIN: usize = 96;
    /// Most tokens.
    pub const MAX: usize = 32_000;

    /// Creates a budget within the bounds.
    pub fn new(tokens: usize) -> Result<Self, InvalidBudget> {
        if (Self::MIN..=Self::MAX).contains(&tokens) {
            Ok(Self(tokens))
        } else {
            Err(InvalidBudget(tokens))
        }
    }

    /// Returns the number of tokens.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for TokenBudget {
    /// The default of seed 001's example.
    fn default() -> Self {
        Self(2_000)
    }
}

impl fmt::Display for TokenBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether `word` (after a space) is one token, as common words are, but not misspelled ones.
pub fn is_one_token(word: &str) -> bool {
    mc_tokens::count(&format!(" {word}")) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_one_token() {
        assert!(is_one_token("contract") && !is_one_token("conctract"));
    }

    #[test]
    fn budget_has_bounds() {
        assert!(TokenBudget::new(95).is_err() && TokenBudget::new(32_001).is_err());
        assert_eq!(TokenBudget::new(96).map(TokenBudget::get), Ok(96));
    }
}
