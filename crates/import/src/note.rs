//! Notes, and parts of a file that become none.

use std::fmt;

use mc_domain::RecordKind;

/// The result of parsing a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// Notes, in the order of the file.
    pub notes: Vec<Note>,
    /// Parts of the file that become no note.
    pub refused: Vec<Refused>,
}

/// A note to propose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Kind of knowledge.
    pub kind: RecordKind,
    /// The text, which can be understood without the file.
    pub content: String,
    /// Title, if the file has one for it.
    pub title: Option<String>,
    /// Labels of the other program.
    pub tags: Vec<String>,
    /// Globs of the files that the note is about, relative to the repository's root.
    pub globs: Vec<String>,
    /// File that the note is a statement of, relative to the repository's root.
    pub cites: Option<String>,
    /// Place that the note was taken from.
    pub origin: Origin,
}

/// The place that a note was taken from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The path of the file, or the program and the id there. It is the same in every import, so
    /// that `POST /forget` finds the records of the source.
    pub source: String,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// Headings above it, joined by ` > `; may be empty.
    pub heading: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if self.heading.is_empty() { Ok(()) } else { write!(f, " ({})", self.heading) }
    }
}

/// A part of a file that becomes no note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place.
    pub origin: Origin,
    /// Its text, or the beginning of it. It may contain a secret.
    pub text: String,
    /// Why it was refused.
    pub reason: Reason,
}

/// Why a part of a file becomes no note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Too short to mean anything to others.
    TooShort,
    /// Longer than a record.
    TooLong,
    /// Code without a statement about it.
    CodeOnly,
    /// A question.
    Question,
    /// Only a reference to another file.
    Pointer,
    /// A statement about the file itself.
    AboutFile,
    /// Introduces something that does not follow.
    Incomplete,
    /// Contains a secret of this category.
    Secret(&'static str),
    /// Instructs a model, in the way of this family of prompt injection.
    Injection(&'static str),
    /// A decision that is not in force, with its status.
    NotInForce(String),
    /// A document without a decision.
    NoDecision,
    /// The template of such documents.
    Template,
    /// A line or an item that is not what the other program writes.
    Malformed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("too short to mean anything without the file"),
            Self::TooLong => f.write_str("longer than a record; shorten it, or save a document"),
            Self::CodeOnly => f.write_str("code without a statement about it"),
            Self::Question => f.write_str("a question"),
            Self::Pointer => f.write_str("only refers to another file; import that file"),
            Self::AboutFile => f.write_str("is about the file itself"),
            Self::Incomplete => f.write_str("introduces something that does not follow"),
            Self::Secret(category) => write!(f, "contains a secret ({category})"),
            Self::Injection(family) => {
                write!(f, "instructs a model like prompt injection ({family})")
            }
            Self::NotInForce(status) => write!(f, "the decision is not in force: {status}"),
            Self::NoDecision => f.write_str("has no decision"),
            Self::Template => f.write_str("is a template"),
            Self::Malformed(why) => f.write_str(why),
        }
    }
}
