//! Values at a path.

use crate::error::EditError;
use crate::json::document::Document;
use crate::json::path;
use crate::limits::{Limits, MAX_JSON_MATCHES};
use crate::view::View;

/// A value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonValue {
    /// Normalized path (RFC 9535), at most [`crate::MAX_PATH_BYTES`] long. A longer one is cut and
    /// ends with `…`.
    pub path: String,
    /// Line of its start, 1-based.
    pub line: usize,
    /// The value as it is written in the file and shown to a model.
    pub text: String,
    /// Whether the text was cut.
    pub is_cut: bool,
}

/// Values at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonValues {
    /// The first values, in the order of the file: at most [`MAX_JSON_MATCHES`], and as many as
    /// the limits allow.
    pub values: Vec<JsonValue>,
    /// Number of all values at the path.
    pub count: usize,
}

/// Returns the values at a path. [`Limits::max_bytes`] limits the paths and texts of all of them;
/// the first path is always returned. A placeholder is never split.
///
/// Fails if the file is not JSON, the path is invalid or nothing is there.
pub fn view(view: &View<'_>, path: &str, limits: Limits) -> Result<JsonValues, EditError> {
    let document = Document::parse(view)?;
    let (matches, count) = path::query(&document, path, MAX_JSON_MATCHES)?;
    if matches.is_empty() {
        return Err(path::no_match(&document, path));
    }
    let mut values: Vec<JsonValue> = Vec::new();
    let mut left = limits.max_bytes;
    for matched in matches {
        let path = matched.path.to_string();
        if left <= path.len() && !values.is_empty() {
            break;
        }
        left = left.saturating_sub(path.len());
        let span = &matched.node.span;
        let (text, is_cut) = view.cut_shown(&view.shown_range(span), left);
        left -= text.len();
        let line = view.line_number(span.start);
        values.push(JsonValue { path, line, text: text.to_owned(), is_cut });
    }
    Ok(JsonValues { values, count })
}
