//! Whether a note says anything, and how useful it may be.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::note::ParsedNote;
use crate::text::regex;
use crate::text::vocabulary::is_placeholder;

/// With fewer content words than this and no identifier, a note says nothing.
const CONTENT_WORDS_MIN: usize = 2;

/// Why a note is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reject {
    /// Nothing is left without greetings, thanks and markup.
    Empty,
    /// Only a placeholder for a text to be written later.
    Placeholder,
    /// Only masked secrets.
    OnlySecrets,
    /// Too short to mean anything to others.
    TooShort,
    /// The same word repeated.
    Repetitive,
}

impl Reject {
    /// Returns the name under which such notes are counted.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Placeholder => "placeholder",
            Self::OnlySecrets => "only_secrets",
            Self::TooShort => "too_short",
            Self::Repetitive => "repetitive",
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => {
                "nothing is left once greetings, thanks and markup are gone; say what \
                is true, where, and why"
            }
            Self::Placeholder => "it is only a placeholder; say what is true, where, and why",
            Self::OnlySecrets => {
                "it holds nothing but a masked secret; secrets don't belong \
                into the memory, say what it is for instead"
            }
            Self::TooShort => "it is too short to help anyone; say what is true, where, and why",
            Self::Repetitive => "it repeats the same words; say once what is true, where, and why",
        })
    }
}

static SECRET: LazyLock<Regex> = LazyLock::new(|| regex(r"\[secret:[a-z0-9-]+\]"));

/// Returns why the distilled `content` is not worth keeping, if so.
pub fn reject(content: &str) -> Option<Reject> {
    if !content.chars().any(char::is_alphanumeric) {
        return Some(Reject::Empty);
    }
    let without_secrets = SECRET.replace_all(content, " ");
    let note = ParsedNote::read(&without_secrets);
    if note.weight() == 0 && without_secrets != content {
        return Some(Reject::OnlySecrets);
    }
    let says_something = note.words.iter().any(|word| !is_placeholder(&word.written));
    let names_something =
        note.marks.iter().any(|mark| mark.contains(char::is_alphabetic) && !is_placeholder(mark));
    if !says_something && !names_something {
        return Some(Reject::Placeholder);
    }
    if note.words.len() < CONTENT_WORDS_MIN && !(names_something && note.weight() >= 2) {
        let many = content.split_whitespace().count() > 3 * CONTENT_WORDS_MIN;
        return Some(if many { Reject::Repetitive } else { Reject::TooShort });
    }
    None
}

/// Evidence for a note beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence {
    /// Number of citations.
    pub citations: usize,
    /// Whether it names its patch.
    pub patch: bool,
    /// Whether it belongs to a task.
    pub task: bool,
    /// The caller's own rating, 0 to 1.
    pub callers_opinion: Option<f32>,
}

static REASONING: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(because|since|so that|otherwise|therefore|must|never|always|cause[sd]?|",
        r"fix(?:ed)?|instead|unless|if|when|workaround|потому|чтобы|иначе|поэтому|причин\w*|",
        r"нельзя|всегда|никогда|вместо|если|когда|нужно|должн\w*)\b",
    ))
});

/// Returns how useful a note may be, 0 to 1: it scores for names, reasons, length and evidence. The
/// caller's rating counts half, if there is one.
pub fn usefulness(note: &ParsedNote, evidence: &Evidence) -> f32 {
    let names = note.marks.iter().filter(|mark| mark.contains(char::is_alphabetic)).count();
    let reasons: BTreeSet<_> =
        REASONING.find_iter(note.text()).map(|found| found.as_str().to_lowercase()).collect();
    let score = 0.20
        + 0.25 * saturating(names, 3)
        + 0.20 * saturating(reasons.len(), 2)
        + 0.15 * saturating(note.words.len(), 8)
        + 0.10 * saturating(evidence.citations, 1)
        + if evidence.patch { 0.05 } else { 0.0 }
        + if evidence.task { 0.05 } else { 0.0 };
    match evidence.callers_opinion {
        Some(opinion) => f32::midpoint(score, opinion.clamp(0.0, 1.0)),
        None => score,
    }
}

/// Returns `count` as a share of `enough`, at most 1.
fn saturating(count: usize, enough: u8) -> f32 {
    f32::from(u8::try_from(count).unwrap_or(u8::MAX).min(enough)) / f32::from(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_without_information_are_rejected() {
        let cases = [
            ("", Reject::Empty),
            ("...!", Reject::Empty),
            ("TODO", Reject::Placeholder),
            ("test test", Reject::Placeholder),
            ("n/a", Reject::Placeholder),
            ("тест", Reject::Placeholder),
            ("lorem ipsum dolor sit amet", Reject::Placeholder),
            ("the and of", Reject::Placeholder),
            ("42", Reject::Placeholder),
            ("retries", Reject::TooShort),
            ("[secret:github-token]", Reject::OnlySecrets),
            ("retry retry retry retry retry retry retry", Reject::Repetitive),
        ];
        for (content, expected) in cases {
            assert_eq!(reject(content), Some(expected), "{content:?}");
        }
    }

    #[test]
    fn short_informative_notes_are_accepted() {
        for content in [
            "Retries are off",
            "Use `delay_unit` here",
            "кэш общий для магазинов",
            "timeout is 30s",
            "token is [secret:github-token] in staging",
            "port 8080 is taken",
        ] {
            assert_eq!(reject(content), None, "{content:?}");
        }
    }

    #[test]
    fn note_with_names_and_reasons_is_more_useful() {
        let bare = usefulness(&ParsedNote::read("It is slow sometimes"), &Evidence::default());
        let rich = usefulness(
            &ParsedNote::read(
                "Never call `CartSessions::Setting#delay` without `delay_unit`, because \
                    app/models/cart.rb treats nil as minutes",
            ),
            &Evidence { citations: 1, patch: true, task: true, callers_opinion: None },
        );
        assert!(bare < 0.45 && rich > 0.9 && rich <= 1.0, "{bare} {rich}");
    }
}
