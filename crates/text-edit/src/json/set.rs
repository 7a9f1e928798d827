//! Replacement of values.

use crate::edit::{Edited, Splice};
use crate::error::EditError;
use crate::json::document::Document;
use crate::json::format::{NewValue, Style, indent, is_multiline};
use crate::json::path::MatchedValue;
use crate::json::{Matches, apply_json, targets};
use crate::limits::MAX_FILE_BYTES;
use crate::line::LineEnding;
use crate::view::View;

/// Replaces the values at a path by `value`, a text in JSON. The edited file has at most
/// `max_bytes`.
///
/// Numbers and strings are written as they are in `value`; arrays and objects in the format of the
/// file.
pub fn set(
    view: &View<'_>,
    path: &str,
    value: &str,
    matches: Matches,
    max_bytes: usize,
) -> Result<Edited, EditError> {
    let document = Document::parse(view)?;
    let value = NewValue::parse(value)?;
    let style = Style::of(view.file().text(), &document);
    let targets = targets(&document, path, matches)?;
    let mut splices = Vec::with_capacity(targets.len());
    let mut left = max_bytes.min(MAX_FILE_BYTES);
    for target in &targets {
        let splice = splice(view, target, &value, &style, left)?;
        left = left.saturating_sub(splice.new.len());
        splices.push(splice);
    }
    apply_json(view, &splices, max_bytes)
}

fn splice(
    view: &View<'_>,
    target: &MatchedValue<'_>,
    value: &NewValue<'_>,
    style: &Style,
    max: usize,
) -> Result<Splice, EditError> {
    let text = view.file().text();
    let span = target.node.span.clone();
    let is_container = !target.node.items().is_empty();
    let has_lines = match target.parent {
        _ if is_container => text[span.clone()].contains(['\n', '\r']),
        Some((parent, _)) => is_multiline(text, parent),
        None => true,
    };
    let indent = has_lines.then(|| indent(text, span.start));
    let new = value.write(style, indent, max)?;
    let ending =
        LineEnding::first_in(&text[span.clone()]).unwrap_or_else(|| view.file().main_line_ending());
    Ok(Splice { text: span, new: new.replace('\n', ending.as_str()) })
}
