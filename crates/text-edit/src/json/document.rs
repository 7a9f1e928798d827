//! A parsed JSON file.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::error::EditError;
use crate::file_text::Encoding;
use crate::limits::{MAX_JSON_DEPTH, MAX_JSON_VALUES};
use crate::view::View;

/// Comments and trailing commas are what tools accept in configuration files, and nothing else.
const FILE_OPTIONS: ParseOptions =
    ParseOptions { allow_comments: true, allow_trailing_commas: true, ..STRICT_OPTIONS };
/// JSON of RFC 8259.
pub(super) const STRICT_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_trailing_commas: false,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A value with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// The bytes of the text.
    pub span: Range<usize>,
    /// The values in it.
    pub content: Content,
}

/// The values in a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A string, number, boolean or null.
    Scalar(&'static str),
    /// The elements of an array.
    Array(Vec<Node>),
    /// The members of an object.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// The name; as it is shown, if it has masked text.
    pub name: String,
    /// Whether the object has the name more than once.
    pub is_duplicate: bool,
    /// The bytes of the name with its quotes.
    pub name_span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the type with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Scalar(kind) => kind,
            Content::Array(_) => "an array",
            Content::Object(_) => "an object",
        }
    }

    /// Returns the bytes of the elements or members.
    pub fn items(&self) -> Vec<Range<usize>> {
        match &self.content {
            Content::Scalar(_) => Vec::new(),
            Content::Array(elements) => elements.iter().map(|node| node.span.clone()).collect(),
            Content::Object(members) => {
                members.iter().map(|member| member.name_span.start..member.value.span.end).collect()
            }
        }
    }
}

/// A parsed JSON file.
#[derive(Debug)]
pub(super) struct Document {
    /// The root with its positions.
    pub root: Node,
    /// The root as a path sees it: with placeholders for masked text, and the first of several
    /// members with the same name.
    pub value: Value,
}

impl Document {
    /// Parses the text of a file.
    pub fn parse(view: &View<'_>) -> Result<Self, EditError> {
        if view.file().encoding() == Encoding::Unknown8Bit {
            return Err(EditError::UnknownEncoding);
        }
        let invalid = |line, reason| EditError::InvalidJson { line, reason };
        let parsed = parse_to_ast(view.file().text(), &CollectOptions::default(), &FILE_OPTIONS)
            .map_err(|error| invalid(error.line_display(), error.kind().to_string()))?;
        let root = parsed.value.ok_or_else(|| invalid(1, "there is no value".into()))?;
        let mut builder = Builder { view, count: 0 };
        let (root, value) = builder.node(&root, 0)?;
        Ok(Self { root, value })
    }
}

struct Builder<'v> {
    view: &'v View<'v>,
    count: usize,
}

impl Builder<'_> {
    fn node(&mut self, value: &ast::Value<'_>, depth: usize) -> Result<(Node, Value), EditError> {
        self.count += 1;
        if self.count > MAX_JSON_VALUES {
            return Err(EditError::JsonTooLarge { max: MAX_JSON_VALUES, what: "values" });
        }
        let span = value.start()..value.end();
        let is_container = matches!(value, ast::Value::Array(_) | ast::Value::Object(_));
        if is_container && depth == MAX_JSON_DEPTH {
            return Err(EditError::JsonTooLarge { max: MAX_JSON_DEPTH, what: "levels" });
        }
        let (content, value) = match value {
            ast::Value::Array(array) => self.array(array, depth)?,
            ast::Value::Object(object) => self.object(object, depth)?,
            scalar => {
                let (kind, value) = parse_scalar(scalar);
                let shown = self.masked(&span).map(Value::String);
                (Content::Scalar(kind), shown.unwrap_or(value))
            }
        };
        Ok((Node { span, content }, value))
    }

    fn array(
        &mut self,
        array: &ast::Array<'_>,
        depth: usize,
    ) -> Result<(Content, Value), EditError> {
        let mut nodes = Vec::with_capacity(array.elements.len());
        let mut values = Vec::with_capacity(array.elements.len());
        for element in &array.elements {
            let (node, value) = self.node(element, depth + 1)?;
            nodes.push(node);
            values.push(value);
        }
        Ok((Content::Array(nodes), Value::Array(values)))
    }

    fn object(
        &mut self,
        object: &ast::Object<'_>,
        depth: usize,
    ) -> Result<(Content, Value), EditError> {
        let mut members: Vec<Member> = Vec::with_capacity(object.properties.len());
        let mut values = Map::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for property in &object.properties {
            let name_span = match &property.name {
                ast::ObjectPropName::String(name) => name.start()..name.end(),
                ast::ObjectPropName::Word(name) => name.start()..name.end(),
            };
            let name = self.masked(&name_span);
            let name = name.unwrap_or_else(|| property.name.as_str().to_owned());
            let (node, value) = self.node(&property.value, depth + 1)?;
            let first = known.get(&name).copied();
            if let Some(first) = first {
                members[first].is_duplicate = true;
            } else {
                known.insert(name.clone(), members.len());
                values.insert(name.clone(), value);
            }
            members.push(Member { name, is_duplicate: first.is_some(), name_span, value: node });
        }
        Ok((Content::Object(members), Value::Object(values)))
    }

    /// Returns the shown form of a scalar or name that has masked text.
    ///
    /// A path sees this form. Otherwise a filter could be used to guess the masked value.
    fn masked(&self, span: &Range<usize>) -> Option<String> {
        self.view.mask_in(span)?;
        let shown = &self.view.shown()[self.view.shown_range(span)];
        Some(shown.trim_matches('"').to_owned())
    }
}

/// Returns the type with its article, and the value that a path compares. Large numbers are rounded
/// in it; an edit does not write it.
fn parse_scalar(scalar: &ast::Value<'_>) -> (&'static str, Value) {
    match scalar {
        ast::Value::StringLit(text) => ("a string", Value::String(text.value.to_string())),
        ast::Value::NumberLit(number) => {
            let parsed = number.value.parse::<Number>().map(Value::Number);
            ("a number", parsed.unwrap_or_else(|_| Value::String(number.value.to_owned())))
        }
        ast::Value::BooleanLit(boolean) => ("a boolean", Value::Bool(boolean.value)),
        _ => ("null", Value::Null),
    }
}
