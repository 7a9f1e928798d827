//! Characters and sequences that a renderer must not print unchanged.
//!
//! A renderer decides by these functions, and keeps no list of characters of its own. It leaves
//! escapes such as `\n` as they are written, since code must stay code.

use std::borrow::Cow;
use std::ops::Range;

use super::invisible::{invisible_kind, is_legitimate};
use super::{escapes, is_other_line_break, sequences};

/// Whether a renderer must not print `c` as it is between these characters: it is invisible and the
/// script does not need it there, or it is a line break other than `\n`.
pub fn is_unprintable(before: Option<char>, c: char, after: Option<char>) -> bool {
    is_other_line_break(c) || (invisible_kind(c).is_some() && !is_legitimate(before, c, after))
}

/// Returns the end of the terminal sequence that a control character at `at` begins. Sequences that
/// are written as escapes do not count.
pub fn sequence_end(text: &str, at: usize) -> Option<usize> {
    let c = text[at..].chars().next()?;
    sequences::end(text.as_bytes(), c, at + c.len_utf8())
}

/// Returns the end of a change of color at `at` whose escape character was lost: `[31m`.
pub fn bare_sequence_end(text: &str, at: usize) -> Option<usize> {
    text[at..].starts_with('[').then(|| sequences::bare(text.as_bytes(), at)).flatten()
}

/// Returns the bytes of the string in a sequence, such as a title or the address of a link, with
/// its terminator. A terminal hides it, but a renderer that escapes control characters shows it.
pub fn string_of_sequence(text: &str, sequence: &Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let c = text[sequence.clone()].chars().next()?;
    let (introducer, at) = match c {
        '\\' => escapes::escape(bytes, sequence.start)?,
        _ => (c, sequence.start + c.len_utf8()),
    };
    let begins = sequences::begins_string(introducer, bytes, at);
    begins.then(|| sequences::string_start(introducer, at)..sequence.end)
}

/// Returns `text` with a space in place of each terminal sequence.
pub fn without_sequences(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut copied = 0;
    for (at, c) in text.char_indices() {
        if at < copied || invisible_kind(c).is_none() {
            continue;
        }
        if let Some(end) = sequence_end(text, at) {
            kept.push_str(&text[copied..at]);
            kept.push(' ');
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visible_text::{Shown, pieces};

    #[test]
    fn unprintable_characters_depend_on_their_neighbors() {
        let is = |before: char, c: char, after: char| is_unprintable(Some(before), c, Some(after));
        assert!(is('a', '\u{200d}', 'b') && !is('👩', '\u{200d}', '💻'));
        assert!(is('a', '\u{fe0f}', 'b') && !is('❤', '\u{fe0f}', 'b'));
        assert!(is('👩', '\u{200d}', '\u{61c}'), "the neighbor is invisible itself");
        for c in ['\r', '\u{b}', '\u{85}', '\u{2028}', '\u{ad}', '\u{202e}', '\u{e000}', '\0'] {
            assert!(is('a', c, 'b'), "{c:?}");
        }
        assert!(!is('a', '\n', 'b') && !is('a', '\t', 'b') && !is('a', 'ｂ', 'c'));
    }

    #[test]
    fn strings_of_sequences_are_known() {
        for (text, expected) in [
            ("\u{1b}]0;title\u{7}", Some("0;title\u{7}")),
            ("\u{9d}0;title\u{9c}", Some("0;title\u{9c}")),
            (r"\e]0;title\a", Some(r"0;title\a")),
            ("\u{1b}[31m", None),
            (r"\x1b[31m", None),
            ("[31m", None),
        ] {
            let sequence = pieces(text).next().expect("a piece");
            assert_eq!((sequence.shown, &sequence.at), (Shown::Sequence, &(0..text.len())));
            let string = string_of_sequence(text, &sequence.at);
            assert_eq!(string.map(|at| &text[at]), expected, "{text:?}");
        }
    }

    #[test]
    fn sequences_leave_a_space() {
        assert_eq!(without_sequences("a\u{1b}[1mb\u{9b}0m\u{1b}]0;c\u{7}d"), "a b  d");
        assert!(matches!(without_sequences("[1m \u{1b} \\e[1m"), Cow::Borrowed(_)));
    }
}
