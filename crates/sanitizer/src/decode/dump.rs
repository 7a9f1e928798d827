//! Dumps of bytes: `xxd`, `hexdump`, `od`, arrays, and bytes with spaces or colons between.
//!
//! `hexdump` and `od` print words of two bytes unless an option says otherwise. On most machines,
//! the first byte of a word is printed last.

use std::ops::Range;

use super::hex::byte_of;
use super::regions::end_of;
use super::{View, ViewKind};
use crate::byte_set::ByteSet;
use crate::runs::runs_of;

/// Minimum length of a line of a dump, in bytes. Most programs fill short lines with spaces.
const MIN_LENGTH: usize = 36;

/// Minimum number of bytes of a dump: a secret has at least eighteen.
const MIN_BYTES: usize = 18;

/// Minimum number of digits of a line: those of its offset and one byte.
const MIN_DIGITS: usize = 8;

/// Maximum length of the rest of a line, which shows the bytes as text.
const MAX_REST: usize = 160;

/// The bytes of a line of a dump.
static DUMPED: ByteSet = ByteSet::of(b"0123456789abcdefABCDEF :,x");

/// Returns the views of each dump: with the bytes of a word in the printed order, and reversed. The
/// bytes stand for whole lines, which may repeat them as text.
pub(super) fn views(text: &str) -> impl Iterator<Item = View> + '_ {
    let runs = runs_of(text.as_bytes(), MIN_LENGTH, |byte| DUMPED.contains(byte));
    let mut lines = runs.filter_map(move |run| Line::of(&text[run.clone()], run.start)).peekable();
    std::iter::from_fn(move || {
        let mut dump = vec![lines.next()?];
        while let Some(next) = lines.next_if(|next| {
            dump.last().is_some_and(|last| is_next_line(text, last.at.end, next.at.start))
        }) {
            dump.push(next);
        }
        dump.extend(dump.last().and_then(|last| last.short_line_after(text)));
        Some(dump)
    })
    .flat_map(move |mut dump| {
        let printed = view(text, &dump);
        let has_words = dump.iter().any(|line| line.layout.word_bytes() > 1);
        dump.iter_mut().for_each(Line::reverse_words);
        let reversed = has_words.then(|| view(text, &dump)).flatten();
        printed.into_iter().chain(reversed)
    })
}

fn is_next_line(text: &str, end: usize, start: usize) -> bool {
    let between = &text[end..start.max(end)];
    between.len() <= MAX_REST && between.matches('\n').count() == 1
}

fn view(text: &str, dump: &[Line]) -> Option<View> {
    let length: usize = dump.iter().map(|line| line.bytes.len()).sum();
    let mut view = View::empty(ViewKind::Decoded);
    for line in dump {
        let has_text = line.layout.has_offset;
        let end = if has_text { end_of(text, line.at.end) } else { line.at.end };
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
    layout: Layout,
}

impl Line {
    /// Reads the line in `run`, which begins at `start`, if it is one.
    fn of(run: &str, start: usize) -> Option<Self> {
        let at = start..start + run.len();
        let digit_count = run.bytes().filter(u8::is_ascii_hexdigit).count();
        // Neither an indent nor a single number.
        if digit_count < MIN_DIGITS || run.len() - digit_count < run.len() / 18 {
            return None;
        }
        // A letter may end a word before the dump.
        let is_word_end = |word: &str| matches!(word, "e" | "a" | "d" | "c" | "x" | "," | ":");
        let run = run.split_once(' ').filter(|(word, _)| is_word_end(word)).map_or(run, |p| p.1);
        let layout = Layout::of(run.trim_start())?;
        let bytes = layout.bytes(run.trim_start());
        (!bytes.is_empty()).then_some(Self { at, bytes, layout })
    }

    /// Returns the next line if it is the last one of the dump, which `od` does not fill with
    /// spaces.
    fn short_line_after(&self, text: &str) -> Option<Self> {
        let rest = &text[self.at.end..];
        let line = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
        let is_dumped = |byte: &u8| DUMPED.contains(*byte);
        let length = line.bytes().take(MIN_LENGTH).take_while(is_dumped).count();
        let is_whole = line.as_bytes().get(length).is_none_or(|byte| b"\r\n]})".contains(byte));
        let bytes = self.layout.bytes(line[..length].trim_start());
        let start = text.len() - line.len();
        let is_line = is_whole && !bytes.is_empty();
        is_line.then_some(Self { at: start..start + length, bytes, layout: self.layout })
    }

    fn reverse_words(&mut self) {
        for word in self.bytes.chunks_mut(self.layout.word_bytes()) {
            word.reverse();
        }
    }
}

/// The layout of the lines of a dump.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Whether they begin with their offset. Such a line may also have the bytes as text.
    has_offset: bool,
    /// Number of digits of a word: one, two, four or eight bytes in hexadecimal digits, or one or
    /// two in octal ones.
    digits: usize,
    /// Maximum number of further spaces between words. More spaces end the bytes.
    max_gap: usize,
}

impl Layout {
    /// Returns the layout of a line, if it is that of a dump.
    fn of(line: &str) -> Option<Self> {
        /// `hexdump -x` has three further spaces.
        const MAX_GAP: usize = 3;
        let groups: Vec<&str> = groups(line).collect();
        let mut filled = groups.iter().filter(|group| !group.is_empty());
        let (first, second) = (filled.next()?, filled.next()?);
        let has_colon = line[first.len()..].starts_with(": ");
        let has_offset = has_colon || (6..=8).contains(&first.len()) && second.len() != first.len();
        // Words without a text after them are as far apart as the offset and the first one.
        let gap = groups[1..].iter().take_while(|group| group.is_empty()).count();
        let digits = if has_offset { second.len() } else { first.len() };
        let max_gap = if line.contains(", ") {
            usize::MAX
        } else if has_colon || !has_offset || digits == 2 {
            0
        } else {
            gap.min(MAX_GAP)
        };
        matches!(digits, 2 | 3 | 4 | 6 | 8 | 16).then_some(Self { has_offset, digits, max_gap })
    }

    fn word_bytes(&self) -> usize {
        match self.digits {
            3 => 1,
            6 => 2,
            hexadecimal => hexadecimal / 2,
        }
    }

    /// Returns the bytes of a line.
    fn bytes(&self, line: &str) -> Vec<u8> {
        let (mut bytes, mut gap) = (Vec::new(), 0);
        let words = groups(line).skip(usize::from(self.has_offset));
        for word in words.skip_while(|word| word.is_empty()) {
            if word.is_empty() {
                gap += 1;
                continue;
            }
            // `hexdump -C` has a gap after eight bytes.
            let is_near = gap <= self.max_gap || gap == 1 && bytes.len() == 8;
            let Some(decoded) = self.bytes_of(word).filter(|_| is_near) else { break };
            bytes.extend(decoded);
            gap = 0;
        }
        bytes
    }

    /// Returns the bytes of a word. The last word of a line may be shorter.
    fn bytes_of(&self, word: &str) -> Option<Vec<u8>> {
        match self.digits {
            digits if word.len() > digits => None,
            3 | 6 if word.len() < self.digits => None,
            3 => u8::from_str_radix(word, 8).ok().map(|byte| vec![byte]),
            6 => u16::from_str_radix(word, 8).ok().map(|word| word.to_be_bytes().to_vec()),
            _ => word.as_bytes().chunks(2).map(byte_of).collect(),
        }
    }
}

/// Returns the groups of digits of a line, with an empty one for each further sign between them.
fn groups(line: &str) -> impl Iterator<Item = &str> {
    let groups = line.split([' ', ':', ',']);
    groups.map(|group| group.strip_prefix("0x").unwrap_or(group))
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

    /// The outputs of the programs for a file of 31 bytes.
    #[test]
    fn words_are_decoded_in_the_order_of_their_bytes() {
        let secret = "token = 'bead feed 42' of acme\n";
        for (command, text) in [
            (
                "hexdump",
                "0000000 6f74 656b 206e 203d 6227 6165 2064 6566\n\
                 0000010 6465 3420 2732 6f20 2066 6361 656d 000a\n\
                 000001f\n",
            ),
            (
                "hexdump -x",
                "0000000    6f74    656b    206e    203d    6227    6165    2064    6566\n\
                 0000010    6465    3420    2732    6f20    2066    6361    656d    000a\n\
                 000001f\n",
            ),
            (
                "hexdump -o",
                "0000000  067564  062553  020156  020075  061047  060545  020144  062546\n\
                 0000010  062145  032040  023462  067440  020146  061541  062555  000012\n\
                 000001f\n",
            ),
            (
                "od",
                "0000000 067564 062553 020156 020075 061047 060545 020144 062546\n\
                 0000020 062145 032040 023462 067440 020146 061541 062555 000012\n\
                 0000037\n",
            ),
            (
                "od -b",
                "0000000 164 157 153 145 156 040 075 040 047 142 145 141 144 040 146 145\n\
                 0000020 145 144 040 064 062 047 040 157 146 040 141 143 155 145 012\n\
                 0000037\n",
            ),
            (
                "od -x",
                "0000000 6f74 656b 206e 203d 6227 6165 2064 6566\n\
                 0000020 6465 3420 2732 6f20 2066 6361 656d 000a\n\
                 0000037\n",
            ),
            (
                "od -An -tx1",
                " 74 6f 6b 65 6e 20 3d 20 27 62 65 61 64 20 66 65\n \
                 65 64 20 34 32 27 20 6f 66 20 61 63 6d 65 0a\n",
            ),
            (
                "od -An -tx4",
                " 656b6f74 203d206e 61656227 65662064\n 34206465 6f202732 63612066 000a656d\n",
            ),
            (
                "od -tx8",
                "0000000 203d206e656b6f74 6566206461656227\n\
                 0000020 6f20273234206465 000a656d63612066\n\
                 0000037\n",
            ),
        ] {
            let found: Vec<String> = views(text).map(|view| view.text).collect();
            let is_secret = |view: &String| view.trim_end_matches('\0') == secret;
            assert!(found.iter().any(is_secret), "{command}: {found:?}");
        }
    }

    #[test]
    fn short_last_line_is_part_of_the_dump() {
        for (text, last) in [
            ("0000000 6f74 656b 206e 203d 6227 6165 2064 6566\n0000020 6465 3420\n0000024\n", " 4"),
            ("0000000 6f74 656b 206e 203d 6227 6165 2064 6566\r\n0000020 6465\r\n", "feed"),
            (" 74 6f 6b 65 6e 20 3d 20 27 62 65 61 64 20 66 65\n 65 64\n", "feed"),
            (
                "[0x74, 0x6f, 0x6b, 0x65, 0x6e, 0x20, 0x3d, 0x20, 0x27, 0x62,\n \
                 0x65, 0x61, 0x64, 0x20, 0x66, 0x65, 0x65, 0x64,\n 0x20]",
                "feed ",
            ),
        ] {
            let found: Vec<String> = views(text).map(|view| view.text).collect();
            assert!(found.iter().any(|view| view.ends_with(last)), "{text}: {found:?}");
        }
        let apart = " 74 6f 6b 65 6e 20 3d 20 27 62 65 61 64 20 66 65 64 20\n 12 apples\n";
        assert_eq!(
            views(apart).next().map(|view| view.text).as_deref(),
            Some("token = 'bead fed ")
        );
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
