//! Limits of files, requests and results.

use std::borrow::Cow;

use crate::view::mask::{MAX_PLACEHOLDER_BYTES, PLACEHOLDER};

/// Maximum size of a file that is decoded, in bytes.
pub const MAX_FILE_BYTES: usize = 2_000_000;
/// Maximum size of the diff of an edit, in bytes.
pub const MAX_DIFF_BYTES: usize = 16 * 1024;
/// Maximum length of a `JSONPath` expression, in bytes.
pub const MAX_PATH_BYTES: usize = 512;
/// Maximum number of matches of a `JSONPath` expression that an edit changes.
pub const MAX_JSON_MATCHES: usize = 100;
/// Maximum depth of arrays and objects in a JSON file.
pub const MAX_JSON_DEPTH: usize = 128;
/// Maximum number of values in a JSON file.
pub const MAX_JSON_VALUES: usize = 200_000;

/// Maximum length of a line or a JSON name in a diff or an error, in bytes.
pub(crate) const MAX_QUOTED_BYTES: usize = 200;
/// The end of a text that was cut.
const ELLIPSIS: &str = "…";

/// Limits of the lines that a model receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a line without its number, in bytes. A longer line is cut.
    pub max_line_bytes: usize,
    /// Maximum size of all that is returned, in bytes: lines with their numbers, or values with
    /// their paths. The first line is always returned, and so is the first path.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_line_bytes: 2_000, max_bytes: 64 * 1024 }
    }
}

/// Returns the start of `text`, of at most `max` bytes, without a part of a character.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Returns `text` if it has at most `max` bytes, or else a start of it with `…`, of at most `max`
/// bytes together. A character or a placeholder is never split.
pub(crate) fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let mut end = cut(text, max.saturating_sub(ELLIPSIS.len())).len();
    let near = text.floor_char_boundary(end.saturating_sub(MAX_PLACEHOLDER_BYTES));
    let rest = &text[near..text.ceil_char_boundary(end + MAX_PLACEHOLDER_BYTES)];
    let split = PLACEHOLDER
        .find_iter(rest)
        .find(|found| near + found.start() < end && end < near + found.end());
    end = split.map_or(end, |found| near + found.start());
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}
