//! Handles: short names of a bundle's items, such as `m2` and `d1`, for models to refer to.

use std::fmt;
use std::str::FromStr;

use crate::kinds::vocabularies;

vocabularies! {
    /// The kind of an item, which is the letter of its handle. Numbers count per kind.
    HandleKind, "handle", {
        /// A memory record: `m1`.
        Memory = "m",
        /// A document: `d1`.
        Document = "d",
        /// A dialog: `t1`.
        Dialog = "t",
        /// A location in the code: `c1`.
        Code = "c",
    }
}

/// The name of an item, valid within one bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    /// The kind of the item.
    pub kind: HandleKind,
    /// The number within the kind, from 1, in the order shown.
    pub number: u16,
}

/// The error of a word that is not a handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "is not a handle; recall returns handles such as m1 (a record), d1 (a document), t1 \
     (a dialog), c1 (code)"
)]
pub struct InvalidHandle;

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, self.number)
    }
}

impl FromStr for Handle {
    type Err = InvalidHandle;

    /// Parses `m1`, and the forms that models write: `M1`, `[m1]`, `#m1`.
    fn from_str(word: &str) -> Result<Self, InvalidHandle> {
        let word = word.trim().trim_matches(['[', ']', '(', ')', '`', '"', '#']);
        let mut letters = word.chars();
        let letter = letters.next().ok_or(InvalidHandle)?.to_ascii_lowercase();
        let kind = HandleKind::ALL.iter().copied().find(|kind| kind.as_str().starts_with(letter));
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
    fn handles_parse_back_from_their_text() {
        for &kind in HandleKind::ALL {
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
    fn other_texts_are_not_handles() {
        for word in ["", "m", "m0", "m01", "x1", "m-1", "m+1", "m1x", "m70000", "mm1", "1", "é1"] {
            assert_eq!(word.parse::<Handle>(), Err(InvalidHandle), "{word:?}");
        }
    }
}
