//! Masking of what a model sees and what is stored: one policy for files, patches and messages, so
//! that a text of a file is the same in each of them.

use std::sync::LazyLock;

use mc_sanitizer::{Policy, Sanitized, mask_with};

/// Masks every category, so it is at least as strict as the policy of any project and as the
/// masking of the chat models.
pub(crate) static STRICT: LazyLock<Policy> = LazyLock::new(Policy::strict);

/// Returns a text that may be stored and sent.
pub(crate) fn sanitized(text: &str) -> Sanitized {
    mask_with(text, &STRICT).text
}

/// Returns a text that may be shown.
pub(crate) fn masked(text: &str) -> String {
    sanitized(text).into_string()
}
