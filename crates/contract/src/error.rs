//! Why a value is not accepted: the rule that it breaks, and where it is.

use std::fmt;

use mc_domain::{Classified, ErrorKind};

/// The rule that a value breaks, in words that follow the field's name: "must not be empty".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

impl Violation {
    /// Returns a violation with its rule as text.
    pub fn new(rule: impl fmt::Display) -> Self {
        Self(rule.to_string())
    }

    /// Adds the path of the field, such as `tags[1]`.
    pub fn at(self, field: impl Into<String>) -> ValidationError {
        ValidationError { field: field.into(), reason: self.0 }
    }
}

/// A value of a request that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ValidationError {
    /// The field at fault, as the wire spells it: `citations[1].file`.
    pub field: String,
    /// The rule that it breaks.
    pub reason: String,
}

impl ValidationError {
    /// Returns an error with the path of the field, such as `tags[1]`.
    pub fn new(field: impl Into<String>, reason: impl fmt::Display) -> Self {
        Violation::new(reason).at(field)
    }
}

impl Classified for ValidationError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    fn field(&self) -> Option<String> {
        Some(self.field.clone())
    }
}
