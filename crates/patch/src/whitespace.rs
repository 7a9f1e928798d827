//! Comparison of lines that differ in whitespace, and the indentation of added lines.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::lines::{ending, indentation, is_blank, weight, without_ending};
use crate::place::TEXT_WEIGHT_MIN;

/// How exactly two lines must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Byte for byte.
    Bytes,
    /// Without whitespace at the end.
    End,
    /// Without whitespace at both ends, and with one space in place of other whitespace.
    Words,
}

impl Level {
    /// The levels, from the most exact one.
    pub const ALL: [Self; 3] = [Self::Bytes, Self::End, Self::Words];

    /// Returns what is compared of a line.
    pub fn key(self, line: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes => Cow::Borrowed(line),
            Self::End => Cow::Borrowed(line.trim_ascii_end()),
            Self::Words => {
                let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                Cow::Owned(words.collect::<Vec<_>>().join(&b' '))
            }
        }
    }
}

/// Changes added lines so that they look like the file around them.
#[derive(Debug, Default)]
pub(crate) struct Adjustment {
    /// Indentation in the file by that in the hunk, of the unchanged and removed lines.
    indentations: HashMap<Vec<u8>, Vec<u8>>,
    /// Whether the lines of the file end with CRLF, and those of the hunk with LF.
    adds_cr: bool,
    /// The other way round.
    removes_cr: bool,
}

impl Adjustment {
    /// Creates the adjustment for pairs of lines of the hunk and of the file. `None` if an
    /// indentation of the hunk has several in the file, or if a closing line such as `end` is
    /// deeper or less deep than the line with most text suggests: it is probably another one.
    pub fn of<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<Self> {
        let mut adjustment = Self::default();
        let (mut has_lf, mut has_crlf, mut has_cr) = (false, false, false);
        let mut seen: Vec<(usize, usize, usize)> = Vec::new();
        for (line, found) in pairs {
            has_cr |= ending(line) == b"\r\n";
            has_crlf |= ending(found) == b"\r\n";
            has_lf |= ending(found) == b"\n";
            if is_blank(line) || is_blank(found) {
                continue;
            }
            let (own, of_file) = (indentation(line), indentation(found));
            seen.push((weight(line), own.len(), of_file.len()));
            let known = adjustment.indentations.entry(own.to_owned());
            if known.or_insert_with(|| of_file.to_owned()) != of_file {
                return None;
            }
        }
        adjustment.adds_cr = has_crlf && !has_lf && !has_cr;
        adjustment.removes_cr = has_lf && !has_crlf && has_cr;
        (adjustment.is_increasing() && is_uniform(&seen)).then_some(adjustment)
    }

    /// Returns whether a line that is deeper in the hunk is also deeper in the file.
    fn is_increasing(&self) -> bool {
        let lengths = self.indentations.iter().map(|(own, found)| (own.len(), found.len()));
        let lengths: BTreeMap<usize, usize> = lengths.collect();
        lengths.values().zip(lengths.values().skip(1)).all(|(outer, inner)| outer < inner)
    }

    /// Returns an added line as the file would have it.
    pub fn adjusted(&self, line: &[u8]) -> Vec<u8> {
        let mut adjusted = Vec::with_capacity(line.len() + 8);
        let own = indentation(line);
        if is_blank(line) {
            adjusted.extend(without_ending(line));
        } else {
            adjusted.extend(self.indentation(own));
            adjusted.extend(&without_ending(line)[own.len()..]);
        }
        let ending = ending(line);
        adjusted.extend(match ending {
            b"\n" if self.adds_cr => &b"\r\n"[..],
            b"\r\n" if self.removes_cr => b"\n",
            ending => ending,
        });
        adjusted
    }

    /// Returns the indentation in the file for one of the hunk: that of a line with the same one,
    /// else by the line whose indentation is closest.
    fn indentation(&self, own: &[u8]) -> Vec<u8> {
        if let Some(found) = self.indentations.get(own) {
            return found.clone();
        }
        if let Some(converted) = self.converted(own) {
            return converted;
        }
        let shorter = self.indentations.keys().filter(|known| own.starts_with(known));
        if let Some(known) = shorter.max_by_key(|known| known.len()) {
            return [&self.indentations[known], &own[known.len()..]].concat();
        }
        // All known ones are deeper.
        let deeper = self.indentations.iter().filter(|(known, _)| known.starts_with(own));
        let nearest = deeper.min_by_key(|(known, _)| known.len());
        let outer = nearest.and_then(|(known, found)| found.strip_suffix(&known[own.len()..]));
        outer.unwrap_or(own).to_owned()
    }
}

/// Returns whether the closing lines differ in their indentation as the line with most text does:
/// by the same width, or by the same factor. Lines are their letters and digits, and both widths.
fn is_uniform(lines: &[(usize, usize, usize)]) -> bool {
    let Some((_, own_width, width)) = lines.iter().max() else { return true };
    lines.iter().filter(|(weight, ..)| *weight < TEXT_WEIGHT_MIN).all(|(_, own, found)| {
        let is_shifted = (found + own_width).saturating_sub(*width) == *own
            || (own + width).saturating_sub(*own_width) == *found;
        is_shifted || own * width == found * own_width
    })
}

impl Adjustment {
    /// Returns an indentation that is wider or narrower by the factor of all known ones, with tabs
    /// in place of spaces, or the other way round, if they have. `None` if they differ otherwise,
    /// or if the factor may be a coincidence.
    fn converted(&self, own: &[u8]) -> Option<Vec<u8>> {
        let mut known = self.indentations.iter().filter(|(own, _)| !own.is_empty());
        let (first, found) = known.next()?;
        let (from, to) = (*first.first()?, *found.first()?);
        let is_certain = from != to || self.indentations.len() > 1;
        let convert = |own: &[u8]| {
            let width = own.len() * found.len();
            let is_alike = own.iter().all(|byte| *byte == from);
            // Spaces that make no whole tab stay.
            let rest = if to == b'\t' { own.len() % (first.len() / found.len()).max(1) } else { 0 };
            let is_whole = width % first.len() == rest * found.len() % first.len();
            (is_alike && is_whole)
                .then(|| [vec![to; width / first.len()], vec![b' '; rest]].concat())
        };
        let is_alike = |(own, found): (&Vec<u8>, &Vec<u8>)| convert(own).as_ref() == Some(found);
        let is_wider = found.len() != first.len();
        let applies = is_certain && is_wider && self.indentations.iter().all(is_alike);
        if applies { convert(own) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_get_the_indentation_and_the_endings_of_the_file() {
        let pairs: [(&[u8], &[u8]); 3] =
            [(b"  a\n", b"      a\r\n"), (b"\n", b"\r\n"), (b"    b\n", b"        b\r\n")];
        let adjustment = Adjustment::of(pairs.into_iter()).expect("an adjustment");
        for (line, expected) in [
            (&b"  c\n"[..], &b"      c\r\n"[..]),
            (b"      d\n", b"          d\r\n"),
            (b"e\n", b"    e\r\n"),
            (b"\n", b"\r\n"),
        ] {
            assert_eq!(adjustment.adjusted(line), expected);
        }
        let tabs: [(&[u8], &[u8]); 1] = [(b"    a\n", b"\ta\n")];
        let adjustment = Adjustment::of(tabs.into_iter()).expect("an adjustment");
        assert_eq!(adjustment.adjusted(b"      b\n"), b"\t  b\n");
        assert_eq!(adjustment.adjusted(b"            b\n"), b"\t\t\tb\n");
        let spaces: [(&[u8], &[u8]); 1] = [(b"\ta\n", b"  a\n")];
        let adjustment = Adjustment::of(spaces.into_iter()).expect("an adjustment");
        assert_eq!(adjustment.adjusted(b"\t\tb\n"), b"    b\n");
        let doubled: [(&[u8], &[u8]); 2] = [(b"a\n", b"a\n"), (b"  b\n", b"    b\n")];
        let adjustment = Adjustment::of(doubled.into_iter()).expect("an adjustment");
        assert_eq!(adjustment.adjusted(b"    c\n"), b"        c\n");
        let flattened: [(&[u8], &[u8]); 2] =
            [(b"    a\n", b"    a\n"), (b"        b\n", b"    b\n")];
        assert!(Adjustment::of(flattened.into_iter()).is_none());
        let crlf: [(&[u8], &[u8]); 1] = [(b"a\r\n", b"a\n")];
        let adjustment = Adjustment::of(crlf.into_iter()).expect("an adjustment");
        assert_eq!(adjustment.adjusted(b"b\r\n"), b"b\n");
        let other: [(&[u8], &[u8]); 2] =
            [(b"    one_line\n", b"    one_line\n"), (b"end\n", b"  end\n")];
        assert!(Adjustment::of(other.into_iter()).is_none());
        let both: [(&[u8], &[u8]); 2] = [(b" a\n", b"\ta\n"), (b" b\n", b"  b\n")];
        assert!(Adjustment::of(both.into_iter()).is_none());
    }
}
