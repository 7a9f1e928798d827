//! The parts of a text that may be numbers of persons: one or several groups of digits and
//! upper-case letters, as issuers print them.

use std::ops::Range;

/// Maximum number of groups: an IBAN of 34 characters has nine.
const MAX_GROUPS: usize = 9;

/// Maximum length of a number without its separators, in bytes.
pub(super) const MAX_LENGTH: usize = 34;

/// Which characters of a number without separators are letters, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub length: usize,
    letters: u64,
}

impl Shape {
    const EMPTY: Self = Self { length: 0, letters: 0 };

    /// Returns the shape of letters and digits.
    #[cfg(test)]
    pub(super) fn of(compact: &str) -> Self {
        compact.bytes().fold(Self::EMPTY, Self::with)
    }

    fn with(self, byte: u8) -> Self {
        let letter = u64::from(!byte.is_ascii_digit());
        Self { length: self.length + 1, letters: self.letters | letter << self.length }
    }

    /// Returns the number of digits.
    pub(super) fn digits(self) -> usize {
        self.length - self.letters.count_ones() as usize
    }
}

/// A pattern of a number: `9` is a digit, `A` a letter, `X` either of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    pub length: usize,
    letters: u64,
    either: u64,
}

impl Pattern {
    pub(super) fn of(text: &str) -> Self {
        let places = |sign: u8| {
            let at = text.bytes().enumerate().filter(move |(_, byte)| *byte == sign);
            at.fold(0, |places, (at, _)| places | 1 << at)
        };
        Self { length: text.len(), letters: places(b'A'), either: places(b'X') }
    }

    pub(super) fn fits(self, shape: Shape) -> bool {
        shape.length == self.length && shape.letters & !self.either == self.letters
    }
}

/// Groups that may be a number.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    pub text: &'t str,
    pub span: Range<usize>,
    pub shape: Shape,
}

impl Candidate<'_> {
    /// Returns the letters and digits, without separators.
    pub(super) fn compact(&self) -> Vec<u8> {
        self.text[self.span.clone()].bytes().filter(u8::is_ascii_alphanumeric).collect()
    }

    /// Whether the number is written as one of the patterns, with their separators.
    pub(super) fn is_written_as(&self, patterns: &[&str]) -> bool {
        let written = &self.text[self.span.clone()];
        let fits = |(sign, c): (char, char)| match sign {
            '9' => c.is_ascii_digit(),
            'A' => c.is_ascii_uppercase(),
            'X' => c.is_ascii_alphanumeric(),
            other => c == other,
        };
        patterns.iter().any(|pattern| {
            pattern.len() == written.len() && pattern.chars().zip(written.chars()).all(fits)
        })
    }
}

/// Returns the groups of digits and upper-case letters in a part of a text. Each is delimited by
/// other characters.
pub(super) fn groups(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut groups = Vec::new();
    let mut at = part.start;
    while at < part.end {
        let start = at;
        while at < part.end && bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        let is_group = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        if at > start && at - start <= MAX_LENGTH && bytes[start..at].iter().all(is_group) {
            groups.push(start..at);
        }
        at += usize::from(at == start);
    }
    groups
}

/// Returns the numbers that begin with the first of the groups, the longest first: those of one
/// group, of two, and so on, while one or two separators are between them.
pub(super) fn from_first<'t>(text: &'t str, groups: &[Range<usize>]) -> Vec<Candidate<'t>> {
    let mut found = Vec::new();
    let Some(first) = groups.first() else { return found };
    let (mut shape, mut end) = (Shape::EMPTY, first.start);
    for group in groups.iter().take(MAX_GROUPS) {
        let is_next = group.start == first.start || is_separator(&text[end..group.start]);
        if !is_next || shape.length + group.len() > MAX_LENGTH {
            break;
        }
        shape = text.as_bytes()[group.clone()].iter().fold(shape, |shape, byte| shape.with(*byte));
        end = group.end;
        found.push(Candidate { text, span: first.start..end, shape });
    }
    found.reverse();
    found
}

/// Whether the text may separate two groups of a number: `-`, ` `, `. `, ` - `, ` № `.
fn is_separator(between: &str) -> bool {
    matches!(between, " " | "-" | "." | "/" | ":" | "+" | ". " | " - " | "- " | " -")
        || matches!(between, "\u{a0}" | "\u{2009}" | "\u{202f}" | "–" | "\u{2011}" | "·")
        || matches!(between, " № " | " №" | "№" | " номер " | ", номер " | " No. " | " no. ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(text: &str) -> Option<&str> {
        let groups = groups(text, 0..text.len());
        from_first(text, &groups).into_iter().next().map(|found| &text[found.span])
    }

    #[test]
    fn numbers_are_read_with_their_separators() {
        for text in ["AB 12 34 56 C", "123-45-6789", "4510 № 123456", "12.34.56-789.01"] {
            assert_eq!(longest(text), Some(text));
        }
        assert_eq!(longest("12, 34"), Some("12"));
        assert_eq!(longest("ABc 12"), Some("12"));
        assert_eq!(longest("ab c_d"), None);
    }

    #[test]
    fn shape_has_the_places_of_letters() {
        let text = "AB 12-3C";
        let shapes: Vec<Shape> = from_first(text, &groups(text, 0..text.len()))
            .into_iter()
            .map(|candidate| candidate.shape)
            .collect();
        assert_eq!(shapes, [Shape::of("CD123C"), Shape::of("ZZ00"), Shape::of("AB")]);
        assert_eq!(shapes[0].digits(), 3);
        let fits = |pattern| Pattern::of(pattern).fits(shapes[0]);
        assert!(fits("AA999A") && fits("XA9X9X") && !fits("AA9999") && !fits("AA999"));
    }
}
