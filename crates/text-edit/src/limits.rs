//! Limits of files, requests and results.

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

/// Maximum length of a line in a diff or an error, in bytes.
pub(crate) const MAX_QUOTED_BYTES: usize = 200;

/// Limits of the lines that a model receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a line, in bytes. A longer line is cut.
    pub max_line_bytes: usize,
    /// Maximum size of all lines, in bytes, without the line numbers.
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
