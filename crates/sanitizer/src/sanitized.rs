//! The type of text that may rest somewhere.

use std::fmt;

/// Text that has been through [`mask`](crate::mask()).
///
/// Storing, indexing, logging and prompting take this and not `String`, so that a path around the
/// sanitizer does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Sanitized(String);

impl Sanitized {
    /// Only the sanitizer calls this, on text it has just masked.
    pub(crate) fn masked(text: String) -> Self {
        Self(text)
    }

    /// Only the sanitizer calls this, on an identifier in which it has found nothing to hide.
    pub(crate) fn unchanged(text: String) -> Self {
        Self(text)
    }

    /// Text read back from our own database, where only sanitized text is ever written.
    ///
    /// For the store. Everything else goes through [`mask`](crate::mask()).
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<str> for Sanitized {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sanitized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
