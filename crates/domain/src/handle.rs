//! Short names for what a bundle holds, by which a model can speak of it: `m2`, `d1`.

use std::fmt;
use std::str::FromStr;

/// What a handle's letter stands for. Each letter is numbered by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandleKind {
    /// A memory record: `m1`.
    Memory,
    /// A document: `d1`.
    Document,
    /// A dialog: `t1`.
    Dialog,
    /// A place in the code: `c1`.
    Code,
}

impl HandleKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Document, Self::Dialog, Self::Code];

    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Self::Memory => 'm',
            Self::Document => 'd',
            Self::Dialog => 't',
            Self::Code => 'c',
        }
    }
}

/// The name of one item of a bundle; it means nothing outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    /// What the item is.
    pub kind: HandleKind,
    /// Which of that kind, from 1, in the order shown.
    pub number: u16,
}

/// A word that is no handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no handle; recall gives handles such as m1 (a record), d1 (a document), t1, c1")]
pub struct InvalidHandle;

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.letter(), self.number)
    }
}

impl FromStr for Handle {
    type Err = InvalidHandle;

    /// Reads `m1`; `M1`, `[m1]` and `#m1` are how models write it, too.
    fn from_str(word: &str) -> Result<Self, InvalidHandle> {
        let word = word.trim().trim_matches(['[', ']', '(', ')', '`', '"', '#']);
        let mut letters = word.chars();
        let letter = letters.next().ok_or(InvalidHandle)?.to_ascii_lowercase();
        let kind = HandleKind::ALL.into_iter().find(|kind| kind.letter() == letter);
        let digits = letters.as_str();
        let is_number =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse().ok().filter(|_| is_number);
        Ok(Self { kind: kind.ok_or(InvalidHandle)?, number: number.ok_or(InvalidHandle)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_handle_is_read_as_it_is_written() {
        for kind in HandleKind::ALL {
            for number in [1, 9, 40, u16::MAX] {
                let handle = Handle { kind, number };
                assert_eq!(handle.to_string().parse(), Ok(handle));
            }
        }
        for word in ["M2", "[m2]", " m2 ", "`m2`", "#m2"] {
            assert_eq!(word.parse::<Handle>().unwrap().to_string(), "m2", "{word}");
        }
    }

    #[test]
    fn other_words_are_none() {
        for word in ["", "m", "m0", "m01", "x1", "m-1", "m+1", "m1x", "m70000", "mm1", "1", "é1"] {
            assert_eq!(word.parse::<Handle>(), Err(InvalidHandle), "{word:?}");
        }
    }
}
