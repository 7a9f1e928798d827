//! The place of a file that is most similar to a text that was not found.

use std::fmt;

/// The place of a file that is most similar to a text that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closest {
    /// The first line of the place, 1-based.
    pub first_line: usize,
    /// The last line of the place, 1-based.
    pub last_line: usize,
    /// The first line that differs, 1-based.
    pub differing_line: usize,
    /// The differing line of the file, as it is shown; cut if it is long.
    pub shown: String,
    /// The corresponding line of the request; cut if it is long.
    pub requested: String,
    /// The lines of the place and a few around it, with line numbers.
    pub around: String,
}

impl fmt::Display for Closest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_line, last_line, differing_line, shown, requested, around } = self;
        write!(f, "the most similar place is lines {first_line} to {last_line}; ")?;
        if shown == requested {
            write!(f, "the lines are equal; only the line ending after them differs\n{around}")
        } else {
            write!(
                f,
                "line {differing_line} is the first that differs: the file has {shown:?}, old_str \
                 has {requested:?}\n{around}"
            )
        }
    }
}
