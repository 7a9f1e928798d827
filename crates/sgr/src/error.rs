//! Errors of schemas and answers.

use std::fmt;

use mc_domain::{Classified, ErrorKind, shorten};
use serde_json::Value;

use crate::limits::{EXTENDS_MAX, FILE_MAX_BYTES};

/// Defects of a list that a message names; the others are counted.
const SHOWN_MAX: usize = 20;
/// Length of a value in a message, in characters.
const VALUE_MAX_CHARS: usize = 60;

/// Why a schema can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchema {
    /// The file is larger than [`FILE_MAX_BYTES`].
    #[error(
        "the schema has {0} bytes; the limit is {FILE_MAX_BYTES}. Shorten hints and descriptions, \
         or move steps to a schema that this one extends"
    )]
    TooLarge(usize),
    /// The file is no YAML, or uses a part of YAML that schemas don't have.
    #[error("the schema can't be read as YAML: {reason}")]
    Yaml {
        /// Line of the fault, from 1, if it is known.
        line: Option<usize>,
        /// The fault, with its line.
        reason: String,
    },
    /// Fields break the rules.
    #[error("the schema is invalid: {0}")]
    Defects(Defects),
    /// A schema extends one that does not exist. The chain ends with its name.
    #[error(
        "`extends`: the schema `{}` does not exist (chain: {}); create it, or correct `extends`",
        .0.last().map_or("", String::as_str), chain(.0)
    )]
    UnknownParent(Vec<String>),
    /// A schema extends itself, perhaps through others. The chain ends with the repeated name.
    #[error(
        "`extends`: the schemas form a cycle ({}); remove `extends` from one of them", chain(.0)
    )]
    ExtendsCycle(Vec<String>),
    /// A schema extends more than [`EXTENDS_MAX`] others.
    #[error(
        "`extends`: the chain {} has more than {EXTENDS_MAX} schemas after the first; copy the \
         steps of one of them instead", chain(.0)
    )]
    ExtendsTooDeep(Vec<String>),
}

impl InvalidSchema {
    /// Creates the error of one field.
    pub(crate) fn at(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Defects(Defect::new(path, problem).into())
    }
}

impl Classified for InvalidSchema {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::TooLarge(_) => ErrorKind::TooLarge,
            _ => ErrorKind::Invalid,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Defects(defects) => defects.first_path(),
            Self::TooLarge(_) | Self::Yaml { .. } => None,
            Self::UnknownParent(_) | Self::ExtendsCycle(_) | Self::ExtendsTooDeep(_) => {
                Some("extends".to_owned())
            }
        }
    }
}

/// Why an answer does not follow its schema. It names fields and quotes no values, which may
/// contain secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer is invalid: {0}")]
pub struct InvalidAnswer(pub Defects);

impl Classified for InvalidAnswer {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    fn field(&self) -> Option<String> {
        self.0.first_path()
    }
}

/// The rules that a schema or an answer breaks, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defects(Vec<Defect>);

impl Defects {
    /// Returns the defects as an error, if there are any.
    pub(crate) fn check(defects: Vec<Defect>) -> Result<(), Self> {
        if defects.is_empty() { Ok(()) } else { Err(Self(defects)) }
    }

    /// Iterates over the defects.
    pub fn iter(&self) -> std::slice::Iter<'_, Defect> {
        self.0.iter()
    }

    fn first_path(&self) -> Option<String> {
        self.0.iter().map(|defect| &defect.path).find(|path| !path.is_empty()).cloned()
    }
}

impl From<Defect> for Defects {
    fn from(defect: Defect) -> Self {
        Self(vec![defect])
    }
}

impl<'a> IntoIterator for &'a Defects {
    type Item = &'a Defect;
    type IntoIter = std::slice::Iter<'a, Defect>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, defect) in self.0.iter().take(SHOWN_MAX).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{defect}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// A rule that a field breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Path of the field, such as `steps[2].output`; empty for the whole.
    pub path: String,
    /// What is wrong, and the way out.
    pub problem: String,
}

impl Defect {
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

/// Returns the beginning of a text in quotes, with escaped control characters.
pub(crate) fn quote(text: &str) -> String {
    let start = shorten(text, VALUE_MAX_CHARS);
    let more = if start.len() < text.len() { "..." } else { "" };
    format!("{start:?}{more}")
}

/// Names a value: its type, and the value itself if it is short.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "no value".to_owned(),
        Value::String(text) => format!("the text {}", quote(text)),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::Array(_) | Value::Object(_) => type_name(value).to_owned(),
    }
}

/// Names the type of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn chain(names: &[String]) -> String {
    names.join(" -> ")
}
