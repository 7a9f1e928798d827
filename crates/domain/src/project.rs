//! Project keys, by which people and tools name a project.

use std::fmt;
use std::str::FromStr;

/// A project's short name: 1 to 64 of `A-Z a-z 0-9 . _ -`, starting with a letter or digit.
///
/// Keys are case-insensitive and stored in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectKey(String);

/// The error of a text that is not a [`ProjectKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a project key is 1 to 64 letters, digits, \".\", \"_\" or \"-\", and starts with a letter \
     or digit"
)]
pub struct InvalidProjectKey;

impl ProjectKey {
    /// Maximum length of a key, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Validates `text` and converts it to lower case.
    pub fn parse(text: &str) -> Result<Self, InvalidProjectKey> {
        let starts_alphanumeric = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let all_allowed =
            text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if text.len() > Self::MAX_LEN || !starts_alphanumeric || !all_allowed {
            return Err(InvalidProjectKey);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProjectKey {
    type Err = InvalidProjectKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_lower_cased() {
        assert_eq!(ProjectKey::parse("Shop").map(|k| k.to_string()), Ok("shop".into()));
    }

    #[test]
    fn hostile_keys_are_rejected() {
        for text in ["", "-x", ".", "a b", "a/b", "проект", "a\0", &"x".repeat(65)] {
            assert_eq!(ProjectKey::parse(text), Err(InvalidProjectKey), "{text:?}");
        }
    }
}
