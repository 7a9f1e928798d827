//! Output of commands. Only this module writes to standard output, and only it and the log write to
//! standard error.

use std::io::{ErrorKind, Write};

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::logging;

/// Output format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for a person.
    Text,
    /// The JSON of the service, as one document.
    Json,
}

impl Format {
    /// Prints `value` as JSON, or the text that `text` formats from it.
    pub fn print(self, value: &Value, text: impl FnOnce(&Value) -> String) {
        match self {
            Self::Json => line(&json(value)),
            Self::Text => line(text(value).trim_end()),
        }
    }
}

/// Prints a line of text. A closed pipe (`| head -1`) is not an error; any other write error, such
/// as a full disk, ends the program.
pub fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            crate::report_error(
                &anyhow::Error::new(error).context("standard output can't be written"),
            );
            std::process::exit(1);
        }
        _ => {}
    }
}

/// Prints an error on standard error, with secrets masked.
#[expect(clippy::print_stderr, reason = "the only place that prints to standard error")]
pub fn error_line(text: &str) {
    eprintln!("{}", logging::plain(text).trim_end());
}

/// Returns the text of a field, or an empty string.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the number of a field, or zero.
pub fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}

/// Returns the first `length` characters of the time in a field: 10 end with the day, 19 with the
/// second. Returns a dash if the field has no time.
pub fn time(value: &Value, field: &str, length: usize) -> String {
    value[field].as_str().and_then(|time| time.get(..length)).unwrap_or("-").to_owned()
}

/// Returns the list in a field, or an empty list.
pub fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Length of an excerpt in a list, in characters.
const EXCERPT_CHARS: usize = 100;

/// Returns the beginning of a text field, on one line.
pub fn excerpt(value: &Value, field: &str) -> String {
    let beginning: String = text(value, field).chars().take(EXCERPT_CHARS).collect();
    beginning.replace('\n', " ")
}

/// Formats a value as indented JSON.
pub fn json(value: &Value) -> String {
    format!("{value:#}")
}

/// Formats a table with a header and one row for each item.
pub fn table<const N: usize>(
    header: [&str; N],
    items: &[Value],
    row: impl Fn(&Value) -> [String; N],
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table.add_rows(items.iter().map(row));
    table.to_string()
}

/// Formats the items of a page as a table, or a sentence if there are none.
pub fn page_table<const N: usize>(
    page: &Value,
    header: [&str; N],
    row: impl Fn(&Value) -> [String; N],
) -> String {
    format_page(page, |items| table(header, items, row))
}

/// Formats the items of a page as blocks of text, or a sentence if there are none.
pub fn page_blocks(page: &Value, block: impl Fn(&Value) -> String) -> String {
    format_page(page, |items| items.iter().map(block).collect::<Vec<_>>().join("\n\n"))
}

fn format_page(page: &Value, format: impl FnOnce(&[Value]) -> String) -> String {
    match list(page, "items") {
        [] => "There are none.".to_owned(),
        items => format(items),
    }
}
