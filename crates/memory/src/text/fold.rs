//! Folding characters that look or mean the same.

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
    match c {
        '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}' => None,
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{02BC}' => Some('\''),
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '«' | '»' => Some('"'),
        '\u{2010}'..='\u{2013}' | '\u{2212}' => Some('-'),
        // An em dash separates words even without spaces.
        '\u{2014}' | '\u{2015}' => Some(' '),
        '\r' | '\u{2028}' | '\u{2029}' => Some('\n'),
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
    }

    #[test]
    fn meaning_is_not_folded_away() {
        assert_eq!(fold("10²"), "10²");
    }
}
