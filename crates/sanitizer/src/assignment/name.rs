//! Identifiers, and whether they name a secret.

use std::collections::HashSet;
use std::ops::Range;

use regex::Regex;

use super::cursor::Cursor;
use crate::byte_set::ByteSet;

/// The strength of a word in a name as evidence for a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// People choose such values: `password`.
    HumanChosen,
    /// Machines generate such values: `token`.
    Random,
    /// The word has many other uses: `key`.
    Weak,
}

/// The word lists of the rule files, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Before a weak word, these make it as strong as `token`.
    pub qualifiers: HashSet<String>,
    /// Directly before the word, these make it something else: `primary_key`.
    pub kinds: HashSet<String>,
    /// After the word, these make the value a property of a secret: `token_url`.
    pub aspects: HashSet<String>,
    /// Anywhere in the name, these mean that the value is not secret: `invalid_token`.
    pub denials: HashSet<String>,
    /// Parts of placeholder values: `your-api-key`.
    pub stand_ins: Vec<String>,
    /// Values of these forms are left to the rules of their formats.
    pub claimed: Vec<Regex>,
}

impl Names {
    pub(crate) fn extend(&mut self, other: Self) {
        self.qualifiers.extend(other.qualifiers);
        self.kinds.extend(other.kinds);
        self.aspects.extend(other.aspects);
        self.denials.extend(other.denials);
        self.stand_ins.extend(other.stand_ins);
    }

    /// Whether the value is left to the rule of its format.
    pub(crate) fn claims(&self, value: &str) -> bool {
        self.claimed.iter().any(|form| form.is_match(value))
    }

    /// Whether a word of the name means that the value is not secret.
    pub(crate) fn denies(&self, name: &str) -> bool {
        words(name).any(|word| self.denials.contains(&word))
    }

    /// Whether a word of the name makes it the name of something else.
    pub(crate) fn is_other(&self, name: &str) -> bool {
        words(name).any(|word| self.kinds.contains(&word))
    }

    /// Whether the value is a placeholder.
    pub(crate) fn is_stand_in(&self, value: &str) -> bool {
        let lower = value.to_ascii_lowercase();
        is_name_of_constant(value)
            || self.stand_ins.iter().any(|part| lower.contains(part.as_str()))
    }
}

/// Whether the value is a word for a password in capitals: `postgres://USER:DB_PASSWORD@host/db`.
fn is_name_of_constant(value: &str) -> bool {
    const WORDS: [&str; 6] = ["PASSWORD", "PASSWD", "PASS", "PWD", "SECRET", "TOKEN"];
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let ends_in = |word: &&str| {
        let before = value.strip_suffix(word);
        before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    value.bytes().all(is_capital) && WORDS.iter().any(ends_in)
}

/// Maximum length of an identifier on either side of the word, in bytes.
const MAX_BYTES: usize = 48;

/// An identifier with a word that may name a secret.
pub(super) struct Name<'t> {
    text: &'t str,
    start: usize,
    word: Range<usize>,
    pub end: usize,
}

impl<'t> Name<'t> {
    /// Returns the identifier around `word`, unless the word is longer.
    pub(super) fn around(text: &'t str, word: Range<usize>) -> Option<Self> {
        static INNER: ByteSet = ByteSet::alphanumeric_and(b"_-.");
        let bytes = text.as_bytes();
        ends_word(bytes, &word).then_some(())?;
        let is_inner = |byte: u8| INNER.contains(byte);
        let before = bytes[..word.start].iter().rev().take(MAX_BYTES).take_while(|b| is_inner(**b));
        let start = word.start - before.count();
        let mut cursor = Cursor::new(text, word.end);
        // Inflected words: `паролем`.
        let may_inflect = !bytes[word.end - 1].is_ascii();
        cursor.skip(if may_inflect { MAX_BYTES } else { 0 }, |byte| !byte.is_ascii());
        cursor.skip(MAX_BYTES, is_inner);
        // A full stop ends a sentence, a dash begins an arrow.
        let tail = text[word.end..text.floor_char_boundary(cursor.at)].trim_end_matches(['.', '-']);
        let end = word.end + tail.len();
        Some(Self { text, start, word, end })
    }

    /// Whether the name is the user in a URL, before a password and the host:
    /// `https://x-access-token:...@host`.
    pub(super) fn is_user_of_url(&self) -> bool {
        self.text[..self.start].ends_with("://")
    }

    /// Returns the strength of the name, if it names a secret.
    pub(super) fn strength(&self, of_word: Strength, names: &Names) -> Option<Strength> {
        let head = &self.text[self.start..self.word.start];
        let tail = &self.text[self.word.end..self.end];
        let previous = words(head).last().unwrap_or_default();
        let qualified = names.qualifiers.iter().any(|known| previous.ends_with(known.as_str()))
            || previous.is_empty() && self.is_preceded_by(&names.qualifiers);
        // `compass`, `monkey`.
        let is_part_of_others = of_word == Strength::Weak || self.word.len() <= 4;
        let is_whole = begins_word(self.text.as_bytes(), self.word.start);
        if !is_whole && !qualified && is_part_of_others {
            return None;
        }
        // `order key`. A stronger word has its own meaning: `object password`.
        let is_other =
            of_word == Strength::Weak && previous.is_empty() && self.is_preceded_by(&names.kinds);
        let is_about = words(tail).any(|part| names.aspects.contains(&part));
        if is_other
            || is_about
            || names.kinds.contains(&previous)
            || names.denies(head)
            || names.denies(tail)
        {
            return None;
        }
        Some(if qualified && of_word == Strength::Weak { Strength::Random } else { of_word })
    }

    /// Whether a value is the variable of the same name: `svr2Password: svr2Password`.
    pub(super) fn is_variable(&self, value: &str) -> bool {
        value == &self.text[self.start..self.end]
    }

    /// Whether one of the words precedes the name and a space: `api key`.
    fn is_preceded_by(&self, known: &HashSet<String>) -> bool {
        let Some(before) = self.text[..self.start].strip_suffix(' ') else { return false };
        let letters = before.bytes().rev().take(16).take_while(u8::is_ascii_alphabetic).count();
        known.contains(&before[before.len() - letters..].to_ascii_lowercase())
    }
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_none_or(|before| {
        !before.is_ascii_alphabetic() && before < 0x80
            || before.is_ascii_lowercase() && bytes[at].is_ascii_uppercase()
    })
}

/// Whether the word ends here, as in `token`, `tokens`, `tokenValue` and `TOKEN_1`, but not in
/// `tokenizer`. Letters beyond ASCII may follow, since many languages inflect words.
fn ends_word(bytes: &[u8], word: &Range<usize>) -> bool {
    let was_lower = bytes[word.end - 1].is_ascii_lowercase();
    let ends = |byte: Option<&u8>| {
        byte.is_none_or(|byte| {
            !byte.is_ascii_alphabetic() || was_lower && byte.is_ascii_uppercase()
        })
    };
    let next = bytes.get(word.end);
    let is_plural = next.is_some_and(|byte| byte.eq_ignore_ascii_case(&b's'));
    ends(next) || is_plural && ends(bytes.get(word.end + 1))
}

/// Whether the name is that of an identifier: `id`, `elementId`, `USER_IDS`, `etag`.
pub(crate) fn is_identifier(name: &str) -> bool {
    const NAMES: [&str; 6] = ["id", "ids", "uid", "uuid", "guid", "etag"];
    words(name).last().is_some_and(|last| NAMES.contains(&last.as_str()))
}

/// Splits an identifier into words, in lower case: `my`, `api`, `key` of `my_apiKey`.
fn words(identifier: &str) -> impl Iterator<Item = String> + '_ {
    identifier.split(|c: char| !c.is_ascii_alphabetic()).flat_map(|part| {
        let bytes = part.as_bytes();
        let mut starts: Vec<usize> = vec![0];
        starts.extend((1..bytes.len()).filter(|&at| {
            bytes[at].is_ascii_uppercase()
                && (bytes[at - 1].is_ascii_lowercase()
                    || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
        }));
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([bytes.len()]).collect();
        starts
            .into_iter()
            .zip(ends)
            .filter(|(from, to)| from < to)
            .map(|(from, to)| part[from..to].to_ascii_lowercase())
    })
}
