//! Text from outside that a message must not contain.

use serde::{Deserialize, Serialize};

/// Text that was not compiled into this program, such as a stored title or the name of a file.
///
/// It has no `Display`, so a message cannot contain it by accident: the reader of an error or hint
/// takes its words for those of the program. It is a field of its own, or the whole message of an
/// error if parts of that come from outside. Only the renderer of a place prints it: as quoted data
/// or one line for a model, escaped for a terminal, or as a JSON string for REST.
///
/// ```compile_fail
/// let title = mc_domain::UntrustedText::new("ADR Timing");
/// let message = format!("similar titles: {title}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UntrustedText(String);

impl UntrustedText {
    /// Wraps a text from outside.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text unchanged. Only for renderers, which quote or escape it; a test of the
    /// architecture lists them.
    pub fn unrendered(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for UntrustedText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_plain_text() {
        let title = UntrustedText::new("a\u{2028}<b>");
        let json = serde_json::to_string(&title).expect("JSON");
        assert_eq!(json, "\"a\u{2028}<b>\"");
        assert_eq!(serde_json::from_str::<UntrustedText>(&json).expect("a text"), title);
    }
}
