//! What counts as a word, in code and in prose, when a passage is indexed and when it is sought.
//!
//! Every run of letters and digits gives its stem and, where that differs, its surface form. A name
//! of several parts (`trigger_delay`, `HTTPServer`) gives itself whole and its parts; names joined
//! without blanks (`Foo::Bar#baz`, `app/models/cart.rb`) give the whole of that too. All forms of a
//! word share one position, parts follow one another, so distance still means distance.

mod cjk;
mod scan;
mod split;
mod stem;
mod stop_words;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub use stop_words::is_stop_word;

/// Longest term in bytes; a longer run (base64, minified code) leaves only its beginning.
pub const MAX_TERM_BYTES: usize = 128;

/// What a term stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TermKind {
    /// The stem of a word that stands by itself.
    Word,
    /// A word or part as it was written, lower-cased, where its stem differs.
    Surface,
    /// The stem of a part of an identifier or path.
    Part,
    /// An identifier of several parts, whole and lower-cased.
    Identifier,
    /// Identifiers joined by `::`, `#`, `.`, `/`, `-` and the like, whole and lower-cased.
    Compound,
    /// Two neighbouring characters of a script without blanks between words.
    Bigram,
}

/// A term of an analyzed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexeme {
    /// The term: lower case, at most [`MAX_TERM_BYTES`].
    pub text: String,
    /// What it stands for.
    pub kind: TermKind,
    /// Which word of the text it belongs to, from 0; several terms share one.
    pub position: usize,
    /// Byte offsets in the normalized text.
    pub span: (usize, usize),
}

/// The terms of `text` in order.
pub fn analyse(text: &str) -> Vec<Lexeme> {
    let text = normalize(text);
    let mut lexemes = Vec::with_capacity(text.len() / 4);
    let mut position = 0;
    for compound in scan::compounds(&text) {
        position = terms_of_compound(&text, &compound, position, &mut lexemes);
    }
    lexemes
}

/// Composes letters and marks (macOS file names come decomposed), folds widths and ligatures, and
/// takes `ё` for `е` as people do when they type.
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

/// Adds the terms of names joined without blanks; answers the next free position.
fn terms_of_compound(
    text: &str,
    compound: &scan::Compound,
    first: usize,
    lexemes: &mut Vec<Lexeme>,
) -> usize {
    let joined = compound.atoms.len() > 1;
    let (from, to) = (compound.atoms[0].0, compound.atoms[compound.atoms.len() - 1].1);
    if joined && to - from <= MAX_TERM_BYTES {
        push(lexemes, text[from..to].to_lowercase(), TermKind::Compound, first, (from, to));
    }
    let mut position = first;
    for &(from, to) in &compound.atoms {
        position = terms_of_atom(&text[from..to], from, joined, position, lexemes);
    }
    position
}

/// Adds the terms of one run of letters, digits and underscores; answers the next free position.
fn terms_of_atom(
    atom: &str,
    offset: usize,
    joined: bool,
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
    let whole = parts.len() != 1 || parts[0].len() != atom.len();
    if whole {
        push(lexemes, atom.to_lowercase(), TermKind::Identifier, first, span);
    }
    let kind = if whole || joined { TermKind::Part } else { TermKind::Word };
    for (index, part) in parts.iter().enumerate() {
        let surface = part.to_lowercase();
        let stem = stem::stem(&surface);
        // A part that is the whole but for underscores (`_foo`) was given with the whole.
        if stem != surface {
            push(lexemes, surface.clone(), TermKind::Surface, first + index, span);
        }
        push(lexemes, stem.into_owned(), kind, first + index, span);
    }
    first + parts.len().max(1)
}

fn push(
    lexemes: &mut Vec<Lexeme>,
    text: String,
    kind: TermKind,
    position: usize,
    span: (usize, usize),
) {
    lexemes.push(Lexeme { text: bounded(text), kind, position, span });
}

/// Cuts a term at a character boundary.
fn bounded(mut text: String) -> String {
    if text.len() > MAX_TERM_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TERM_BYTES));
    }
    text
}

#[cfg(test)]
mod tests;
