//! What was found.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

/// What sort of thing a find is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It gives access.
    Secret,
    /// It reaches or identifies a person.
    Personal,
}

impl Class {
    /// The word in the placeholder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Personal => "personal",
        }
    }
}

/// A find in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What sort of thing it is.
    pub class: Class,
    /// What it is, as the placeholder names it: `github-token`.
    pub category: &'static str,
    /// Bytes of the text that was searched, both ends between characters.
    pub span: Range<usize>,
    /// How likely it is real, from 0 to 1: near 1 where check digits hold or the format has a mark of
    /// its own, about 0.7 for a value that looks drawn and is named a secret, 0.5 for a password that
    /// a person thought up. An order to sort and cut by, not a measured share.
    pub confidence: f32,
}

/// The name of a category for as long as the program runs. Rule files name few, and each name is kept
/// once, however often the files are read.
pub(crate) fn category(name: &str) -> &'static str {
    static NAMES: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(Box::from(name));
    names.insert(kept);
    kept
}
