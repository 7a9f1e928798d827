//! What commands print: the one place that writes to standard output, and, beside the log, to
//! standard error.

use std::io::{ErrorKind, Write};

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::logging;

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
            Self::Json => line(&json(value)),
            Self::Text => line(text(value).trim_end()),
        }
    }
}

/// Prints a line of text. A reader that has seen enough (`| head -1`) is no fault; results that
/// can't be written otherwise, to a full disk for one, end the program.
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

/// Says on standard error what went wrong, without the secrets that it may quote.
#[expect(clippy::print_stderr, reason = "the one place that does")]
pub fn error_line(text: &str) {
    eprintln!("{}", logging::plain(text).trim_end());
}

/// The text in a field, or nothing.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The number in a field, or zero.
pub fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or_default()
}

/// The time in a field, so many characters of it: 10 are the day, 19 the second; a dash where there
/// is none.
pub fn time(value: &Value, field: &str, length: usize) -> String {
    value[field].as_str().and_then(|time| time.get(..length)).unwrap_or("-").to_owned()
}

/// The list in a field, or an empty one.
pub fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Characters of a text that stands in a list.
const EXCERPT: usize = 100;

/// The beginning of a text field, in one line.
pub fn excerpt(value: &Value, field: &str) -> String {
    let beginning: String = text(value, field).chars().take(EXCERPT).collect();
    beginning.replace('\n', " ")
}

/// The whole of a value, as JSON over several lines.
pub fn json(value: &Value) -> String {
    format!("{value:#}")
}

/// A table with a header and a row for each item.
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

/// The items of a page as a table, or a sentence where there are none.
pub fn page_table<const N: usize>(
    page: &Value,
    header: [&str; N],
    row: impl Fn(&Value) -> [String; N],
) -> String {
    shown(page, |items| table(header, items, row))
}

/// The items of a page one after the other, or a sentence where there are none.
pub fn page_blocks(page: &Value, block: impl Fn(&Value) -> String) -> String {
    shown(page, |items| items.iter().map(block).collect::<Vec<_>>().join("\n\n"))
}

fn shown(page: &Value, items: impl FnOnce(&[Value]) -> String) -> String {
    match list(page, "items") {
        [] => "There are none.".to_owned(),
        some => items(some),
    }
}
