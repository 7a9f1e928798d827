//! Lines and their endings.

use std::ops::Range;

/// The characters that end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// Line feed, as on Unix.
    Lf,
    /// Carriage return and line feed, as on Windows.
    CrLf,
    /// Carriage return, as on old Macs.
    Cr,
}

impl LineEnding {
    /// Returns the characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// Returns the line ending at `at`.
    pub(crate) fn at(text: &str, at: usize) -> Option<Self> {
        match text.as_bytes().get(at..)? {
            [b'\r', b'\n', ..] => Some(Self::CrLf),
            [b'\r', ..] => Some(Self::Cr),
            [b'\n', ..] => Some(Self::Lf),
            _ => None,
        }
    }

    /// Returns the first line ending of `text`.
    pub(crate) fn first_in(text: &str) -> Option<Self> {
        Self::at(text, text.find(['\r', '\n'])?)
    }
}

/// A line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The bytes of the text, without the line ending.
    pub text: Range<usize>,
    /// The line ending; `None` if the last line has none.
    pub ending: Option<LineEnding>,
}

impl Line {
    /// Returns the end of the line with its line ending.
    pub fn end(&self) -> usize {
        self.text.end + self.ending.map_or(0, |ending| ending.as_str().len())
    }
}

/// Returns the lines of `text`. A final line ending does not start another line.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].find(['\r', '\n']).map_or(text.len(), |length| start + length);
        let line = Line { text: start..end, ending: LineEnding::at(text, end) };
        start = line.end();
        lines.push(line);
    }
    lines
}

/// Returns the most frequent line ending; [`LineEnding::Lf`] without any.
pub(crate) fn majority(lines: &[Line]) -> LineEnding {
    let count = |ending| lines.iter().filter(|line| line.ending == Some(ending)).count();
    let mut best = (LineEnding::Lf, count(LineEnding::Lf));
    for ending in [LineEnding::CrLf, LineEnding::Cr] {
        let count = count(ending);
        if count > best.1 {
            best = (ending, count);
        }
    }
    best.0
}

/// Returns `text` with `\n` as its only line ending.
pub(crate) fn with_lf(text: &str) -> String {
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_an_editor() {
        let found = |text| {
            let lines = lines(text);
            lines.iter().map(|line| (&text[line.text.clone()], line.ending)).collect::<Vec<_>>()
        };
        let (lf, crlf, cr) = (Some(LineEnding::Lf), Some(LineEnding::CrLf), Some(LineEnding::Cr));
        assert_eq!(found(""), []);
        assert_eq!(found("\n"), [("", lf)]);
        assert_eq!(
            found("a\r\nb\rc\n\nd"),
            [("a", crlf), ("b", cr), ("c", lf), ("", lf), ("d", None)]
        );
    }

    #[test]
    fn majority_is_lf_without_another() {
        assert_eq!(majority(&lines("a")), LineEnding::Lf);
        assert_eq!(majority(&lines("a\r\nb\n")), LineEnding::Lf);
        assert_eq!(majority(&lines("a\r\nb\r\nc\n")), LineEnding::CrLf);
        assert_eq!(majority(&lines("a\rb")), LineEnding::Cr);
    }
}
