//! Text processing for the judge and the distiller: folded characters, tokens, stems, sentences.

pub mod fold;
pub mod sentences;
pub mod stop_phrases;
pub mod token;
pub mod vocabulary;

use regex::Regex;

pub use fold::fold;
pub use sentences::{cut, sentences};
pub use token::{Token, tokenize};

/// Compiles a regular expression of this crate.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a checked expression")
}

/// Converts a count to a float; the largest counts become 65,535.
pub(crate) fn as_f32(count: usize) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(u16::MAX))
}
