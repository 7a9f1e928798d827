//! Folding characters that look or mean the same.

use mc_sanitizer::visible_text::{InvisibleKind, invisible_kind, is_other_line_break};
use unicode_normalization::UnicodeNormalization;

/// Composes characters (NFC) and folds characters that editors insert by themselves: curly quotes,
/// dashes, exotic spaces, invisible joiners. Case and line breaks stay.
///
/// NFKC is not used, as it turns `10²` into `102`.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        // ASCII is composed already, and most texts are ASCII.
        return text.chars().filter_map(fold_char).collect();
    }
    text.nfc().filter_map(fold_char).collect()
}

fn fold_char(c: char) -> Option<char> {
    if let Some(InvisibleKind::ZeroWidth | InvisibleKind::Layout) = invisible_kind(c) {
        return None;
    }
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{02BC}' => Some('\''),
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '«' | '»' => Some('"'),
        '\u{2010}'..='\u{2013}' | '\u{2212}' => Some('-'),
        // An em dash separates words even without spaces.
        '\u{2014}' | '\u{2015}' => Some(' '),
        c if is_other_line_break(c) => Some('\n'),
        c if c.is_whitespace() && c != '\n' => Some(' '),
        c => Some(c),
    }
}

/// Converts to lower case, with the Russian `ё` as most people type it.
pub fn lower(text: &str) -> String {
    let lower = text.to_lowercase();
    if lower.is_ascii() { lower } else { lower.replace('ё', "е") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typographic_variants_fold_together() {
        assert_eq!(fold("don\u{2019}t \u{201C}x\u{201D}\u{00A0}1\u{2013}2"), "don't \"x\" 1-2");
        assert_eq!(fold("cafe\u{301}\u{200B}"), "caf\u{e9}");
        assert_eq!(fold("a\u{AD}b\u{200D}c\u{34F}d\u{2063}e\rf\u{C}g"), "abcde\nf\ng");
    }

    #[test]
    fn meaning_is_not_folded_away() {
        assert_eq!(fold("10²"), "10²");
    }
}
