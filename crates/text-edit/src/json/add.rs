//! New members and elements.

use std::ops::Range;

use crate::edit::{Edited, Splice};
use crate::error::EditError;
use crate::json::document::{Content, Document, Node};
use crate::json::format::{NewValue, Style, begins_line, indent, is_multiline};
use crate::json::path::{MatchedValue, Step};
use crate::json::{Matches, apply_json, targets};
use crate::limits::MAX_FILE_BYTES;
use crate::line::LineEnding;
use crate::view::View;

mod gap;

pub(super) use gap::{comma_after, has_comment, line_rest_end};

/// The position in an object or array at which a value is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position<'k> {
    /// A new key of an object, which is added at its end.
    Key(&'k str),
    /// A 0-based index of an array; the elements from there on move.
    Index(usize),
    /// The end of an array.
    End,
}

/// Adds `value`, a text in JSON, to the object or array at a path. The edited file has at most
/// `max_bytes`.
///
/// Fails if the object has the key, or the array has fewer elements than the index.
pub fn add(
    view: &View<'_>,
    path: &str,
    position: Position<'_>,
    value: &str,
    max_bytes: usize,
) -> Result<Edited, EditError> {
    let document = Document::parse(view)?;
    let value = NewValue::parse(value)?;
    let style = Style::of(view.file().text(), &document);
    let target = targets(&document, path, Matches::One)?.remove(0);
    check_position(&target, position)?;
    let text = view.file().text();
    let container = target.node;
    let items = container.items();
    let is_multiline = if items.is_empty() {
        target.parent.is_none_or(|(parent, _)| is_multiline(text, parent))
    } else {
        is_multiline(text, container)
    };
    let new_indent = is_multiline.then(|| match items.first() {
        Some(first) => indent(text, first.start).to_owned(),
        None => format!("{}{}", indent(text, container.span.start), style.unit),
    });
    let name = match position {
        Position::Key(key) => format!("{}{}", quoted(key), style.colon),
        Position::Index(_) | Position::End => String::new(),
    };
    let max = max_bytes.min(MAX_FILE_BYTES);
    let item = format!("{name}{}", value.write(&style, new_indent.as_deref(), max)?);
    let splices = match position {
        Position::Index(index) if index < items.len() => {
            vec![before(&items[index], &item, new_indent.as_deref(), &style)]
        }
        _ => match items.last() {
            Some(last) => after(text, container, last, &item, new_indent.as_deref(), &style),
            None => vec![into_empty(text, container, &item, new_indent.as_deref())],
        },
    };
    let ending = LineEnding::first_in(&text[container.span.clone()])
        .unwrap_or_else(|| view.file().main_line_ending());
    let with_ending =
        |splice: Splice| Splice { new: splice.new.replace('\n', ending.as_str()), ..splice };
    let splices: Vec<Splice> = splices.into_iter().map(with_ending).collect();
    apply_json(view, &splices, max_bytes)
}

fn check_position(target: &MatchedValue<'_>, position: Position<'_>) -> Result<(), EditError> {
    let wrong_type = |expected| {
        let (path, actual) = (target.path.to_string(), target.node.kind());
        Err(EditError::WrongType { path, actual, expected })
    };
    match (&target.node.content, position) {
        (Content::Object(members), Position::Key(key)) => {
            if members.iter().any(|member| member.name == key) {
                let mut path = target.path.clone();
                path.0.push(Step::Name(key));
                return Err(EditError::KeyExists { path: path.to_string() });
            }
            Ok(())
        }
        (Content::Array(elements), Position::Index(index)) if index > elements.len() => {
            let (path, length) = (target.path.to_string(), elements.len());
            Err(EditError::IndexOutOfRange { path, length })
        }
        (Content::Array(_), Position::Index(_) | Position::End) => Ok(()),
        (_, Position::Key(_)) => wrong_type("an object"),
        (_, Position::Index(_) | Position::End) => wrong_type("an array"),
    }
}

fn quoted(key: &str) -> String {
    serde_json::Value::String(key.to_owned()).to_string()
}

/// Returns the insertion before an element.
fn before(next: &Range<usize>, item: &str, indent: Option<&str>, style: &Style) -> Splice {
    let separator = match indent {
        Some(indent) => format!(",\n{indent}"),
        None => style.comma.to_owned(),
    };
    Splice { text: next.start..next.start, new: format!("{item}{separator}") }
}

/// Returns the insertions after the last item: a comma, and the new item on a line of its own after
/// the comment of the last one.
fn after(
    text: &str,
    container: &Node,
    last: &Range<usize>,
    item: &str,
    indent: Option<&str>,
    style: &Style,
) -> Vec<Splice> {
    let insertion = |at: usize, new: String| Splice { text: at..at, new };
    let end = container.span.end - 1;
    let trailing = comma_after(text, last.end, end);
    let after_comma = trailing.map_or(last.end, |comma| comma + 1);
    let line_end = indent.map(|_| line_rest_end(text, after_comma, end));
    let at = line_end.unwrap_or(after_comma);
    let separator = match indent {
        Some(indent) => format!("\n{indent}"),
        None => style.comma[1..].to_owned(),
    };
    match trailing {
        Some(_) => vec![insertion(at, format!("{separator}{item},"))],
        None if at == last.end => vec![insertion(at, format!(",{separator}{item}"))],
        None => {
            vec![insertion(last.end, ",".into()), insertion(at, format!("{separator}{item}"))]
        }
    }
}

/// Returns the change of an empty container. Comments in it stay before the new item.
fn into_empty(text: &str, container: &Node, item: &str, indent_inside: Option<&str>) -> Splice {
    let (start, end) = (container.span.start + 1, container.span.end - 1);
    let closing = indent(text, container.span.start);
    let new = match indent_inside {
        Some(inside) => format!("\n{inside}{item}\n{closing}"),
        None => item.to_owned(),
    };
    if !has_comment(&text[start..end]) {
        return Splice { text: start..end, new };
    }
    // A line comment ends before the closing bracket, which is on a line of its own then.
    let kept = text[..end].trim_end_matches([' ', '\t', '\n', '\r']).len();
    let needs_line = begins_line(text, end) || indent_inside.is_some();
    let inside = indent_inside.unwrap_or_default();
    let new = if needs_line { format!("\n{inside}{item}\n{closing}") } else { format!(" {item}") };
    Splice { text: kept..end, new }
}
