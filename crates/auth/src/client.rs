//! OAuth clients: the programs that request tokens.

use std::fmt;
use std::str::FromStr;

use mc_domain::{Classified, ErrorKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The OAuth client that a token is issued to (`memory-copilot-cli`, `dashboard`): 1 to 64 of
/// `a-z 0-9 . _ -`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientId(String);

/// The error of a text that is not a [`ClientId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a client id is 1 to 64 lower-case letters, digits, \".\", \"_\" or \"-\"")]
pub struct InvalidClientId;

impl Classified for InvalidClientId {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

impl ClientId {
    /// Maximum length of an id, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Validates `text` without changing it.
    pub fn parse(text: &str) -> Result<Self, InvalidClientId> {
        let is_allowed =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        if fits && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidClientId)
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ClientId {
    type Err = InvalidClientId;

    fn from_str(text: &str) -> Result<Self, InvalidClientId> {
        Self::parse(text)
    }
}

impl Serialize for ClientId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ClientId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_ids_are_refused() {
        assert!(ClientId::parse("memory-copilot-cli").is_ok());
        for text in ["", "A", "a b", "a/b", "a\0", "<script>", &"x".repeat(65)] {
            assert_eq!(ClientId::parse(text), Err(InvalidClientId), "{text:?}");
        }
    }
}
