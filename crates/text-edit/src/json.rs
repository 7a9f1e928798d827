//! Views and edits of JSON by `JSONPath` (RFC 9535). Comments and trailing commas are allowed, as
//! in `tsconfig.json`.
//!
//! An edit changes the bytes of the values at the path, and with them commas and white space.
//! Everything else stays as it is: numbers of any size, escapes, comments, the order of keys.
//! Masked text can't be changed, and a path sees its placeholder instead.
//!
//! The values are replaced in the text by their positions. So the bytes around them can't change,
//! and each change is compared with the masks.

mod add;
mod document;
mod format;
mod path;
mod remove;
mod set;
#[cfg(test)]
mod tests;
mod values;

use crate::edit::{Edited, Splice, apply};
use crate::error::EditError;
use crate::limits::MAX_JSON_MATCHES;
use crate::view::View;

use document::Document;
use path::MatchedValue;

pub use add::{Position, add};
pub use remove::remove;
pub use set::set;
pub use values::{JsonValue, JsonValues, view};

/// Number of paths that an error names.
const NAMED_PATHS: usize = 5;

/// How many matches of a path an edit changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matches {
    /// The only match; several are an error.
    One,
    /// All matches, at most [`MAX_JSON_MATCHES`].
    All,
}

/// Returns the values that an edit changes: at least one, in the order of the document, none inside
/// of another, and none at or below a key that its object has twice.
fn targets<'d>(
    document: &'d Document,
    path: &str,
    matches: Matches,
) -> Result<Vec<MatchedValue<'d>>, EditError> {
    let (values, count) = path::query(document, path, MAX_JSON_MATCHES)?;
    let max = match matches {
        Matches::One => 1,
        Matches::All => MAX_JSON_MATCHES,
    };
    if count > max {
        let first = values.iter().take(NAMED_PATHS).map(|value| value.path.to_string()).collect();
        return Err(EditError::TooManyMatches { count, max, first });
    }
    if values.is_empty() {
        return Err(path::no_match(document, path));
    }
    if let Some(path) = values.iter().find_map(|value| value.duplicate.as_ref()) {
        return Err(EditError::DuplicateKey { path: path.to_string() });
    }
    let nested = values.windows(2).find(|pair| pair[1].node.span.start < pair[0].node.span.end);
    if let Some([outer, inner]) = nested {
        let (outer, inner) = (outer.path.to_string(), inner.path.to_string());
        return Err(EditError::NestedMatches { outer, inner });
    }
    Ok(values)
}

/// Applies splices, after which the file must still be JSON.
fn apply_json(view: &View<'_>, splices: &[Splice], max_bytes: usize) -> Result<Edited, EditError> {
    let edited = apply(view, splices, max_bytes)?;
    match Document::parse(&edited.view()) {
        Ok(_) => Ok(edited),
        Err(error @ EditError::JsonTooLarge { .. }) => Err(error),
        Err(_) => Err(EditError::BrokenJson),
    }
}
