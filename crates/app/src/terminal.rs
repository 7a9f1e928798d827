//! Text for a terminal. A terminal executes some characters instead of showing them, and hides
//! others. Text from outside may contain both, so this module escapes them visibly.

use std::borrow::Cow;
use std::fmt::Write as _;

use mc_domain::UntrustedText;
use mc_mcp::Suggestions;
use mc_sanitizer::visible_text::is_unprintable;

/// Escapes a text of one line, line breaks and tabs included.
pub fn line<'t>(text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    escaped(text.into(), "", push_escaped)
}

/// Escapes a text of several lines and keeps its line feeds and tabs.
pub fn lines<'t>(text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    escaped(text.into(), "\n\t", push_escaped)
}

/// Escapes JSON of one line as JSON does, so that its values stay the same.
pub fn json_line<'t>(json: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    // In JSON only strings can have such characters.
    escaped(json.into(), "", push_json_escaped)
}

/// Escapes indented JSON as JSON does, so that its values stay the same.
pub fn json_lines<'t>(json: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    // A line feed in a string is escaped already.
    escaped(json.into(), "\n", push_json_escaped)
}

/// Escapes the message of an error as one line, and appends the stored names that the error
/// suggests as another one.
pub fn failure(message: &UntrustedText, suggestions: Option<Suggestions<'_>>) -> String {
    let mut text = line(message.unrendered()).into_owned();
    if let Some(Suggestions { intro, names, .. }) = suggestions {
        let names: Vec<_> = names.iter().map(|name| line(name.unrendered())).collect();
        let _ = write!(text, "\n{intro}: {}", names.join("; "));
    }
    text
}

/// Returns whether the character is escaped if no neighbor needs it.
#[cfg(test)]
pub fn is_unwanted(c: char) -> bool {
    is_escaped(None, c, None, "")
}

/// Returns whether `c` is escaped between these characters; line feeds and tabs may be `kept`.
fn is_escaped(before: Option<char>, c: char, after: Option<char>, kept: &str) -> bool {
    match c {
        '\n' | '\t' => !kept.contains(c),
        _ => is_unprintable(before, c, after),
    }
}

fn push_escaped(text: &mut String, c: char) {
    text.extend(c.escape_default());
}

fn push_json_escaped(json: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(json, "\\u{unit:04x}");
    }
}

fn escaped<'t>(text: Cow<'t, str>, kept: &str, escape: impl Fn(&mut String, char)) -> Cow<'t, str> {
    // Most lines of a log have only printable ASCII characters.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text;
    }
    let mut shown = String::new();
    let mut copied = 0;
    let mut before = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, c)| *c);
        let is_escaped = is_escaped(before, c, after, kept);
        if is_escaped {
            shown.push_str(&text[copied..at]);
            escape(&mut shown, c);
            copied = at + c.len_utf8();
        }
        // The next character can't belong to an escaped one.
        before = (!is_escaped).then_some(c);
    }
    if copied == 0 {
        return text;
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

#[cfg(test)]
#[path = "../../../tests/disguised.rs"]
mod disguised;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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
        assert!(matches!(lines("Привет, 世界 👩\u{200d}💻 ❤\u{fe0f}"), Cow::Borrowed(_)));
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let hidden = "a\u{200b}b\u{ad}c\u{e0041}d\u{feff}e\u{e000}f\u{fe0f}\u{200d}g";
        let shown = r"a\u{200b}b\u{ad}c\u{e0041}d\u{feff}e\u{e000}f\u{fe0f}\u{200d}g";
        assert_eq!(lines(hidden), shown);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The sanitizer has masked everything that the terminal shows.
        #[test]
        fn no_disguised_secret_reaches_a_terminal(text in disguised::text()) {
            let masked = mc_sanitizer::mask(&text).text.into_string();
            for shown in [lines(masked.as_str()), line(masked.as_str())] {
                let found = disguised::secret_in(&disguised::without_escapes(&shown));
                prop_assert_eq!(found, None, "{}", shown);
            }
        }
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
    fn message_and_suggested_names_have_a_line_each() {
        let message = UntrustedText::new("no document \"a\nb\"");
        let names = ["ADR Timing\nmemory-copilot: done", "\u{1b}[2J"].map(UntrustedText::new);
        let shown = failure(&message, Suggestions::new("Similar titles", "title", &names));
        let suggested = "\nSimilar titles: ADR Timing\\nmemory-copilot: done; \\u{1b}[2J";
        assert_eq!(shown, format!(r#"no document "a\nb"{suggested}"#));
        assert_eq!(failure(&message, None), r#"no document "a\nb""#);
    }
}
