//! The one way in which stored text is handed to a model: as data between marks, each line of it
//! quoted.
//!
//! ```text
//! <recalled 3fq7x2mzk5wc9d1b>
//! gotchas:
//! - m1 gotcha team stale
//! | Units differ
//! scope| cart
//! </recalled 3fq7x2mzk5wc9d1b>
//! ```
//!
//! A line without `|` is this server's own: a mark, a section or the head of an item. What stands
//! behind the first `|` of a line is stored text. Only this module writes lines, from labels that
//! are part of the program and heads cut down to plain words, so stored text can neither begin an
//! item nor end the data. The marks carry 80 random bits that are drawn for each answer, after all
//! that stands between them was written.

use std::fmt::Write;

use mc_prompt_guard::neutralize;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::Value;

/// What the marks are called. [`quoted`] takes the word out of stored text where it looks like one.
const NAME: &str = "recalled";
/// Characters of a mark's random part; 32 letters and digits make five bits each.
const NONCE: usize = 16;
/// Letters and digits that are hard to mistake for each other.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Longest word of an item's head; ids have 36 characters.
const WORD: usize = 40;

/// Stored text on its way to a model.
#[derive(Debug, Default)]
pub struct Data {
    lines: String,
}

impl Data {
    /// Begins a section of items.
    pub fn section(&mut self, title: &'static str) {
        let _ = writeln!(self.lines, "{title}:");
    }

    /// Begins an item, behind `sign` (`-`, `1.`), with what it is and where it comes from: handle
    /// or id, kind, trust, state. They may come from the store, so only words pass.
    pub fn item(&mut self, sign: &str, head: &[&str]) {
        self.lines.push_str(sign);
        for word in head {
            let word: String = word.chars().filter(|c| is_word(*c)).take(WORD).collect();
            if !word.is_empty() {
                self.lines.push(' ');
                self.lines.push_str(&word);
            }
        }
        self.lines.push('\n');
    }

    /// The text of the item, line by line; nothing if there is nothing to see.
    pub fn text(&mut self, text: &str) {
        self.field("", text);
    }

    /// Something the item has besides its text; nothing if there is nothing to see.
    pub fn field(&mut self, label: &'static str, value: &str) {
        let value = quoted(value);
        if value.is_empty() {
            return;
        }
        for line in value.split('\n') {
            self.lines.push_str(label);
            self.lines.push_str(if line.is_empty() { "|" } else { "| " });
            self.lines.push_str(line);
            self.lines.push('\n');
        }
    }

    /// Says that `count` lines were left out here.
    pub fn skipped(&mut self, count: usize, lines: &'static str) {
        if count > 0 {
            let _ = writeln!(self.lines, "({count} {lines})");
        }
    }

    /// The data between its marks.
    pub fn delimited(self) -> String {
        let nonce = nonce(&self.lines);
        format!("<{NAME} {nonce}>\n{}</{NAME} {nonce}>", self.lines)
    }
}

/// Stored text as it may stand on one line of an answer outside of the marks: a name in a list.
pub fn one_line(text: &str, most: usize) -> String {
    let line: String = quoted(text).split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(most).collect()
}

/// An answer's structured content with every string in it neutral. JSON itself keeps text from
/// being anything else.
pub fn structured(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(neutral) = neutralize(text) {
                *text = neutral;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(structured),
        Value::Object(fields) => fields.values_mut().for_each(structured),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Neutral text in which nothing looks like one of the marks.
pub(super) fn quoted(text: &str) -> String {
    let neutral = neutralize(text);
    let neutral = neutral.trim_end();
    if !neutral.to_ascii_lowercase().contains(NAME) {
        return neutral.to_owned();
    }
    let mut kept = String::with_capacity(neutral.len());
    for (at, c) in neutral.char_indices() {
        kept.push(if c == '<' && looks_like_mark(&neutral[at + 1..]) { '‹' } else { c });
    }
    kept
}

fn looks_like_mark(behind: &str) -> bool {
    let name =
        behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '|'));
    name.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Letters that nobody can have foreseen and that `lines` does not hold.
fn nonce(lines: &str) -> String {
    loop {
        let mut bytes = [0; NONCE];
        OsRng.try_fill_bytes(&mut bytes).expect("the system has a source of randomness");
        let letters = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
        let nonce: String = letters.collect();
        if !lines.contains(&nonce) {
            return nonce;
        }
    }
}
