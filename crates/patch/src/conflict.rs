//! Why the patch of a file can't be applied.

use std::fmt;

use crate::types::Refusal;

/// Maximum length of a line in a message, in characters.
const SHOWN_CHARS: usize = 160;
/// Maximum number of lines that a message lists.
const SHOWN_PLACES: usize = 8;

/// Why the patch of a file can't be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Number of the hunk, from 1; `None` if the whole file is concerned.
    pub hunk: Option<usize>,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Such a change is never applied.
    Refused(Refusal),
    /// The file does not exist.
    Missing,
    /// The file to create exists.
    Exists,
    /// The patch has the file twice.
    Repeated,
    /// A deletion does not remove all lines.
    NotEmpty,
    /// The hunk has too little text to say where it belongs.
    NoContext,
    /// The text of the hunk is nowhere in the file.
    NotFound(Option<Divergence>),
    /// The text of the hunk is at several places, which start at these lines, from 1.
    Ambiguous(Vec<usize>),
    /// The hunk changes lines that another one changes, or the place is not clear.
    Overlap,
    /// The file has the new lines of the hunk already.
    AlreadyApplied,
    /// The indentation of the added lines can't be adjusted to that of the file.
    Indentation,
}

/// The first difference at the place that fits best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Line of the hunk.
    pub expected: Vec<u8>,
    /// Line of the file; `None` at its end.
    pub found: Option<Vec<u8>>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hunk) = self.hunk {
            write!(f, "hunk {hunk} ")?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(refusal.message()),
            Self::Missing => f.write_str("does not exist; give the path of an existing file"),
            Self::Exists => f.write_str("exists already; change it, or choose another path"),
            Self::Repeated => {
                f.write_str("is in the patch twice; write all its hunks below one header")
            }
            Self::NotEmpty => f.write_str(
                "is deleted, but has lines that the patch does not remove; read the file again",
            ),
            Self::NoContext => f.write_str(
                "has too little unchanged text to say where it belongs; add three lines before and \
                 after the change",
            ),
            Self::NotFound(None) => f.write_str(
                "is not in the file; read the file again, and copy the lines to change exactly",
            ),
            Self::NotFound(Some(divergence)) => divergence.fmt(f),
            Self::Ambiguous(lines) => {
                let shown = lines.iter().take(SHOWN_PLACES).map(ToString::to_string);
                let shown = shown.collect::<Vec<_>>().join(", ");
                let more = if lines.len() > SHOWN_PLACES { ", ..." } else { "" };
                write!(
                    f,
                    "fits at lines {shown}{more}; add unchanged lines that only one place has"
                )
            }
            Self::Overlap => f.write_str(
                "changes lines that another hunk changes, or lines between which the file has \
                 others; join the hunks, and copy the unchanged lines exactly",
            ),
            Self::AlreadyApplied => f.write_str("is in the file already; remove it from the patch"),
            Self::Indentation => f.write_str(
                "has another indentation than the file, in more than one way; copy the unchanged \
                 lines exactly",
            ),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "differs from the file at line {}: expected `{}`",
            self.line,
            shown(&self.expected)
        )?;
        match &self.found {
            Some(found) => write!(f, ", found `{}`", shown(found))?,
            None => f.write_str(", but the file ends there")?,
        }
        f.write_str("; read the file again, and copy the lines exactly")
    }
}

fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end();
    let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    shown
}
