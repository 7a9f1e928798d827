//! Findings: secrets and personal data in a text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The class of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A credential that grants access.
    Secret,
    /// Data that reaches or identifies a person.
    Personal,
}

impl Class {
    /// Returns the word in the placeholder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Personal => "personal",
        }
    }
}

/// A secret or a piece of personal data in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Secret or personal data.
    pub class: Class,
    /// The category in the placeholder, such as `github-token`.
    pub category: &'static str,
    /// The bytes of the searched text; both ends are character boundaries.
    pub span: Range<usize>,
    /// The confidence that the finding is real, from 0 to 1: near 1 if check digits are valid or
    /// the format has a prefix, about 0.7 for a random-looking value with the name of a secret, 0.5
    /// for a password chosen by a person. It ranks findings; it is not a measured probability.
    pub confidence: f32,
}

/// Interns the name of a category. Rule files have few, and each is leaked once, however often the
/// files are read.
pub(crate) fn category(name: &str) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let interned: &'static str = Box::leak(Box::from(name));
    names.insert(interned);
    interned
}
