//! Outputs of tools: bounded, and with the state of the navigation.

use mc_contract::operations::workspace_tools::ToolResponse;

use crate::edit::FileView;
use crate::navigation::Navigation;
use crate::path::display;

/// Maximum size of the output of a tool but bash, in bytes.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// The result of a tool, without the state of the navigation.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub text: String,
    pub is_truncated: bool,
    pub notes: Vec<String>,
}

impl Output {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns lines, as many as the limit allows.
    pub fn of_lines(lines: impl IntoIterator<Item = String>) -> Self {
        let mut output = Self::default();
        for line in lines {
            if output.text.len() + line.len() >= MAX_BYTES {
                output.is_truncated = true;
                break;
            }
            output.text.push_str(&line);
            output.text.push('\n');
        }
        output
    }

    /// Returns the lines of a file.
    pub fn of_file(view: FileView) -> Self {
        let listing = view.listing;
        let mut notes = Vec::new();
        if listing.line_count == 0 {
            notes.push("the file is empty".to_owned());
        }
        if let Some(next) = listing.next_line {
            notes.push(format!(
                "lines {} to {} of {} are shown; continue with view_range [{next}, -1]",
                listing.first_line, listing.last_line, listing.line_count
            ));
        }
        if !listing.cut_lines.is_empty() {
            let cut: Vec<String> =
                listing.cut_lines.iter().take(10).map(usize::to_string).collect();
            let more = if listing.cut_lines.len() > cut.len() { " and more" } else { "" };
            notes.push(format!("lines that are too long were cut: {}{more}", cut.join(", ")));
        }
        notes.extend(masked(listing.masked_count));
        let is_truncated = listing.next_line.is_some() || !listing.cut_lines.is_empty();
        Self { text: listing.text, is_truncated, notes }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Returns the response of a call.
    pub fn response(self, navigation: &Navigation) -> ToolResponse {
        ToolResponse {
            handle: None,
            output: self.text,
            error: String::new(),
            error_code: 0,
            cwd: display(navigation.cwd()),
            phase: navigation.phase(),
            is_truncated: self.is_truncated,
            notes: self.notes,
        }
    }
}

/// Returns a note about masked text in a file.
fn masked(count: usize) -> Option<String> {
    (count > 0).then(|| format!("masked texts in the file, which can't be edited: {count}"))
}

/// Returns a name or path in one line: a line break in it would look like another entry.
pub(super) fn one_line(name: &str) -> String {
    if name.chars().any(char::is_control) { name.escape_debug().collect() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_lines_is_bounded() {
        let line = "x".repeat(1_000);
        let output = Output::of_lines(std::iter::repeat_n(line, 100));
        assert!(output.is_truncated && output.text.len() <= MAX_BYTES);
        assert_eq!(output.text.lines().count(), 65);
        assert_eq!(one_line("a\nb"), "a\\nb");
    }
}
