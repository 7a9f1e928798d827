//! The characters that may not touch a match of a format: with them, it would be a part of a longer
//! word or token.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Signs that continue a token if its last part may contain them. A dot is not among them, since it
/// ends a sentence.
const SIGNS: &[u8] = b"_-+/=~";

/// Compiles a valid format so that its matches, which are the group `s`, are delimited. Neither
/// letters nor digits may precede or follow a match, and no sign of its last part may follow. Other
/// signs may: file names and URLs are composed with them.
pub(super) fn delimited(format: &str) -> Result<Regex, regex::Error> {
    let hir = regex_syntax::parse(format).expect("a valid regex");
    let last = last_characters(&hir);
    let signs = SIGNS.iter().filter(|sign| last.accepts(**sign));
    let signs: String = signs.map(|sign| format!("\\{}", char::from(*sign))).collect();
    Regex::new(&format!("(?:^|[^A-Za-z0-9])(?P<s>{format})(?:[^A-Za-z0-9{signs}]|$)"))
}

/// The characters that the last part of an expression may contain.
struct LastCharacters<'h> {
    parts: Vec<&'h Hir>,
    /// Whether the expression matches the empty text, so that the part before it may be the last.
    may_be_empty: bool,
}

impl LastCharacters<'_> {
    fn accepts(&self, sign: u8) -> bool {
        self.parts.iter().any(|part| match part.kind() {
            HirKind::Literal(literal) => literal.0.last() == Some(&sign),
            HirKind::Class(Class::Unicode(class)) => {
                let sign = char::from(sign);
                class.iter().any(|range| (range.start()..=range.end()).contains(&sign))
            }
            HirKind::Class(Class::Bytes(class)) => {
                class.iter().any(|range| (range.start()..=range.end()).contains(&sign))
            }
            _ => false,
        })
    }
}

fn last_characters(hir: &Hir) -> LastCharacters<'_> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {
            LastCharacters { parts: Vec::new(), may_be_empty: true }
        }
        HirKind::Literal(_) | HirKind::Class(_) => {
            LastCharacters { parts: vec![hir], may_be_empty: false }
        }
        HirKind::Capture(capture) => last_characters(&capture.sub),
        HirKind::Repetition(repetition) => {
            let last = last_characters(&repetition.sub);
            LastCharacters { may_be_empty: last.may_be_empty || repetition.min == 0, ..last }
        }
        HirKind::Concat(parts) => {
            let mut all = LastCharacters { parts: Vec::new(), may_be_empty: true };
            for part in parts.iter().rev() {
                let last = last_characters(part);
                all.parts.extend(last.parts);
                if !last.may_be_empty {
                    all.may_be_empty = false;
                    break;
                }
            }
            all
        }
        HirKind::Alternation(choices) => {
            let mut all = LastCharacters { parts: Vec::new(), may_be_empty: false };
            for last in choices.iter().map(last_characters) {
                all.parts.extend(last.parts);
                all.may_be_empty |= last.may_be_empty;
            }
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(format: &str, text: &'t str) -> Option<&'t str> {
        delimited(format).expect("valid").captures(text)?.name("s").map(|secret| secret.as_str())
    }

    #[test]
    fn letters_and_digits_around_a_match_reject_it() {
        for text in ["ab-12", "(ab-12)", "_ab-12_", "ab-12\\n", "ключab-12ж", "ab-12."] {
            assert_eq!(found("ab-[0-9]{2}", text), Some("ab-12"), "{text}");
        }
        for text in ["xab-12", "0ab-12", "ab-123", "ab-12x"] {
            assert_eq!(found("ab-[0-9]{2}", text), None, "{text}");
        }
    }

    #[test]
    fn signs_of_the_last_part_reject_a_match_before_them() {
        for (format, value, signs) in [
            ("a[0-9_-]{2}", "a12", "_-"),
            ("a[0-9+/]{2}={0,2}", "a12==", "+/="),
            ("a-[0-9]{2}(?:-[0-9_])?", "a-12", "_"),
            ("a(?:[0-9]{2}|[0-9~]{2})", "a12", "~"),
            ("a-(?P<x>[0-9]{2})", "a-12", ""),
            ("(?-u:a-[0-9_]{2})", "a-12", "_"),
        ] {
            for sign in SIGNS.iter().copied().map(char::from) {
                let expected = (!signs.contains(sign)).then_some(value);
                assert_eq!(found(format, &format!("{value}{sign} b")), expected, "{format} {sign}");
            }
        }
    }
}
