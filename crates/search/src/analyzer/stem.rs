//! Stems, by the script of the word: the language of a passage isn't known, its letters are.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

/// The stem of a lower-cased word: Snowball's English for Latin letters, Russian for Cyrillic ones;
/// anything else stands as it is.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
        return Stemmer::new(Algorithm::English).stem(word);
    }
    if word.chars().all(|c| matches!(c, '\u{400}'..='\u{4FF}')) {
        return Stemmer::new(Algorithm::Russian).stem(word);
    }
    Cow::Borrowed(word)
}
