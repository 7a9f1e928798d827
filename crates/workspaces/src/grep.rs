//! Lines of files by a regular expression, as a model sees them: masked.

use mc_files::FileKind;
use regex::{Regex, RegexBuilder};

use crate::edit::MaskedTree;
use crate::tree::{self, Visit};
use crate::{Error, find};

/// Maximum size of a file of a directory, in bytes. Larger ones are rarely written by a person.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Maximum size of the only file of a call, in bytes.
const MAX_ONLY_FILE_BYTES: u64 = 16 << 20;
/// Maximum bytes that one call reads.
const MAX_BYTES: u64 = 512 << 20;
/// Maximum memory of a compiled expression, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Maximum bytes of a line that are returned.
const MAX_LINE_BYTES: usize = 400;

/// What to find.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Directory or file, from the root of the workspace.
    pub path: &'a str,
    /// Regular expression in the syntax of the crate `regex`, for one line.
    pub pattern: &'a str,
    /// Whether the pattern is a text, not an expression.
    pub is_literal: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
    /// Glob of the files to read, relative to `path`; all if `None`.
    pub glob: Option<&'a str>,
    /// Maximum number of lines.
    pub max_matches: usize,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Path from the root of the workspace.
    pub path: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// Its masked text without the line end, cut at 400 bytes.
    pub text: String,
}

/// Lines that match.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// The lines, by path and number.
    pub lines: Vec<Match>,
    /// Number of files that were read.
    pub files: usize,
    /// Number of files of the directory that were left out: larger than 2 MiB, binary, or
    /// unreadable.
    pub skipped: usize,
    /// Whether there may be more: a limit of matches, bytes or time was reached.
    pub is_partial: bool,
}

/// Finds lines in the text files of a directory, or in one file.
///
/// The pattern is compared with the masked text only. Otherwise, a model could guess a masked value
/// by patterns that match it or not.
pub fn grep(tree: MaskedTree<'_>, query: Query<'_>) -> Result<Matches, Error> {
    let root = tree.root;
    let pattern = compile(&query)?;
    let mut search = Search { tree, pattern, query, matches: Matches::default(), bytes: 0 };
    let kind = root.metadata(query.path).map_err(Error::at(query.path))?.kind;
    if kind == FileKind::Directory {
        search.directory()?;
    } else {
        // An error of the only file is an error of the call.
        let read = root.read(query.path, MAX_ONLY_FILE_BYTES);
        search.lines(query.path, &read.map_err(Error::only_file(query.path))?);
    }
    Ok(search.matches)
}

struct Search<'a> {
    tree: MaskedTree<'a>,
    pattern: Regex,
    query: Query<'a>,
    matches: Matches,
    bytes: u64,
}

impl Search<'_> {
    fn directory(&mut self) -> Result<(), Error> {
        let glob = self.query.glob.map(find::matcher).transpose()?;
        let start = self.query.path;
        let prefix = if start.is_empty() { 0 } else { start.len() + 1 };
        let root = self.tree.root;
        let is_complete = tree::walk(root, start, |found| {
            let is_wanted =
                || glob.as_ref().is_none_or(|glob| glob.is_match(&found.path[prefix..]));
            if found.metadata.kind == FileKind::File && is_wanted() {
                self.file(found.path, found.metadata.size);
            }
            let is_full = self.matches.is_partial || self.bytes > MAX_BYTES;
            if is_full { Visit::Stop } else { Visit::Next }
        })?;
        self.matches.is_partial |= !is_complete;
        Ok(())
    }

    fn file(&mut self, path: &str, size: u64) {
        let read = (size <= MAX_FILE_BYTES).then(|| self.tree.root.read(path, MAX_FILE_BYTES).ok());
        match read.flatten() {
            Some(content) => self.lines(path, &content),
            None => self.matches.skipped += 1,
        }
    }

    fn lines(&mut self, path: &str, content: &[u8]) {
        if !is_text(content) {
            self.matches.skipped += 1;
            return;
        }
        self.matches.files += 1;
        self.bytes += content.len() as u64;
        // It has as many lines as the content.
        let masked = self.tree.mask(&String::from_utf8_lossy(content));
        for (number, line) in masked.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let Some(found) = self.pattern.find(line) else { continue };
            if self.matches.lines.len() == self.query.max_matches {
                self.matches.is_partial = true;
                return;
            }
            let text = shortened(line, found.start());
            self.matches.lines.push(Match { path: path.to_owned(), line: number + 1, text });
        }
    }
}

/// Returns a line, or the part of a long one around its match. `…` marks what is left out.
fn shortened(line: &str, start_of_match: usize) -> String {
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let before = start_of_match.saturating_sub(MAX_LINE_BYTES / 4);
    let start = line.floor_char_boundary(before.min(line.len() - MAX_LINE_BYTES));
    let end = line.floor_char_boundary(start + MAX_LINE_BYTES);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", mark(start > 0), &line[start..end], mark(end < line.len()))
}

fn compile(query: &Query<'_>) -> Result<Regex, Error> {
    let escaped = query.is_literal.then(|| regex::escape(query.pattern));
    RegexBuilder::new(escaped.as_deref().unwrap_or(query.pattern))
        .case_insensitive(query.ignores_case)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| Error::Pattern(error.to_string()))
}

/// Returns whether the start of a file has no NUL, as git decides it.
fn is_text(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(8_000)]).is_none()
}
