//! Pieces of JSON Schema that several types need.

use std::ops::RangeInclusive;

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

/// Blank characters at the ends of a line: those that [`str::trim`] removes.
const BLANK: &str = r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
/// Control characters.
pub(crate) const CONTROL: &str = r"\u0000-\u001f\u007f-\u009f";
/// Control characters but tab, line feed and carriage return.
const CONTROL_IN_PROSE: &str = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f";

/// A string of 1 to `max` characters.
pub fn text(max: usize) -> ObjectBuilder {
    string().min_length(Some(1)).max_length(Some(max))
}

/// Any string.
pub fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// Returns the schema of a UUID.
pub fn uuid() -> ObjectBuilder {
    string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
}

/// A whole number within `range`.
pub fn number(range: &RangeInclusive<i64>) -> ObjectBuilder {
    let (min, max) = (Some(*range.start()), Some(*range.end()).filter(|max| *max < i64::MAX));
    ObjectBuilder::new().schema_type(Type::Integer).minimum(min).maximum(max)
}

/// Returns the schema of an enum of `words`.
pub fn one_of(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    string().enum_values(Some(words))
}

/// The pattern of what [`rules::line`](crate::rules::line) accepts.
pub fn line_pattern() -> String {
    let visible =
        format!("[^{CONTROL}{}]", r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000");
    format!("^[{BLANK}]*{visible}([^{CONTROL}]*{visible})?[{BLANK}]*$")
}

/// The pattern of what [`rules::prose`](crate::rules::prose) accepts.
pub fn prose_pattern() -> String {
    let any = format!("[^{CONTROL_IN_PROSE}]*");
    format!("^{any}[^{CONTROL}{BLANK}]{any}$")
}

/// The pattern of a text that PostgreSQL can store, empty or not.
pub fn storable_pattern() -> String {
    format!("^[^{CONTROL_IN_PROSE}]*$")
}

/// Puts the lines of a doc comment into the description of a schema.
pub fn described(schema: impl Into<Schema>, lines: &[&str]) -> Schema {
    let mut schema = schema.into();
    let description = match &mut schema {
        Schema::Object(object) => &mut object.description,
        Schema::Array(array) => &mut array.description,
        Schema::AnyOf(any) => &mut any.description,
        _ => return schema,
    };
    *description = Some(lines.join(" "));
    schema
}
