//! Analyzer of code and prose, for both indexed passages and queries.
//!
//! A run of letters and digits yields its stem and, if it differs, its surface form. An identifier
//! of several parts (`trigger_delay`, `HTTPServer`) yields the identifier and its parts.
//! Identifiers joined without blanks (`Foo::Bar#baz`, `app/models/cart.rb`) also yield the
//! compound. All forms of a word have the same position; parts have consecutive positions.

mod cjk;
mod scan;
mod split;
mod stop_words;

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub use stop_words::is_stop_word;

/// Maximum length of a term, in bytes. Longer runs (base64, minified code) are truncated.
pub const MAX_TERM_BYTES: usize = 128;

/// What a term was derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TermKind {
    /// Stem of a word of prose.
    Word,
    /// Lower-case form of a word or part, if its stem differs.
    Surface,
    /// Stem of a part of an identifier or path.
    Part,
    /// Identifier of several parts, in lower case.
    Identifier,
    /// Identifiers joined by `::`, `#`, `.`, `/`, `-` and the like, in lower case.
    Compound,
    /// Two adjacent characters of a script without blanks between words.
    Bigram,
}

/// Term of an analyzed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexeme {
    /// Term in lower case, at most [`MAX_TERM_BYTES`] long.
    pub text: String,
    /// What the term was derived from.
    pub kind: TermKind,
    /// Index of its word in the text, from 0; several terms may have the same.
    pub position: usize,
    /// Byte offsets in the normalized text.
    pub span: (usize, usize),
}

/// Returns the terms of `text` in order.
pub fn analyze(text: &str) -> Vec<Lexeme> {
    let text = normalize(text);
    let mut lexemes = Vec::with_capacity(text.len() / 4);
    let mut position = 0;
    for compound in scan::compounds(&text) {
        position = terms_of_compound(&text, &compound, position, &mut lexemes);
    }
    lexemes
}

/// Composes letters and marks (file names of macOS are decomposed), folds widths and ligatures, and
/// replaces `ё` by `е`, because people often type it so.
fn normalize(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut text = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfkc().collect()),
    };
    if text.contains(['ё', 'Ё']) {
        text = Cow::Owned(text.replace('ё', "е").replace('Ё', "Е"));
    }
    text
}

/// Adds the terms of a compound, and returns the next free position.
fn terms_of_compound(
    text: &str,
    compound: &scan::Compound,
    first: usize,
    lexemes: &mut Vec<Lexeme>,
) -> usize {
    let is_joined = compound.atoms.len() > 1;
    let (from, to) = (compound.atoms[0].0, compound.atoms[compound.atoms.len() - 1].1);
    if is_joined && to - from <= MAX_TERM_BYTES {
        push(lexemes, text[from..to].to_lowercase(), TermKind::Compound, first, (from, to));
    }
    let mut position = first;
    for &(from, to) in &compound.atoms {
        position = terms_of_atom(&text[from..to], from, is_joined, position, lexemes);
    }
    position
}

/// Adds the terms of one run of letters, digits and underscores, and returns the next free
/// position.
fn terms_of_atom(
    atom: &str,
    offset: usize,
    is_joined: bool,
    first: usize,
    lexemes: &mut Vec<Lexeme>,
) -> usize {
    let span = (offset, offset + atom.len());
    if atom.chars().any(cjk::is_unspaced) {
        return cjk::terms(atom, offset, first, lexemes);
    }
    if atom.len() > MAX_TERM_BYTES {
        push(lexemes, atom.to_lowercase(), TermKind::Identifier, first, span);
        return first + 1;
    }
    let parts = split::parts(atom);
    let is_identifier = parts.len() != 1 || parts[0].len() != atom.len();
    if is_identifier {
        push(lexemes, atom.to_lowercase(), TermKind::Identifier, first, span);
    }
    let kind = if is_identifier || is_joined { TermKind::Part } else { TermKind::Word };
    for (index, part) in parts.iter().enumerate() {
        let surface = part.to_lowercase();
        let stem = stem(&surface);
        // Added before the stem, so that equal terms of `_foo` stay in this order.
        if stem != surface {
            push(lexemes, surface.clone(), TermKind::Surface, first + index, span);
        }
        push(lexemes, stem.into_owned(), kind, first + index, span);
    }
    first + parts.len().max(1)
}

/// Returns the stem of a lower-case word by its script, because the language of a passage is not
/// known: Snowball English or Russian. Words of other scripts are unchanged.
fn stem(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
        return Stemmer::new(Algorithm::English).stem(word);
    }
    if word.chars().all(|c| matches!(c, '\u{400}'..='\u{4FF}')) {
        return Stemmer::new(Algorithm::Russian).stem(word);
    }
    Cow::Borrowed(word)
}

fn push(
    lexemes: &mut Vec<Lexeme>,
    mut text: String,
    kind: TermKind,
    position: usize,
    span: (usize, usize),
) {
    text.truncate(text.floor_char_boundary(MAX_TERM_BYTES));
    lexemes.push(Lexeme { text, kind, position, span });
}

#[cfg(test)]
mod tests;
