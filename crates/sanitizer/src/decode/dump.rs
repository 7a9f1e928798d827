//! Dumps of bytes: `xxd`, `hexdump -C`, `od`, arrays, and bytes with spaces or colons between.

use std::ops::Range;

use super::hex::byte_of;
use super::regions::end_of;
use super::{View, ViewKind};
use crate::byte_set::ByteSet;
use crate::runs::runs_of;

/// Minimum length of a line of a dump, in bytes. Short lines are filled with spaces.
const MIN_LENGTH: usize = 36;

/// Minimum number of bytes of a dump: a secret has at least eighteen.
const MIN_BYTES: usize = 18;

/// Minimum number of digits of a line: those of its offset and one byte.
const MIN_DIGITS: usize = 8;

/// Maximum length of the rest of a line, which shows the bytes as text.
const MAX_REST: usize = 160;

/// Returns a view of each dump. Its bytes stand for whole lines, which repeat them as text.
pub(super) fn views(text: &str) -> impl Iterator<Item = View> + '_ {
    static DUMPED: ByteSet = ByteSet::of(b"0123456789abcdefABCDEF :,x");
    let runs = runs_of(text.as_bytes(), MIN_LENGTH, |byte| DUMPED.contains(byte));
    let lines = runs.filter_map(move |run| {
        let line = Line::of(&text[run.clone()], run.start);
        (!line.bytes.is_empty()).then_some(line)
    });
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let mut dump = vec![lines.next()?];
        while let Some(next) = lines.next_if(|next| {
            dump.last().is_some_and(|last| is_next_line(text, last.at.end, next.at.start))
        }) {
            dump.push(next);
        }
        Some(dump)
    })
    .filter_map(move |dump| view(text, &dump))
}

fn is_next_line(text: &str, end: usize, start: usize) -> bool {
    let between = &text[end..start.max(end)];
    between.len() <= MAX_REST && between.matches('\n').count() == 1
}

fn view(text: &str, dump: &[Line]) -> Option<View> {
    let length: usize = dump.iter().map(|line| line.bytes.len()).sum();
    let mut view = View::empty(ViewKind::Decoded);
    for line in dump {
        let end = if line.has_offset { end_of(text, line.at.end) } else { line.at.end };
        for byte in &line.bytes {
            let c = if byte.is_ascii() { char::from(*byte) } else { char::REPLACEMENT_CHARACTER };
            view.push(c, line.at.start..end);
        }
    }
    (length >= MIN_BYTES).then_some(view)
}

/// A line of a dump.
struct Line {
    /// The part with the bytes as digits.
    at: Range<usize>,
    bytes: Vec<u8>,
    /// Whether it begins with its offset. Such a line also has the bytes as text.
    has_offset: bool,
}

impl Line {
    /// Reads the line in `run`, which begins at `start`. It has no bytes if it is no such line.
    fn of(run: &str, start: usize) -> Self {
        let digit_count = run.bytes().filter(u8::is_ascii_hexdigit).count();
        let mut line = Self { at: start..start + run.len(), bytes: Vec::new(), has_offset: false };
        // Neither an indent nor a single number.
        if digit_count < MIN_DIGITS || run.len() - digit_count < run.len() / 18 {
            return line;
        }
        // A letter may end a word before the dump.
        let is_word_end = |word: &str| matches!(word, "e" | "a" | "d" | "c" | "x" | "," | ":");
        let run = run.split_once(' ').filter(|(word, _)| is_word_end(word)).map_or(run, |p| p.1);
        let groups: Vec<&str> = run.trim_start().split([' ', ':', ',']).map(digits).collect();
        let mut filled = groups.iter().filter(|group| !group.is_empty());
        let (Some(first), Some(second)) = (filled.next(), filled.next()) else { return line };
        line.has_offset = (6..=8).contains(&first.len()) && second.len() != first.len()
            || run.trim_start()[first.len()..].starts_with(": ");
        let data = if line.has_offset { &groups[1..] } else { &groups[..] };
        let length = if line.has_offset { second.len() } else { first.len() };
        if matches!(length, 2 | 4 | 8 | 16) {
            line.bytes = bytes_of(data, length, run.contains(", "));
        }
        line
    }
}

fn digits(group: &str) -> &str {
    group.strip_prefix("0x").unwrap_or(group)
}

/// Returns the bytes of groups of at most `length` digits. After a gap, they follow as text;
/// `hexdump` has a gap after eight bytes, too.
fn bytes_of(groups: &[&str], length: usize, is_list: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let filled = groups.iter().skip_while(|group| group.is_empty());
    for group in filled {
        if group.is_empty() && (is_list || bytes.len() == 8) {
            continue;
        }
        let decoded: Option<Vec<u8>> = group.as_bytes().chunks(2).map(byte_of).collect();
        match decoded {
            Some(decoded) if (1..=length).contains(&group.len()) => bytes.extend(decoded),
            _ => break,
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_is_decoded() {
        let secret = "token = 'bead feed 42'";
        let spaced = |separator: &str| {
            secret.bytes().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(separator)
        };
        let array: Vec<String> = secret.bytes().map(|b| format!("0x{b:02x}")).collect();
        for text in [
            "00000000: 746f 6b65 6e20 3d20 2762 6561 6420 6665  token = 'bead fe\n\
             00000010: 6564 2034 3227                           ed 42'\n",
            "00000000  74 6f 6b 65 6e 20 3d 20  27 62 65 61 64 20 66 65  |token = 'bead fe|\n\
             00000010  65 64 20 34 32 27                                 |ed 42'|\n",
            &format!("bytes {} end", spaced(" ")),
            &format!("bytes {} end", spaced(":")),
            &format!("[\n    {},\n    {},\n]", array[..10].join(", "), array[10..].join(", ")),
        ] {
            let view = views(text).next().map(|view| view.text);
            assert_eq!(view.as_deref(), Some(secret), "{text}");
        }
    }

    #[test]
    fn numbers_and_words_are_no_dumps() {
        for text in [
            "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
            "a bad cafe, a fade, a decade, a facade",
            "2024-01-02 12:34:56, 12:34:57, 12:34:58",
        ] {
            assert!(views(text).next().is_none_or(|view| !view.text.contains("token")), "{text}");
        }
    }
}
