//! Text for a terminal. A terminal obeys some characters instead of showing them, and text from
//! outside may have any: they are escaped visibly.

use std::borrow::Cow;
use std::fmt::Write as _;

use mc_mcp::Suggestions;

/// Escapes a text of one line, line breaks and tabs included.
pub fn line<'t>(text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    escaped(text.into(), is_unwanted, push_escaped)
}

/// Escapes a text of several lines and keeps its line feeds and tabs.
pub fn lines<'t>(text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    escaped(text.into(), |c| is_unwanted(c) && !matches!(c, '\n' | '\t'), push_escaped)
}

/// Escapes JSON of one line as JSON does, so that its values stay the same.
pub fn json_line<'t>(json: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    // In JSON only strings can have such characters.
    escaped(json.into(), is_unwanted, push_json_escaped)
}

/// Escapes indented JSON as JSON does, so that its values stay the same.
pub fn json_lines<'t>(json: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    // A line feed in a string is escaped already.
    escaped(json.into(), |c| is_unwanted(c) && c != '\n', push_json_escaped)
}

/// Returns the stored names that an error suggests as a line to append to its message; empty
/// without any.
pub fn suggestions(suggestions: Option<Suggestions<'_>>) -> String {
    let Some(Suggestions { intro, names, .. }) = suggestions else { return String::new() };
    let names: Vec<_> = names.iter().map(|name| line(name.unrendered())).collect();
    format!("\n{intro}: {}", names.join("; "))
}

/// Returns whether a terminal obeys the character, or a viewer breaks the line at it or reorders
/// the text after it.
pub fn is_unwanted(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
                | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn push_escaped(text: &mut String, c: char) {
    text.extend(c.escape_default());
}

fn push_json_escaped(json: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(json, "\\u{unit:04x}");
    }
}

fn escaped(
    text: Cow<'_, str>,
    is_unwanted: impl Fn(char) -> bool,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&is_unwanted) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unwanted(c) { escape(&mut shown, c) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use mc_domain::UntrustedText;
    use serde_json::{Value, json};

    use super::*;

    /// A color, a hidden link, a write to the clipboard, C1 controls and a reversed text.
    const HOSTILE: &str = "\u{1b}[31m \u{1b}]8;;https://a.example\u{7} \u{1b}]52;c;aGk=\u{1b}\\ \
                           \u{9b}2J\u{85} \u{202e}txt\u{2066} a\tb\r\nc\u{2028}d";

    #[test]
    fn terminal_obeys_no_character_of_a_text() {
        let shown = line(HOSTILE);
        assert!(!shown.contains(is_unwanted), "{shown:?}");
        let start = r"\u{1b}[31m \u{1b}]8;;https://a.example\u{7} \u{1b}]52;c;aGk=\u{1b}\ \u{9b}2J";
        assert!(shown.starts_with(start), "{shown}");
        assert!(shown.ends_with(r"\u{202e}txt\u{2066} a\tb\r\nc\u{2028}d"), "{shown}");
        let shown = lines(HOSTILE);
        assert!(shown.ends_with("a\tb\\r\nc\\u{2028}d"), "{shown}");
        assert!(matches!(lines("Привет, 世界 👩\u{200d}💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = json!({"text": HOSTILE, "list": ["\u{7f}"]});
        let indented = format!("{value:#}");
        let shown = json_lines(indented.as_str());
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), value);
        assert!(!shown.contains(|c: char| is_unwanted(c) && c != '\n'), "{shown:?}");
        assert!(shown.lines().count() > 3, "it stays indented: {shown}");
        let shown = json_line(value.to_string());
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), value);
        assert!(!shown.contains(is_unwanted), "{shown:?}");
    }

    #[test]
    fn suggested_names_are_on_one_line() {
        let names = ["ADR Timing\nmemory-copilot: done", "\u{1b}[2J"].map(UntrustedText::new);
        let shown = suggestions(Suggestions::new("Similar titles", "title", &names));
        assert_eq!(shown, "\nSimilar titles: ADR Timing\\nmemory-copilot: done; \\u{1b}[2J");
        assert_eq!(suggestions(None), "");
    }
}
