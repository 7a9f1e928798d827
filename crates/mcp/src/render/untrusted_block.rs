//! Block of stored text for a model: data between delimiters, with each line quoted. Stored
//! texts reach models in this form, but for short ones on one line (`model_text`).
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
//! A line without `|` is written by this server: a delimiter, a section or the head of an item. The
//! text after the first `|` of a line is stored text. Only this module writes lines. Labels are
//! constants, and heads are restricted to plain words, so stored text can neither start an item nor
//! end the block. The delimiters contain 80 random bits, which are generated for each response
//! after the text between them is written.

use std::borrow::Cow;
use std::fmt::Write;

use mc_domain::UntrustedText;
use mc_prompt_guard::{DELIMITER, neutralize};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::Value;

/// Characters of the random part of a delimiter; each of the 32 characters has five bits.
const NONCE: usize = 16;
/// Letters and digits that are hard to confuse.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Maximum length of a word in the head of an item; ids have 36 characters.
const WORD: usize = 40;

/// Builder of a block of stored text.
#[derive(Debug, Default)]
pub struct Data {
    lines: String,
}

impl Data {
    /// Starts a section of items.
    pub fn section(&mut self, title: &'static str) {
        let _ = writeln!(self.lines, "{title}:");
    }

    /// Starts an item with `sign` (`-`, `1.`) and its head: handle or id, kind, trust, state. The
    /// head may be stored text, so only plain words are written.
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

    /// Writes the text of the item line by line, unless it is empty.
    pub fn text(&mut self, text: &str) {
        self.field("", text);
    }

    /// Writes a field of the item, unless it is empty.
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

    /// Writes a text from outside as a field of the item, unless it is empty.
    pub fn untrusted(&mut self, label: &'static str, value: &UntrustedText) {
        self.field(label, value.unrendered());
    }

    /// Writes a note that `count` lines were omitted.
    pub fn skipped(&mut self, count: usize, lines: &'static str) {
        if count > 0 {
            let _ = writeln!(self.lines, "({count} {lines})");
        }
    }

    /// Returns the block with its delimiters.
    pub fn delimited(self) -> String {
        let nonce = nonce(&self.lines);
        format!("<{DELIMITER} {nonce}>\n{}</{DELIMITER} {nonce}>", self.lines)
    }
}

/// Returns stored text on one line, for use outside of a block, such as a name in a list.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let line: String = quoted(text).split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(max_chars).collect()
}

/// Neutralizes every string of structured content, and the names of fields, which a record's `meta`
/// chooses. JSON already delimits the text.
pub fn structured(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(neutral) = neutralize(text) {
                *text = neutral;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(structured),
        Value::Object(fields) => {
            fields.values_mut().for_each(structured);
            if fields.keys().any(|name| matches!(neutralize(name), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                *fields = named.map(|(name, of)| (neutralize(&name).into_owned(), of)).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Neutralizes text, and with it everything that looks like a delimiter.
pub(super) fn quoted(text: &str) -> String {
    neutralize(text).trim_end().to_owned()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns random characters that `lines` does not contain.
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
