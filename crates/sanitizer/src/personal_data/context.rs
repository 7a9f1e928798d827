//! The words before a number, which say what it is.

use std::cell::OnceCell;
use std::ops::Range;

use super::labels::{Labels, NUMBER_WORDS, ORDER_WORDS, UNITS, has};

/// Bytes before a number, on its line, in which a word may name its kind.
const CONTEXT_BYTES: usize = 96;

/// Maximum number of words between a label and its number, with those of the label.
const MAX_WORDS: usize = 6;

/// Minimum digits of a number that ends the context: what is before it belongs to it.
const OTHER_NUMBER: usize = 6;

/// The text around a number.
#[derive(Debug)]
pub(super) struct Context<'t> {
    /// The text before the number on its line, from the last other number on.
    before: &'t str,
    /// The words in [`Self::before`], in lower case, each between two spaces.
    words: OnceCell<String>,
    /// The text after the number.
    after: &'t str,
    /// Whether the number is the only text on its line.
    pub is_whole_line: bool,
    /// Whether the number is the first text on its line.
    pub is_first: bool,
}

impl<'t> Context<'t> {
    /// Reads the text around the span. The bytes read are bounded, since a line may have megabytes
    /// of numbers.
    pub(super) fn of(text: &'t str, span: &Range<usize>) -> Self {
        let is_space = |c: char| c.is_whitespace() && c != '\n';
        let (before, after) = (&text[..span.start], &text[span.end..]);
        let start = before.trim_end_matches(is_space);
        let end = after.trim_start_matches(is_space);
        let is_first = start.is_empty() || start.ends_with('\n');
        let near =
            &before[before.floor_char_boundary(before.len().saturating_sub(CONTEXT_BYTES))..];
        let on_line = near.rsplit('\n').next().unwrap_or_default();
        Self {
            before: after_other_number(on_line),
            words: OnceCell::new(),
            after,
            is_whole_line: is_first && (end.is_empty() || end.starts_with(['\n', '\r'])),
            is_first,
        }
    }

    /// Returns the last word before the number as it is written, if only a space, a colon or a sign
    /// of a number follows it.
    pub(super) fn last_word(&self) -> &'t str {
        last_word(self.before)
    }

    /// Whether a unit or a counted thing follows the number: `300000 ms`, `250000 rows`.
    pub(super) fn has_unit(&self) -> bool {
        let word = self.after.strip_prefix([' ', '\u{a0}']).unwrap_or_default();
        let word = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        UNITS.contains(&word.to_lowercase().as_str())
    }

    /// Whether the number is assigned by an equals sign.
    pub(super) fn is_assigned(&self) -> bool {
        self.before.trim_end().ends_with('=')
    }

    /// Whether the last word before the number names an order.
    pub(super) fn names_order(&self) -> bool {
        let mut words = self.words().split(' ').rev().filter(|word| !word.is_empty());
        let last = words.find(|word| !NUMBER_WORDS.contains(word));
        last.is_some_and(|word| ORDER_WORDS.contains(&word))
    }

    /// Whether one of the labels is said of the number after it: `078-05-1123 is my SSN`,
    /// `4510 123456 (паспорт)`.
    pub(super) fn is_followed_by(&self, labels: &[&str]) -> bool {
        let said = said_after(self.after);
        !said.is_empty() && has(&said, labels)
    }

    /// Whether one of the labels precedes the number. A label is a word or several, in lower case.
    /// It has no letter on either side, unless it ends in a star or its script has no spaces.
    pub(super) fn names(&self, labels: &[&str]) -> bool {
        let words = self.words();
        words.len() > 1 && has(words, labels)
    }

    /// Whether one of the labels precedes the number.
    pub(super) fn has_label(&self, labels: &Labels) -> bool {
        let words = self.words();
        words.len() > 1 && labels.are_in(words)
    }

    fn words(&self) -> &str {
        self.words.get_or_init(|| words(self.before))
    }
}

/// Returns the words after a number that say what it is.
fn said_after(text: &str) -> String {
    const MAX_BYTES: usize = 32;
    let near = &text[..text.floor_char_boundary(MAX_BYTES.min(text.len()))];
    let near = near.trim_start_matches(' ');
    let said = ["(", "is ", "– ", "— ", "- это ", "это ", "ist "]
        .iter()
        .find_map(|sign| near.strip_prefix(sign));
    let end = |text: &str| text.find(['\n', '.', ',', ';', ')']).unwrap_or(text.len());
    said.map(|text| words(&text[..end(text)])).unwrap_or_default()
}

/// Returns the text after the last other number: what is before it belongs to that number. In a
/// list of numbers, it belongs to all of them.
fn after_other_number(line: &str) -> &str {
    // A placeholder stands for another number, too.
    let masked = line.rsplit_once("[personal:").and_then(|(_, rest)| rest.split_once(']'));
    let line = masked.map_or(line, |(_, rest)| rest);
    let is_listed = |c: char| c.is_ascii_digit() || " ,;/|-".contains(c);
    let text = line.trim_end_matches(is_listed);
    // A list has numbers in it, not just a space before the number.
    let listed = &line[text.len()..];
    let text = if listed.bytes().any(|byte| byte.is_ascii_digit()) { text } else { line };
    let mut digits = 0;
    for (at, byte) in text.bytes().enumerate().rev() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        if digits == OTHER_NUMBER {
            return &text[at + OTHER_NUMBER..];
        }
    }
    text
}

/// Returns the last words of a text in lower case, each between two spaces: ` my tax id ` of
/// `"myTaxId":`.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    if !text.contains(char::is_alphabetic) {
        return words;
    }
    let mut previous = ' ';
    for c in text.chars() {
        if c.is_uppercase() && previous.is_lowercase() {
            words.push(' ');
        }
        match c {
            '\'' | '’' if previous.is_alphabetic() => words.push(' '),
            '/' if previous.is_alphabetic() => words.push('/'),
            c if c.is_alphanumeric() || is_mark(c) => words.extend(c.to_lowercase()),
            _ if words.ends_with(' ') => {}
            _ => words.push(' '),
        }
        previous = c;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    let starts = words.match_indices(' ').rev().nth(MAX_WORDS).map_or(0, |(at, _)| at);
    words.split_off(starts)
}

/// Whether the character is a vowel sign or an accent of the letter before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}')
}

fn last_word(text: &str) -> &str {
    let is_sign = |c: char| " \t:#№\"'".contains(c);
    let text = text.trim_end_matches(is_sign);
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/');
    &text[text.trim_end_matches(is_inner).len()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(text: &str) -> Context<'_> {
        let at = text.rfind('@').expect("the number's place");
        Context::of(text, &(at..at + 1))
    }

    #[test]
    fn labels_are_found_in_any_syntax() {
        for text in ["tax id @", "\"taxId\": \"@\"", "TAX_ID=@", "his Tax ID (new) is @"] {
            assert!(context(text).names(&["tax id"]), "{text}: {:?}", context(text));
        }
        assert!(context("паспортом @").names(&["паспорт*"]));
        assert!(context("주민등록번호는 @").names(&["주민등록번호"]));
        assert!(context("р/с @").names(&["р/с"]));
        assert!(!context("syntax idle @").names(&["tax id"]));
        assert!(!context("tax id\n@").names(&["tax id"]));
        for text in ["@ is my tax id", "@ (tax id)", "@ — tax id, I think"] {
            assert!(context(text).is_followed_by(&["tax id"]), "{text}");
        }
        assert!(!context("@, tax id").is_followed_by(&["tax id"]));
    }

    #[test]
    fn label_belongs_to_the_next_number_or_list() {
        assert!(!context("tax id 7707083893, code @").names(&["tax id"]));
        assert!(context("tax ids 7707083893, @").names(&["tax ids"]));
        assert!(context("series 4510 number @").names(&["series"]));
    }
}
