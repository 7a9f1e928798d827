//! Unified diffs.

use std::fmt;

use crate::header::{Header, OF_GIT};
use crate::lines::{is_blank, split, with_unix_endings, without_ending};
use crate::types::{FilePatch, Hunk, HunkLine, LineKind, Patch};

/// Why a text is no diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong, and what is expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the diff: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Parses a unified diff as git and models write it. Text before the first file is skipped, and so
/// is text between files if the line counts of the hunks before it are right.
///
/// Wrong line counts of a hunk are corrected, and a hunk may have none (`@@`).
pub fn parse_diff(text: &[u8]) -> Result<Patch, ParseError> {
    let unix;
    let text = if has_other_endings(text) {
        unix = with_unix_endings(text);
        &unix[..]
    } else {
        text
    };
    Parser { lines: split(text), at: 0 }.patch()
}

/// Returns whether the lines of the diff itself end with CRLF, not just those of the files.
fn has_other_endings(text: &[u8]) -> bool {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut headers = lines.filter(|line| line.starts_with(b"+++ ") || line.starts_with(OF_GIT));
    headers.next().is_some_and(|line| line.ends_with(b"\r\n"))
}

struct Parser<'a> {
    lines: Vec<&'a [u8]>,
    /// Index of the next line.
    at: usize,
}

impl<'a> Parser<'a> {
    fn patch(mut self) -> Result<Patch, ParseError> {
        let mut files = Vec::new();
        while let Some(line) = self.line(0) {
            if line.starts_with(OF_GIT) || self.is_header() {
                files.push(self.file()?);
            } else if line.starts_with(b"@@") {
                return Err(self.error("a hunk needs lines `--- a/PATH` and `+++ b/PATH` above it"));
            } else {
                self.at += 1;
            }
        }
        if files.is_empty() {
            self.at = 0;
            return Err(self.error(
                "there is no diff; write lines `--- a/PATH` and `+++ b/PATH`, and hunks that start \
                 with `@@`",
            ));
        }
        Ok(Patch { files })
    }

    /// Returns the line `offset` after the next one.
    fn line(&self, offset: usize) -> Option<&'a [u8]> {
        self.lines.get(self.at + offset).copied()
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.at + 1, message: message.into() }
    }

    /// Returns whether the paths of a file follow.
    fn is_header(&self) -> bool {
        self.line(0).is_some_and(|line| line.starts_with(b"--- "))
            && self.line(1).is_some_and(|line| line.starts_with(b"+++ "))
    }

    fn file(&mut self) -> Result<FilePatch, ParseError> {
        let start = self.at;
        let mut header = Header::default();
        if let Some(line) = self.line(0).filter(|line| line.starts_with(OF_GIT)) {
            header = Header::of_git(line);
            self.at += 1;
        }
        while self.line(0).is_some_and(|line| header.read(line)) {
            self.at += 1;
            // A second file without a line of git's.
            if self.is_header() && self.lines[self.at - 1].starts_with(b"+++ ") {
                break;
            }
        }
        let mut hunks = Vec::new();
        while self.is_hunk() {
            hunks.push(self.hunk()?);
        }
        header.finish(hunks).map_err(|message| ParseError { line: start + 1, message })
    }

    /// Returns whether a hunk follows, and skips the empty lines before it.
    fn is_hunk(&mut self) -> bool {
        let blank = self.lines[self.at..].iter().take_while(|line| is_blank(line)).count();
        let is_hunk = self.line(blank).is_some_and(|line| line.starts_with(b"@@"));
        self.at += if is_hunk { blank } else { 0 };
        is_hunk
    }

    fn hunk(&mut self) -> Result<Hunk, ParseError> {
        let line = self.line(0).unwrap_or_default();
        let head = Head::of(without_ending(line));
        let start = self.at;
        self.at += 1;
        let by_counts = head.counts.and_then(|(old, new)| self.counted(old, new));
        let is_recounted = head.counts.is_some() && by_counts.is_none();
        let lines = match by_counts {
            Some(lines) => lines,
            None => self.uncounted()?,
        };
        let hunk = Hunk { position: head.position, section: head.section, lines, is_recounted };
        let message = if !hunk.has_changes() {
            "the hunk adds and removes no line"
        } else if has_unended_line(hunk.old_lines()) || has_unended_line(hunk.new_lines()) {
            "only the last line of a file may be without LF; remove `\\ No newline at end of file`"
        } else {
            return Ok(hunk);
        };
        self.at = start;
        Err(self.error(message))
    }

    /// Reads the lines of a hunk by its line counts; `None`, at the first of them, if the counts
    /// are wrong.
    fn counted(&mut self, mut old: usize, mut new: usize) -> Option<Vec<HunkLine>> {
        let start = self.at;
        let mut lines = Vec::new();
        let is_complete = loop {
            if self.is_marker() {
                without_newline(&mut lines);
                self.at += 1;
                continue;
            }
            if old == 0 && new == 0 {
                break !self.continues();
            }
            // No line of a hunk starts with `@@`.
            if self.is_header() && self.line(2).is_some_and(|line| line.starts_with(b"@@")) {
                break false;
            }
            let Some(line) = self.line(0).and_then(hunk_line) else { break false };
            let left = match line.kind {
                LineKind::Context => old.checked_sub(1).zip(new.checked_sub(1)),
                LineKind::Removed => old.checked_sub(1).map(|old| (old, new)),
                LineKind::Added => new.checked_sub(1).map(|new| (old, new)),
            };
            let Some(left) = left else { break false };
            (old, new) = left;
            lines.push(line);
            self.at += 1;
        };
        if !is_complete {
            self.at = start;
        }
        is_complete.then_some(lines)
    }

    /// Returns whether the next line could belong to the hunk before it.
    fn continues(&self) -> bool {
        let blank = self.lines[self.at..].iter().take_while(|line| **line == b"\n").count();
        let Some(line) = self.line(blank) else { return false };
        let is_header = self.line(blank + 1).is_some_and(|next| next.starts_with(b"+++ "))
            && line.starts_with(b"--- ");
        let is_line = matches!(line.first(), Some(b' ' | b'+' | b'-'));
        is_line && !is_header && !is_signature(line)
    }

    /// Reads the lines of a hunk up to one that can't belong to it.
    fn uncounted(&mut self) -> Result<Vec<HunkLine>, ParseError> {
        let mut lines = Vec::new();
        while let Some(line) = self.line(0) {
            if self.is_marker() {
                without_newline(&mut lines);
            } else if self.is_header() || is_signature(line) {
                break;
            } else if let Some(line) = hunk_line(line) {
                lines.push(line);
            } else if line.starts_with(b"@@")
                || line.starts_with(OF_GIT)
                || line.starts_with(b"```")
            {
                break;
            } else {
                return Err(self.error(
                    "a line of a hunk starts with a space (unchanged), `+` (added) or `-` \
                     (removed)",
                ));
            }
            self.at += 1;
        }
        // Empty lines between two hunks.
        let is_empty = |line: &HunkLine| line.kind == LineKind::Context && is_blank(&line.text);
        while lines.last().is_some_and(is_empty) {
            lines.pop();
        }
        Ok(lines)
    }

    /// Returns whether the next line says that the one before it has no LF.
    fn is_marker(&self) -> bool {
        self.line(0).is_some_and(|line| line.starts_with(b"\\ "))
    }
}

/// Returns whether a line separates a mail from its signature.
fn is_signature(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"--"
}

/// Returns whether another line than the last one has no LF.
fn has_unended_line<'a>(lines: impl Iterator<Item = &'a HunkLine>) -> bool {
    let mut unended = lines.map(|line| !line.text.ends_with(b"\n")).skip_while(|is| !is);
    unended.next().is_some() && unended.next().is_some()
}

/// Removes the LF of the last line.
fn without_newline(lines: &mut [HunkLine]) {
    if let Some(line) = lines.last_mut()
        && line.text.last() == Some(&b'\n')
    {
        line.text.pop();
    }
}

/// Returns a line of a hunk; `None` if it is none.
fn hunk_line(line: &[u8]) -> Option<HunkLine> {
    let kind = match line.first()? {
        b' ' => LineKind::Context,
        b'-' => LineKind::Removed,
        b'+' => LineKind::Added,
        // An empty line whose space was removed.
        b'\n' => return Some(HunkLine { kind: LineKind::Context, text: b"\n".into() }),
        _ => return None,
    };
    let mut text = line[1..].to_owned();
    // The end of the diff was cut off.
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    Some(HunkLine { kind, text })
}

/// The first line of a hunk.
#[derive(Debug, Default)]
struct Head {
    position: Option<usize>,
    counts: Option<(usize, usize)>,
    section: Vec<u8>,
}

impl Head {
    fn of(line: &[u8]) -> Self {
        let rest = line.strip_prefix(b"@@").unwrap_or(line);
        let text = String::from_utf8_lossy(rest);
        let Some((ranges, section)) = text.split_once("@@") else {
            return Self { section: rest.trim_ascii().to_owned(), ..Self::default() };
        };
        let section = section.trim().as_bytes().to_owned();
        let mut words = ranges.split_whitespace();
        let mut range = |sign| words.next()?.strip_prefix(sign).and_then(range);
        match (range('-'), range('+')) {
            (Some((old_start, old_count)), Some((_, new_count))) => Self {
                // A hunk without old lines follows the line that it names.
                position: Some(if old_count == 0 {
                    old_start
                } else {
                    old_start.saturating_sub(1)
                }),
                counts: Some((old_count, new_count)),
                section,
            },
            _ => Self { section, ..Self::default() },
        }
    }
}

/// Parses `12,3`, or `12` for one line.
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests;
