//! Stemming by the script of a word, because the language of a passage is not known.

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

/// Returns the stem of a lower-case word: Snowball English for Latin letters, Snowball Russian for
/// Cyrillic ones. Other words are unchanged.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
        return Stemmer::new(Algorithm::English).stem(word);
    }
    if word.chars().all(|c| matches!(c, '\u{400}'..='\u{4FF}')) {
        return Stemmer::new(Algorithm::Russian).stem(word);
    }
    Cow::Borrowed(word)
}
