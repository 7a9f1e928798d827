//! Normalizing texts, so that contents that mean the same are equal.

use sha2::{Digest, Sha256};

use crate::text::fold::{fold, lower};
use crate::text::token::{operator, sign, trim};

/// Removes case, spacing and the punctuation of prose from `text`. Characters inside a token
/// (`1.5`, `a-b`, `x::y`), signs (`-5`, `!ready`) and operators stay.
pub fn normalize(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split_whitespace().filter_map(|raw| {
        let core = trim(raw);
        if core.is_empty() {
            return operator(raw).map(str::to_owned);
        }
        Some(format!("{}{}", sign(raw, core).unwrap_or_default(), lower(core)))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the sha256 of the normalized text, equal only for exact duplicates.
pub fn content_hash(text: &str) -> Vec<u8> {
    Sha256::digest(normalize(text)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hash_ignores_case_spacing_and_punctuation() {
        let same = [
            "Retry 3 times, then stop.",
            "  retry   3 TIMES then\n stop",
            "**Retry** “3” times — then stop!",
        ];
        for text in same {
            assert_eq!(content_hash(text), content_hash(same[0]), "{text}");
        }
        assert_eq!(content_hash("Всё «готово»."), content_hash("все готово"));
        assert_eq!(content_hash("_Note:_ _!ready_ _\u{FFFC}_"), content_hash("note !ready"));
    }

    #[test]
    fn hash_differs_for_different_meanings() {
        let pairs = [
            ("1.5 s", "15 s"),
            ("a-b", "ab"),
            ("x == y", "x != y"),
            ("-5", "5"),
            ("<=5", ">=5"),
            ("!ready", "ready"),
            ("10²", "102"),
            ("E0123", "E0124"),
            ("is on", "is not on"),
            ("", "x"),
        ];
        for (a, b) in pairs {
            assert_ne!(content_hash(a), content_hash(b), "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn normalizing_is_idempotent(text in "\\PC{0,60}") {
            let once = normalize(&text);
            prop_assert_eq!(normalize(&once), once);
        }
    }
}
