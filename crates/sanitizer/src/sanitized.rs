//! The type of text that may be stored.

use std::fmt;

/// Text that [`mask`](crate::mask()) returned.
///
/// Storage, index, log and prompts accept this and not `String`, so code that bypasses the
/// sanitizer does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Sanitized(String);

impl Sanitized {
    /// Wraps text that the sanitizer has just masked, or in which it found nothing to hide.
    pub(crate) fn masked(text: String) -> Self {
        Self(text)
    }

    /// Wraps text read from the service's own database, which contains sanitized text only.
    ///
    /// For the store. All other code calls [`mask`](crate::mask()).
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether the text is empty.
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
