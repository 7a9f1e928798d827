//! The text as a reader sees it: without invisible characters and terminal sequences, with escapes
//! decoded and full-width forms replaced.
//!
//! The sanitizer and the detection of prompt injection match the same text, so that neither
//! misses what a terminal, a browser or a JSON parser makes of a text.
//!
//! # Contract
//!
//! Renderers print text for a model or for a terminal. The sanitizer and the prompt guard match
//! every part of a text that a renderer makes visible:
//!
//! - A renderer removes, replaces or escapes the characters and sequences of this module only, and
//!   has no list of its own: see [`is_unprintable`] and [`sequence_end`].
//! - A renderer leaves escapes such as `\n` as they are written, since code must stay code. The
//!   sanitizer matches them decoded and as they are written.
//! - A renderer for a terminal escapes the controls of a sequence and shows its string, such as a
//!   title; one for a model replaces the whole sequence. Both are matched: [`string_of_sequence`].
//! - A renderer for a model finds special tokens in the text without invisible characters and with
//!   compatibility forms replaced. So its output has no token even if a consumer normalizes it.
//!
//! Property tests check this for both renderers, with texts from `tests/disguised.rs`.

mod escapes;
mod invisible;
mod rendering;
mod sequences;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

pub use invisible::{InvisibleKind, ascii_of_tag, invisible_kind, is_legitimate};
pub use mc_domain::is_other_line_break;
pub use rendering::{
    bare_sequence_end, is_unprintable, sequence_end, string_of_sequence, without_sequences,
};

/// A part of the visible text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A character.
    Char(char),
    /// A terminal sequence, such as a change of color: it shows nothing, but words touch it.
    Sequence,
}

/// A part of the visible text, with the bytes of the text that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The character or sequence.
    pub shown: Shown,
    /// The bytes of the text; both ends are character boundaries.
    pub at: Range<usize>,
}

impl Piece {
    fn character(&self) -> Option<char> {
        match self.shown {
            Shown::Char(c) => Some(c),
            Shown::Sequence => None,
        }
    }
}

/// A part of the visible text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Characters of one byte that are shown as they are.
    Plain(Range<usize>),
    /// Anything else.
    Piece(Piece),
}

impl Part {
    /// Returns the bytes of the text that it stands for.
    pub(crate) fn at(&self) -> &Range<usize> {
        match self {
            Self::Plain(at) | Self::Piece(Piece { at, .. }) => at,
        }
    }
}

/// Returns the visible text of `text`, in text order. Invisible characters have no piece.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece> + '_ {
    parts(text).flat_map(|part| {
        let (plain, other) = match part {
            Part::Plain(at) => (at, None),
            Part::Piece(piece) => (0..0, Some(piece)),
        };
        let shown = |at| Shown::Char(char::from(text.as_bytes()[at]));
        plain.map(move |at| Piece { shown: shown(at), at: at..at + 1 }).chain(other)
    })
}

/// Returns the same as [`pieces`], with each run of plain characters as one part. Most text is
/// plain.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Part> + '_ {
    let mut at = 0;
    let mut before = None;
    // Further characters of a compatibility form, last one first.
    let mut pending: Vec<Piece> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            if let Some(piece) = pending.pop() {
                return Some(Part::Piece(piece));
            }
            let plain = text.as_bytes()[at..].iter().take_while(|byte| is_plain(**byte)).count();
            if plain > 0 {
                let start = at;
                at += plain;
                before = text[start..at].chars().next_back();
                return Some(Part::Plain(start..at));
            }
            let c = text[at..].chars().next()?;
            let (length, step) = step(text, at, c, before);
            let start = at;
            at += length;
            let piece = |shown| Piece { shown, at: start..start + length };
            match step {
                Step::Show(c) => {
                    before = Some(c);
                    return Some(Part::Piece(piece(Shown::Char(c))));
                }
                Step::Sequence => return Some(Part::Piece(piece(Shown::Sequence))),
                Step::Form => {
                    pending.extend(std::iter::once(c).nfkc().map(|c| piece(Shown::Char(c))));
                    // A selector after a form of a letter belongs to no symbol.
                    before = pending.last().and_then(Piece::character);
                    pending.reverse();
                }
                Step::Hide => {}
            }
        }
    })
}

/// Returns the offset of the next character from `from` on that is visible as another one,
/// or not at all. Escapes that change no word do not count, since most are of this kind: those of
/// quotes and backslashes, and those of spaces and line breaks before a sign.
pub fn next_change(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_candidate = |at: &usize| {
        let is_index = bytes[*at] == b'[' && !bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        CANDIDATES[usize::from(bytes[*at])] && !is_index
    };
    let mut start = from;
    while start < bytes.len() {
        let chunk = bytes[start..].first_chunk();
        let end = chunk.map_or(bytes.len(), |_| start + CHUNK);
        if chunk.is_none_or(may_change) {
            let found = (start..end).filter(is_candidate).find(|at| is_changed(text, *at));
            if found.is_some() {
                return found;
            }
        }
        start = end;
    }
    None
}

/// Size of a chunk, in bytes: the compiler vectorizes the search for its signs.
const CHUNK: usize = 64;

/// Whether one of the bytes but the last one is neither a letter, a digit nor a usual sign. A
/// bracket is usual unless a digit follows.
fn may_change(chunk: &[u8; CHUNK + 1]) -> bool {
    // In numbers, since a lazy operator is a branch.
    let is_sign = |byte: u8, next: u8| {
        let is_usual = u8::from((b' '..=b'~').contains(&byte)) & u8::from(byte != b'\\');
        let is_break = u8::from(byte == b'\n') | u8::from(byte == b'\r');
        let is_index = u8::from(byte == b'[') & u8::from(next.is_ascii_digit());
        1 ^ (is_usual | is_break | u8::from(byte == b'\t')) | is_index
    };
    let pairs = chunk[..CHUNK].iter().zip(&chunk[1..]);
    pairs.fold(0, |found, (byte, next)| found | is_sign(*byte, *next)) != 0
}

/// The first bytes of characters that may change. They are rare in text of any language.
static CANDIDATES: [bool; 256] = {
    let mut candidates = [false; 256];
    let mut byte = 0;
    while byte < candidates.len() {
        candidates[byte] = match byte {
            0x09 | 0x0a | 0x0d => false,
            // A bracket and a backslash. Those from 0xc2 on are of the blocks of invisible
            // characters and compatibility forms.
            ..0x20 | 0x5b | 0x5c | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xee..=0xf0 => true,
            byte => byte >= 0xf3,
        };
        byte += 1;
    }
    candidates
};

fn is_changed(text: &str, at: usize) -> bool {
    let Some(c) = text[at..].chars().next() else { return false };
    if c == '\\' {
        return escapes::escape(text.as_bytes(), at).is_some_and(|(c, end)| match c {
            '"' | '\'' | '`' | '\\' | '/' => false,
            // A word follows that seems to begin with the letter of the escape.
            '\n' | '\t' | '\r' if end == at + 2 => {
                text.as_bytes().get(end).is_some_and(|byte| is_of_word(*byte))
            }
            _ => true,
        });
    }
    let before = text[..at].chars().next_back();
    !matches!(step(text, at, c, before).1, Step::Show(shown) if shown == c)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether a piece that begins with this byte is this character, whatever follows.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'Z' | b']'..=b'~')
}

/// What is visible of a character.
enum Step {
    Show(char),
    /// Show its compatibility form.
    Form,
    Sequence,
    Hide,
}

/// Returns the number of bytes at `at`, where `c` is, and what is visible of them. The
/// character `before` is the last one shown.
fn step(text: &str, at: usize, c: char, before: Option<char>) -> (usize, Step) {
    let bytes = text.as_bytes();
    let length = c.len_utf8();
    match c {
        '\\' => match escapes::escape(bytes, at) {
            Some((c, end)) => shown_escape(bytes, c, at, end),
            None => (1, Step::Show(c)),
        },
        '[' => match sequences::bare(bytes, at) {
            Some(end) => (end - at, Step::Sequence),
            None => (1, Step::Show(c)),
        },
        '\u{1b}' | '\u{90}'..='\u{9f}' => match sequences::end(bytes, c, at + length) {
            Some(end) => (end - at, Step::Sequence),
            None => (length, Step::Hide),
        },
        c if c != '\r' && is_other_line_break(c) => (length, Step::Show('\n')),
        _ => (length, shown(text, at, c, before)),
    }
}

fn shown(text: &str, at: usize, c: char, before: Option<char>) -> Step {
    let Some(kind) = invisible_kind(c) else {
        return if has_form(c) { Step::Form } else { Step::Show(c) };
    };
    if let (InvisibleKind::Tag, Some(ascii)) = (kind, ascii_of_tag(c)) {
        return Step::Show(ascii);
    }
    let after = text[at + c.len_utf8()..].chars().next();
    // A selector after a digit shows a key of a phone, but digits are in tokens, too.
    let follows_ascii = before.is_some_and(|before| before.is_ascii());
    if !follows_ascii && is_legitimate(before, c, after) { Step::Show(c) } else { Step::Hide }
}

/// Returns what is visible of an escape from `at` to `end` that stands for `c`.
fn shown_escape(bytes: &[u8], c: char, at: usize, end: usize) -> (usize, Step) {
    match sequences::end(bytes, c, end) {
        Some(end) => (end - at, Step::Sequence),
        None if matches!(c, '\u{b}' | '\u{c}') => (end - at, Step::Show('\n')),
        None if invisible_kind(c).is_some() => (end - at, Step::Hide),
        None => (end - at, Step::Show(c)),
    }
}

/// Whether `c` is a form of an ASCII character with another width, weight or frame.
fn has_form(c: char) -> bool {
    matches!(c, '\u{ff01}'..='\u{ff5e}' | '\u{2460}'..='\u{24ff}' | '\u{fe4d}'..='\u{fe6b}')
        || matches!(c, '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f18a}')
        || is_letter_like(c)
}

/// Whether `c` is a letterlike symbol, which Unicode uses in place of a mathematical letter.
fn is_letter_like(c: char) -> bool {
    matches!(c, '\u{2102}' | '\u{210a}'..='\u{2113}' | '\u{2115}' | '\u{2119}'..='\u{211d}')
        || matches!(c, '\u{2124}' | '\u{2128}' | '\u{212a}'..='\u{2134}')
        || matches!(c, '\u{2139}' | '\u{2145}'..='\u{2149}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> String {
        let shown = pieces(text).map(|piece| match piece.shown {
            Shown::Char(c) => c,
            Shown::Sequence => '|',
        });
        shown.collect()
    }

    #[test]
    fn visible_text_is_what_a_reader_sees() {
        for (text, expected) in [
            ("a\u{200b}b\u{ad}c\u{2060}d\u{feff}", "abcd"),
            ("\u{e0061}\u{e0062}", "ab"),
            ("ｇｈｐ＿ 𝐠𝐡𝐩 ⓖ 𝑔ℎ𝑝﹍ ﹤", "ghp_ ghp g ghp_ <"),
            ("ｇ\u{fe0f}ｈ\u{200d}ⓟ\u{200d}ⓠ", "ghpq"),
            (r"a\nb\tc \u003d\x3d\u{3d}\U0000003d\075", "a\nb\tc ====="),
            ("g\0h\0p\0", "ghp"),
            ("\u{1b}[31mred\u{1b}[0m", "|red|"),
            ("\u{1b}]8;;https://a.b\u{7}link\u{1b}]8;;\u{1b}\\.", "|link|."),
            (r"\x1b[31mred\u001b[0m \033[1;32mgreen\e[m \e]0;title\a.", "|red| |green| |."),
            ("[31mred[0m of [1m]", "|red| of [1m]"),
            ("\u{1b}(Bx \u{1b}c", "|x c"),
            ("\u{9b}31mred\u{9d}0;a\u{9c}b \u{90}q\u{1b}\\ \u{9d}М\u{9d}c", "|red|b | Мc"),
            ("a\u{b}b\u{2028}c", "a\nb\nc"),
            ("👨\u{200d}👩, ❤\u{fe0f}, не\u{ad}видимый", "👨\u{200d}👩, ❤\u{fe0f}, невидимый"),
            (r"C:\dir \u00g1 \xzz \", r"C:\dir \u00g1 \xzz \"),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn pieces_have_the_bytes_that_they_stand_for() {
        let text = "é\u{200b}\\u003d\u{1b}[1m𝐠";
        let parts: Vec<&str> = pieces(text).map(|piece| &text[piece.at]).collect();
        assert_eq!(parts, ["é", "\\u003d", "\u{1b}[1m", "𝐠"]);
    }

    #[test]
    fn only_changed_characters_are_found() {
        for (text, expected) in [
            ("let a = b[0]; // \"c\" \\\" \\\\ \t\r\n", None),
            ("println!(\"a\\n\\n\"); '\\t' ", None),
            ("Обычный текст, 日本語。 — “quoted” … €5 😀 ❤\u{fe0f}", None),
            ("ab\\nc", Some(2)),
            ("ж\u{ad}", Some(2)),
            ("日本ｇ", Some(6)),
        ] {
            assert_eq!(next_change(text, 0), expected, "{text:?}");
        }
    }
}
