//! Values at a path.

use crate::error::EditError;
use crate::json::document::Document;
use crate::json::path;
use crate::limits::{Limits, MAX_JSON_MATCHES, cut};
use crate::view::View;

/// A value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonValue {
    /// Normalized path (RFC 9535).
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

/// Returns the values at a path. [`Limits::max_bytes`] limits the text of all of them.
///
/// Fails if the file is not JSON, the path is invalid or nothing is there.
pub fn view(view: &View<'_>, path: &str, limits: Limits) -> Result<JsonValues, EditError> {
    let document = Document::parse(view)?;
    let (found, count) = path::query(&document, path, MAX_JSON_MATCHES)?;
    if found.is_empty() {
        return Err(path::no_match(&document, path));
    }
    let mut values: Vec<JsonValue> = Vec::new();
    let mut left = limits.max_bytes;
    for found in found {
        if left == 0 {
            break;
        }
        let shown = view.shown_of(&found.node.span);
        let text = cut(shown, left);
        left -= text.len();
        values.push(JsonValue {
            path: found.path.to_string(),
            line: view.line_number(found.node.span.start),
            text: text.to_owned(),
            is_cut: text.len() < shown.len(),
        });
    }
    Ok(JsonValues { values, count })
}
