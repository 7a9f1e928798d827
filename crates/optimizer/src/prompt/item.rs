//! Items of a prompt.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Maximum length of an id.
const MAX_ID_BYTES: usize = 64;

/// An instruction or an example. The id names the idea: an item that was rephrased keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Unique in its section: 1 to 64 of the characters a-z, 0-9, `-`, `_` and `.`.
    pub id: String,
    /// The text, with line ends if it has several lines.
    pub text: String,
}

/// A part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Rules for the model.
    Instructions,
    /// Worked examples (few-shots).
    Examples,
}

impl Section {
    /// Both sections, in the order of a prompt.
    pub const ALL: [Self; 2] = [Self::Instructions, Self::Examples];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Examples => "examples",
        }
    }
}

impl Item {
    /// Creates an item. [`crate::Prompt::new`] checks it.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into() }
    }

    /// Returns the text in lower case with single spaces, by which duplicates are recognized.
    pub fn normalized_text(&self) -> String {
        normalize(&self.text)
    }

    /// Checks id and text.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !is_id(&self.id) {
            return Err(Error::InvalidId { id: self.id.chars().take(MAX_ID_BYTES).collect() });
        }
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if self.text.trim().is_empty() || self.text.contains(is_control) {
            return Err(Error::InvalidText { id: self.id.clone() });
        }
        Ok(())
    }
}

pub(crate) fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_id(id: &str) -> bool {
    let is_allowed =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.');
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_allowed)
}
