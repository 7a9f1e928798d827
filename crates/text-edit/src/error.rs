//! Errors of views and edits. Their messages are shown to a model: they quote text only as the
//! model was shown it.

use mc_domain::{Classified, ErrorKind};

use crate::limits::MAX_JSON_MATCHES;

mod closest;
mod not_text;

pub use closest::Closest;
pub use not_text::NotText;

/// Reason why a view or an edit is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The bytes are no text.
    #[error(transparent)]
    NotText(#[from] NotText),
    /// The encoding is unknown, so that new text could be written wrongly.
    #[error(
        "the file is neither UTF-8 nor UTF-16 with a byte order mark, so it can be viewed but not \
         edited; convert it to UTF-8 first"
    )]
    UnknownEncoding,
    /// The lines are not in the file.
    #[error("{}", lines_out_of_range(*first, *last, *line_count))]
    LinesOutOfRange {
        /// First requested line.
        first: i64,
        /// Last requested line; -1 is the end.
        last: i64,
        /// Number of lines of the file.
        line_count: usize,
    },
    /// The line to insert after is not in the file.
    #[error(
        "line {line} is out of range: the file has {line_count} lines; use a number from 0 (the \
         start) to {line_count}"
    )]
    LineOutOfRange {
        /// Requested line.
        line: usize,
        /// Number of lines of the file.
        line_count: usize,
    },
    /// A required text is empty.
    #[error("{0} is empty; give the text")]
    Empty(&'static str),
    /// The edit changes nothing.
    #[error("the new text is equal to the present one; nothing was changed")]
    NoChange,
    /// The text to replace is not in the file.
    #[error(
        "old_str is not in the file; view the lines again and copy them exactly, without line \
         numbers{}", closest.as_ref().map(|closest| format!("; {closest}")).unwrap_or_default()
    )]
    NotFound {
        /// The most similar place, if there is one.
        closest: Option<Box<Closest>>,
    },
    /// The text to replace is in the file several times.
    #[error(
        "old_str is in the file {count} times, at lines {}; add lines before or after it until it \
         is unique", join(lines, *count)
    )]
    Ambiguous {
        /// Number of matches, including overlapping ones.
        count: usize,
        /// Lines of the first matches, 1-based.
        lines: Vec<usize>,
    },
    /// The edit touches a masked span, whose text the model does not know.
    #[error(
        "line {line} has masked text ({class}: {category}), which this edit would change; choose \
         text that does not include it, or have the user edit it in a checkout"
    )]
    Masked {
        /// Line of the masked span, 1-based.
        line: usize,
        /// `secret` or `personal`.
        class: &'static str,
        /// Category of the finding.
        category: &'static str,
    },
    /// The position is inside of characters that are shown as one.
    #[error(
        "the position in line {line} is inside a terminal sequence that is shown as one \
         character; choose another position, or replace the sequence first"
    )]
    HiddenPosition {
        /// Line of the position, 1-based.
        line: usize,
    },
    /// After the edit, masked text would be visible.
    #[error(
        "after this edit, the masked text in line {line} ({class}: {category}) would be visible; \
         keep the name and the punctuation around it, or have the user edit it in a checkout"
    )]
    Unmasks {
        /// Line of the masked span in the edited text, 1-based.
        line: usize,
        /// `secret` or `personal`.
        class: &'static str,
        /// Category of the finding.
        category: &'static str,
    },
    /// The whole file would be replaced, and with it masked text.
    #[error(
        "the file has masked text, first in line {line} ({class}: {category}), which would be \
         lost; use str_replace or insert instead"
    )]
    MaskedFile {
        /// Line of the first masked span, 1-based.
        line: usize,
        /// `secret` or `personal`.
        class: &'static str,
        /// Category of the finding.
        category: &'static str,
    },
    /// The edit would write a placeholder of masked text.
    #[error(
        "the edit would write the placeholder {placeholder} into the file; a placeholder stands \
         for text that was masked; leave the masked text outside of the edit"
    )]
    Placeholder {
        /// The placeholder.
        placeholder: String,
    },
    /// The edit would write the shown form of other characters.
    #[error(
        "the edit would write {form:?}, which stands for another character in the shown text; \
         leave that character out of the edit"
    )]
    ShownForm {
        /// The character.
        form: char,
    },
    /// The new text can't be stored in the file.
    #[error("the new text has NUL or a byte order mark, which a text file can't have; remove it")]
    UnstorableText,
    /// The edited file would be too large.
    #[error("the file would have {bytes} bytes, and {max} are allowed; write less text")]
    TooLarge {
        /// Size of the edited file.
        bytes: usize,
        /// Maximum size.
        max: usize,
    },
    /// The file is not JSON, perhaps with comments.
    #[error("the file is invalid JSON: {reason} at line {line}; edit it as text")]
    InvalidJson {
        /// Line of the error, 1-based.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The JSON has too many values or is nested too deeply.
    #[error("the JSON has more than {max} {what}; edit it as text")]
    JsonTooLarge {
        /// The maximum.
        max: usize,
        /// What is counted.
        what: &'static str,
    },
    /// The new value is invalid JSON.
    #[error("the value is invalid JSON: {reason}; give one JSON value without comments")]
    InvalidValue {
        /// What is wrong.
        reason: String,
    },
    /// The `JSONPath` expression is invalid or not allowed.
    #[error("the JSONPath is invalid: {reason}; write a path such as $.scripts.test or $.list[0]")]
    InvalidPath {
        /// What is wrong.
        reason: String,
    },
    /// The `JSONPath` expression matches nothing.
    #[error(
        "the path matches nothing; the longest part of it that exists is {prefix}, which has \
         {contents}"
    )]
    NoMatch {
        /// The longest prefix that exists, as a normalized path.
        prefix: String,
        /// The keys or the number of elements there.
        contents: String,
    },
    /// The `JSONPath` expression matches more values than are allowed.
    #[error(
        "the path matches {count} values, and {max} are allowed; the first are {}; make the path \
         exact, or set `all` to change up to {MAX_JSON_MATCHES}", first.join(", ")
    )]
    TooManyMatches {
        /// Number of matches.
        count: usize,
        /// Maximum number.
        max: usize,
        /// Normalized paths of the first matches.
        first: Vec<String>,
    },
    /// Matches of the path contain each other.
    #[error("{outer} contains {inner}, and both match; make the path exact")]
    NestedMatches {
        /// Normalized path of the containing value.
        outer: String,
        /// Normalized path of the contained value.
        inner: String,
    },
    /// The path leads through an object that has the key twice. Parsers differ in which they read.
    #[error("the key at {path} is there more than once; remove the duplicate as text first")]
    DuplicateKey {
        /// Normalized path of the key.
        path: String,
    },
    /// The new key exists.
    #[error("{path} exists; use `set` to replace its value")]
    KeyExists {
        /// Normalized path of the key.
        path: String,
    },
    /// The value at the path has another type.
    #[error("{path} is {actual}, and must be {expected}; choose the path of {expected}")]
    WrongType {
        /// Normalized path of the value.
        path: String,
        /// Type of the value.
        actual: &'static str,
        /// Required type.
        expected: &'static str,
    },
    /// The index is past the end of the array.
    #[error("{path} has {length} elements; use an index from 0 to {length}, or append")]
    IndexOutOfRange {
        /// Normalized path of the array.
        path: String,
        /// Number of elements.
        length: usize,
    },
    /// The root of a JSON file can't be removed.
    #[error("the root can't be removed; set it to another value, or delete the file")]
    Root,
    /// The edited text would be invalid JSON. A fault of this crate.
    #[error(
        "the edit was not made, because the result would be invalid JSON; edit the file as text"
    )]
    BrokenJson,
}

impl Classified for EditError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotText(error) => error.kind(),
            Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::NoMatch { .. }
            | Self::TooManyMatches { .. }
            | Self::NestedMatches { .. }
            | Self::DuplicateKey { .. }
            | Self::KeyExists { .. } => ErrorKind::Conflict,
            Self::Masked { .. } | Self::MaskedFile { .. } | Self::Unmasks { .. } => {
                ErrorKind::Forbidden
            }
            Self::TooLarge { .. } | Self::JsonTooLarge { .. } => ErrorKind::TooLarge,
            Self::BrokenJson => ErrorKind::Internal,
            Self::UnknownEncoding
            | Self::LinesOutOfRange { .. }
            | Self::LineOutOfRange { .. }
            | Self::Empty(_)
            | Self::NoChange
            | Self::HiddenPosition { .. }
            | Self::Placeholder { .. }
            | Self::ShownForm { .. }
            | Self::UnstorableText
            | Self::InvalidJson { .. }
            | Self::InvalidValue { .. }
            | Self::InvalidPath { .. }
            | Self::WrongType { .. }
            | Self::IndexOutOfRange { .. }
            | Self::Root => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::LinesOutOfRange { .. } => "view_range",
            Self::LineOutOfRange { .. } => "insert_line",
            Self::NotFound { .. } | Self::Ambiguous { .. } => "old_str",
            Self::Empty(field) => field,
            Self::InvalidValue { .. } => "value",
            Self::InvalidPath { .. } | Self::NoMatch { .. } | Self::TooManyMatches { .. } => {
                "json_path"
            }
            _ => return None,
        };
        Some(field.to_owned())
    }
}

fn join(lines: &[usize], count: usize) -> String {
    let lines_text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = if lines.len() < count { " and more" } else { "" };
    format!("{}{more}", lines_text.join(", "))
}

fn lines_out_of_range(first: i64, last: i64, line_count: usize) -> String {
    if line_count == 0 {
        return "the file is empty, so it has no lines; use create or insert".to_owned();
    }
    format!(
        "lines {first} to {last} are out of range: the file has {line_count} lines; use numbers \
         from 1 to {line_count}, or -1 as the end"
    )
}
