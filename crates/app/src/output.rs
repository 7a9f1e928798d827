//! What commands print: the one place that writes to standard output.
#![expect(clippy::print_stdout, reason = "printing results is what this module is for")]

use serde_json::Value;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// The service's own JSON, one document.
    Json,
}

impl Format {
    /// Prints `value` as JSON, or what `text` makes of it.
    pub fn print(self, value: &Value, text: impl FnOnce(&Value) -> String) {
        match self {
            Self::Json => println!("{value:#}"),
            Self::Text => line(text(value).trim_end()),
        }
    }
}

/// Prints a line of text.
pub fn line(text: &str) {
    println!("{text}");
}

/// The text in a field, or nothing.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The number in a field, or zero.
pub fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}

/// The list in a field, or an empty one.
pub fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}
