//! Output of commands, on standard output and standard error. It escapes what a terminal would
//! obey, because most results have text from outside. Other modules write completion scripts,
//! backups (binary), progress bars, and the log, which escapes by itself.

use std::io::{ErrorKind, IsTerminal, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::Value;

use crate::{logging, terminal};

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

/// Prints lines of text, escaped for a terminal.
pub fn line(text: &str) {
    write(&terminal::lines(text));
}

/// Prints a document that may be redirected to a file: unchanged, unless a terminal shows it.
pub fn document(text: &str) {
    if std::io::stdout().is_terminal() { line(text) } else { write(text) }
}

/// Returns standard output for a stream of JSON with a value on each line: unchanged, unless a
/// terminal shows it.
pub fn json_lines() -> Box<dyn Write> {
    let stdout = std::io::stdout();
    if stdout.is_terminal() { Box::new(JsonLines::default()) } else { Box::new(stdout.lock()) }
}

/// Writes lines of JSON to a terminal.
#[derive(Default)]
struct JsonLines {
    /// The line that has not ended.
    rest: Vec<u8>,
}

impl JsonLines {
    fn write_lines(&mut self, print: impl Fn(&str)) {
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        for line in self.rest[..end].split(|byte| *byte == b'\n') {
            print(&terminal::json_line(String::from_utf8_lossy(line)));
        }
        self.rest.drain(..=end);
    }
}

impl Write for JsonLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        self.write_lines(write);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.rest.is_empty() {
            self.rest.push(b'\n');
        }
        self.write_lines(write);
        Ok(())
    }
}

/// Writes text and a line feed. A closed pipe (`| head -1`) is not an error; any other write error,
/// such as a full disk, ends the program.
fn write(text: &str) {
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

/// Returns the text of a field as it is, or an empty string.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the text of a field on one line, or an empty string. Line breaks are escaped, too: text
/// from outside cannot add a line to a list.
pub fn one_line(value: &Value, field: &str) -> String {
    terminal::line(text(value, field)).into_owned()
}

/// Returns the text of a field with all lines but the first indented by `columns`, so that none
/// looks like a line of the list that it is part of.
pub fn indented(value: &Value, field: &str, columns: usize) -> String {
    text(value, field).replace('\n', &format!("\n{:columns$}", ""))
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

/// Formats a value as indented JSON, with the escapes of JSON for what a terminal would obey.
pub fn json(value: &Value) -> String {
    terminal::json_lines(format!("{value:#}")).into_owned()
}

/// Formats a table with a header and one row for each item. On a terminal, it is as wide as that,
/// and long cells are wrapped; ids are not, so that they can be copied.
pub fn table<T, const N: usize>(
    header: [&str; N],
    items: &[T],
    row: impl Fn(&T) -> [String; N],
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    // Escaped before the width of the columns is computed.
    let rows = items.iter().map(|item| row(item).map(|cell| terminal::lines(cell).into_owned()));
    table.add_rows(rows);
    for (column, name) in table.column_iter_mut().zip(header) {
        if matches!(name, "id" | "key" | "login") {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.to_string()
}

/// Formats the fields of one item, a line each; empty ones are left out. Further lines of a value
/// are indented.
pub fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let filled = fields.iter().filter(|(_, value)| !value.is_empty());
    let lines = filled.map(|(name, value)| {
        let value = value.replace('\n', &format!("\n{:1$}", "", width + 2));
        format!("{name:width$}  {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the list of a repeated option that replaces a stored list; `None` if it was not given. A
/// single empty text empties the list.
pub fn replacement(values: &[String]) -> Option<Value> {
    let filled = values.iter().filter(|value| !value.is_empty());
    (!values.is_empty()).then(|| filled.cloned().collect())
}

/// Returns the texts of a list in a field, separated by commas.
pub fn joined(value: &Value, field: &str) -> String {
    list(value, field).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
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
    let shown = match list(page, "items") {
        [] => return "There are none.".to_owned(),
        items => format(items),
    };
    match page["next_cursor"].as_str() {
        Some(cursor) => format!("{shown}\nThere are more: repeat it with --cursor {cursor}"),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn terminal_obeys_no_line_of_a_stream() {
        let printed = std::cell::RefCell::new(Vec::new());
        let mut lines = JsonLines::default();
        for part in ["{\"a\": \"\u{9b}2J", "\"}\n{", "}\n3"] {
            lines.rest.extend_from_slice(part.as_bytes());
            lines.write_lines(|line| printed.borrow_mut().push(line.to_owned()));
        }
        assert_eq!(printed.into_inner(), [r#"{"a": "\u009b2J"}"#, "{}"]);
        assert_eq!(lines.rest, b"3");
    }

    #[test]
    fn field_and_cell_stay_in_their_line() {
        let item = json!({"title": "a\r\n2. forged\u{1b}[2J", "text": "first\n  * second"});
        assert_eq!(one_line(&item, "title"), r"a\r\n2. forged\u{1b}[2J");
        assert_eq!(indented(&item, "text", 6), "first\n        * second");
        let table = table(["title"], &[json!({"title": "\u{1b}[31mx"})], |item| {
            [text(item, "title").to_owned()]
        });
        assert!(table.contains(r"\u{1b}[31mx") && !table.contains('\u{1b}'), "{table}");
    }
}
