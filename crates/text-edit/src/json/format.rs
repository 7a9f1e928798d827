//! The format of new values: that of the file.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ast, parse_to_ast};

use crate::error::EditError;
use crate::json::document::{Content, Document, Node, STRICT_OPTIONS};
use crate::limits::{MAX_FILE_BYTES, MAX_JSON_DEPTH};
use crate::view::mask::PLACEHOLDER;

/// How the file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// Indentation of one level.
    pub unit: String,
    /// Colon between a name and its value, with its white space.
    pub colon: String,
    /// Comma between values on one line, with its white space.
    pub comma: &'static str,
}

impl Style {
    /// Returns the style of a document.
    pub fn of(text: &str, document: &Document) -> Self {
        let root = &document.root;
        let unit =
            root.items().first().filter(|first| begins_line(text, first.start)).map(|first| {
                let (inner, outer) = (indent(text, first.start), indent(text, root.span.start));
                inner.strip_prefix(outer).unwrap_or(inner)
            });
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        let colon = colon(text, root).unwrap_or(": ").to_owned();
        let comma = if colon == ":" { "," } else { ", " };
        Self { unit, colon, comma }
    }
}

/// A new value, which is valid JSON.
pub(super) struct NewValue<'t> {
    text: &'t str,
    value: ast::Value<'t>,
}

impl<'t> NewValue<'t> {
    /// Parses a value. Its numbers and strings are written as they are here.
    pub fn parse(text: &'t str) -> Result<Self, EditError> {
        let invalid = |reason: String| EditError::InvalidValue { reason };
        if text.len() > MAX_FILE_BYTES {
            return Err(EditError::TooLarge { bytes: text.len(), max: MAX_FILE_BYTES });
        }
        let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT_OPTIONS)
            .map_err(|error| invalid(error.kind().to_string()))?;
        let value = parsed.value.ok_or_else(|| invalid("there is no value".into()))?;
        check(text, &value, 0)?;
        Ok(Self { text, value })
    }

    /// Writes the value, with `\n` as line ending: on one line, or with an indentation for its
    /// last line.
    ///
    /// Fails if it would have more than `max` bytes, as with an indentation of a megabyte.
    pub fn write(
        &self,
        style: &Style,
        indent: Option<&str>,
        max: usize,
    ) -> Result<String, EditError> {
        let mut out = String::with_capacity(self.text.len());
        write(self.text, &self.value, style, indent, max, &mut out);
        if out.len() > max {
            return Err(EditError::TooLarge { bytes: out.len(), max });
        }
        Ok(out)
    }
}

/// Returns the white space at the start of the line of a position.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let start = line_start(text, at);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether only white space is before a position in its line, and a line is before.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let start = line_start(text, at);
    start > 0 && text[start..at].trim_matches([' ', '\t']).is_empty()
}

/// Whether the values in an array or object are on lines of their own.
pub(super) fn is_multiline(text: &str, container: &Node) -> bool {
    container.items().first().is_some_and(|first| begins_line(text, first.start))
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

/// Returns the colon of the first member, with its white space.
fn colon<'t>(text: &'t str, node: &Node) -> Option<&'t str> {
    match &node.content {
        Content::Scalar(_) => None,
        Content::Array(elements) => elements.iter().find_map(|element| colon(text, element)),
        Content::Object(members) => {
            let member = members.first()?;
            let between = &text[member.name_span.end..member.value.span.start];
            let is_plain = between.chars().all(|c| matches!(c, ':' | ' ' | '\t'));
            is_plain.then_some(between)
        }
    }
}

/// Checks the depth of a value and its strings.
fn check(text: &str, value: &ast::Value<'_>, depth: usize) -> Result<(), EditError> {
    if depth > MAX_JSON_DEPTH {
        return Err(EditError::JsonTooLarge { max: MAX_JSON_DEPTH, what: "levels" });
    }
    let mut names = HashSet::new();
    match value {
        ast::Value::StringLit(string) => {
            check_string(&text[string.start()..string.end()], &string.value)
        }
        ast::Value::Array(array) => {
            array.elements.iter().try_for_each(|element| check(text, element, depth + 1))
        }
        ast::Value::Object(object) => object.properties.iter().try_for_each(|property| {
            if !names.insert(property.name.as_str()) {
                let reason = "an object has a key twice".to_owned();
                return Err(EditError::InvalidValue { reason });
            }
            check_string(&text[name_range(&property.name)], property.name.as_str())?;
            check(text, &property.value, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// Checks that a string has no control character, which the parser accepts, and no placeholder,
/// which escapes could hide.
fn check_string(written: &str, decoded: &str) -> Result<(), EditError> {
    if written.chars().any(|c| c < ' ') {
        let reason = "a string has a control character; write an escape such as \\n".to_owned();
        return Err(EditError::InvalidValue { reason });
    }
    match PLACEHOLDER.find(decoded) {
        Some(found) => Err(EditError::Placeholder { placeholder: found.as_str().to_owned() }),
        None => Ok(()),
    }
}

fn write(
    text: &str,
    value: &ast::Value<'_>,
    style: &Style,
    indent: Option<&str>,
    max: usize,
    out: &mut String,
) {
    let inner = indent.map(|indent| format!("{indent}{}", style.unit));
    let separator = |at: usize| match &inner {
        Some(inner) => format!("{}\n{inner}", if at > 0 { "," } else { "" }),
        None => if at > 0 { style.comma } else { "" }.to_owned(),
    };
    let end = indent.map(|indent| format!("\n{indent}")).unwrap_or_default();
    match value {
        ast::Value::Array(array) if !array.elements.is_empty() => {
            out.push('[');
            for (at, element) in array.elements.iter().enumerate() {
                if out.len() > max {
                    return;
                }
                out.push_str(&separator(at));
                write(text, element, style, inner.as_deref(), max, out);
            }
            out.push_str(&end);
            out.push(']');
        }
        ast::Value::Object(object) if !object.properties.is_empty() => {
            out.push('{');
            for (at, property) in object.properties.iter().enumerate() {
                if out.len() > max {
                    return;
                }
                out.push_str(&separator(at));
                out.push_str(&text[name_range(&property.name)]);
                out.push_str(&style.colon);
                write(text, &property.value, style, inner.as_deref(), max, out);
            }
            out.push_str(&end);
            out.push('}');
        }
        ast::Value::Array(_) => out.push_str("[]"),
        ast::Value::Object(_) => out.push_str("{}"),
        scalar => out.push_str(&text[scalar.start()..scalar.end()]),
    }
}

fn name_range(name: &ast::ObjectPropName<'_>) -> Range<usize> {
    match name {
        ast::ObjectPropName::String(name) => name.start()..name.end(),
        ast::ObjectPropName::Word(name) => name.start()..name.end(),
    }
}
