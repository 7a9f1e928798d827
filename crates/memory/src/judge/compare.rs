//! Comparing two notes by their words alone.

use std::fmt;

use strsim::osa_distance;

use super::note::{Frame, ParsedNote, Word};
use crate::text::as_f32;
use crate::tokens;

/// Most extra words of a near duplicate, as a share of the longer note.
const EXTRA_WORDS_SHARE: f32 = 0.15;
/// Most unshared words of each note for which typos are paired; notes with more differ anyway.
const UNSHARED_MAX: usize = 100;
/// Share of words with typos in a near duplicate; one word may always have one.
const TYPO_SHARE: f32 = 0.2;
/// Maximum length of a word in which typos are detected, in characters. Longer words do not occur
/// in prose, and comparing two takes quadratic time and memory.
const TYPO_WORD_MAX: usize = 64;

/// A difference between two notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A number or identifier that only one of them has.
    Mark(String),
    /// A quotation that only one of them has.
    Quote(String),
    /// A denial or relation that only one of them has.
    Frame(String),
    /// An operator that only one of them has.
    Symbol(String),
    /// A word in place of another.
    Words(String, String),
    /// Two swapped words (`a calls b`, `b calls a`).
    Swapped(String, String),
    /// One says much more than the other.
    Extent,
    /// A chat model finds that they state different things.
    Statement,
}

impl Difference {
    /// Whether two notes with it are never the same, whatever a model finds.
    pub fn is_hard(&self) -> bool {
        match self {
            Self::Mark(_)
            | Self::Quote(_)
            | Self::Frame(_)
            | Self::Symbol(_)
            | Self::Swapped(..)
            | Self::Statement => true,
            Self::Words(..) | Self::Extent => false,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(mark) => write!(f, "only one of them has \"{mark}\""),
            Self::Quote(quote) => write!(f, "only one of them quotes \"{quote}\""),
            Self::Frame(frame) => write!(f, "only one of them says \"{frame}\""),
            Self::Symbol(symbol) => write!(f, "only one of them has the operator {symbol}"),
            Self::Words(a, b) => write!(f, "\"{a}\" stands where the other has \"{b}\""),
            Self::Swapped(a, b) => write!(f, "\"{a}\" and \"{b}\" change places"),
            Self::Extent => write!(f, "one says a good deal more than the other"),
            Self::Statement => write!(f, "the chat model finds that one replaces the other"),
        }
    }
}

/// Comparison of two notes.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The first difference found; `None` for notes that say the same.
    pub difference: Option<Difference>,
    /// Share of words and marks in common, typos counted as shared, 0 to 1.
    pub jaccard: f32,
}

/// Compares two notes.
pub fn compare(a: &ParsedNote, b: &ParsedNote) -> Comparison {
    let alignment = align(a, b);
    let shared_marks = a.marks.intersection(&b.marks).count();
    let all_marks = a.marks.union(&b.marks).count();
    let words = alignment.shared + alignment.typos.len();
    let all = words + alignment.only_a.len() + alignment.only_b.len() + all_marks;
    let shared = words + shared_marks;
    Comparison {
        difference: marks_differ(a, b)
            .or_else(|| frames_differ(a, b, &alignment))
            .or_else(|| words_differ(a, b, &alignment))
            .or_else(|| roles_swapped(a, b, &alignment)),
        jaccard: if all == 0 { 1.0 } else { as_f32(shared) / as_f32(all) },
    }
}

/// The words of two notes, aligned.
struct Alignment<'a> {
    shared: usize,
    typos: Vec<(&'a Word, &'a Word)>,
    only_a: Vec<&'a Word>,
    only_b: Vec<&'a Word>,
}

fn align<'a>(a: &'a ParsedNote, b: &'a ParsedNote) -> Alignment<'a> {
    // A word also counts as shared if the other note has it inside a mark.
    let missing = |word: &&Word, note: &ParsedNote| {
        !note.stems.contains(&word.stem) && !note.spelled.contains(&word.written)
    };
    let mut only_a: Vec<_> = a.words.iter().filter(|w| missing(w, b)).collect();
    let mut only_b: Vec<_> = b.words.iter().filter(|w| missing(w, a)).collect();
    let shared = a.words.len() - only_a.len();
    let mut typos = Vec::new();
    if only_a.len().min(only_b.len()) > UNSHARED_MAX {
        return Alignment { shared, typos, only_a, only_b };
    }
    only_a.retain(|left| match only_b.iter().position(|right| is_typo(left, right)) {
        Some(at) => {
            typos.push((*left, only_b.remove(at)));
            false
        }
        None => true,
    });
    Alignment { shared, typos, only_a, only_b }
}

fn marks_differ(a: &ParsedNote, b: &ParsedNote) -> Option<Difference> {
    let missing = |from: &ParsedNote, to: &ParsedNote| {
        from.marks.iter().find(|m| !to.spelled.contains(*m)).cloned()
    };
    let unquoted = |from: &ParsedNote, to: &ParsedNote| {
        let quoted = from.quoted();
        let text = if quoted.is_empty() { String::new() } else { to.normalized() };
        quoted.into_iter().find(|quote| !text.contains(quote))
    };
    missing(a, b)
        .or_else(|| missing(b, a))
        .map(Difference::Mark)
        .or_else(|| unquoted(a, b).or_else(|| unquoted(b, a)).map(Difference::Quote))
        .or_else(|| {
            a.symbols.symmetric_difference(&b.symbols).next().cloned().map(Difference::Symbol)
        })
}

fn frames_differ(a: &ParsedNote, b: &ParsedNote, alignment: &Alignment<'_>) -> Option<Difference> {
    let same = |x: &Frame, y: &Frame| {
        x.operator == y.operator
            && (x.object == y.object
                || alignment.typos.iter().any(|(left, right)| {
                    (left.stem == x.object && right.stem == y.object)
                        || (left.stem == y.object && right.stem == x.object)
                }))
    };
    let missing = |from: &ParsedNote, to: &ParsedNote| {
        from.frames.iter().find(|x| !to.frames.iter().any(|y| same(x, y))).cloned()
    };
    missing(a, b).or_else(|| missing(b, a)).map(|frame| {
        Difference::Frame(format!("{} {}", frame.operator, frame.object).trim_end().to_owned())
    })
}

fn words_differ(a: &ParsedNote, b: &ParsedNote, alignment: &Alignment<'_>) -> Option<Difference> {
    let longer = a.weight().max(b.weight());
    let allowed = |share: f32| (as_f32(longer) * share).floor();
    if let (Some(left), Some(right)) = (alignment.only_a.first(), alignment.only_b.first()) {
        return Some(Difference::Words(left.written.clone(), right.written.clone()));
    }
    if as_f32(alignment.typos.len()) > allowed(TYPO_SHARE).max(1.0) {
        let (left, right) = alignment.typos[0];
        return Some(Difference::Words(left.written.clone(), right.written.clone()));
    }
    let extra = alignment.only_a.len() + alignment.only_b.len();
    (as_f32(extra) > allowed(EXTRA_WORDS_SHARE)).then_some(Difference::Extent)
}

/// Finds two words that changed places around one that stayed: who does what to whom.
fn roles_swapped(a: &ParsedNote, b: &ParsedNote, alignment: &Alignment<'_>) -> Option<Difference> {
    let order = |note: &ParsedNote| -> Vec<String> {
        let stem = |word: &Word| {
            let typo = alignment.typos.iter().find(|(_, right)| right.stem == word.stem);
            typo.map_or(word, |(left, _)| *left).stem.clone()
        };
        note.words.iter().map(stem).collect()
    };
    let (left, right) = (order(a), order(b));
    if left.len() != right.len() {
        return None;
    }
    let moved: Vec<_> = (0..left.len()).filter(|at| left[*at] != right[*at]).collect();
    match moved[..] {
        [x, y] if y > x + 1 && left[x] == right[y] && left[y] == right[x] => {
            Some(Difference::Swapped(left[x].clone(), left[y].clone()))
        }
        _ => None,
    }
}

/// Whether one word is a misspelling of the other: the same first letter, one edit (two in long
/// words, none in very long ones), and not both in the tokenizer's vocabulary (`contact`,
/// `contract`).
fn is_typo(a: &Word, b: &Word) -> bool {
    // Cheapest check first: most pairs of words end here.
    if a.written.chars().next() != b.written.chars().next() {
        return false;
    }
    let (a_length, b_length) = (a.written.chars().count(), b.written.chars().count());
    let allowed = match a_length.min(b_length) {
        0..=3 => 0,
        4..=8 => 1,
        _ if a_length.max(b_length) > TYPO_WORD_MAX => 0,
        _ => 2,
    };
    // The distance takes most of the time of a comparison.
    allowed > 0
        && a_length.abs_diff(b_length) <= allowed
        && !are_opposites(&a.written, &b.written)
        && osa_distance(&a.written, &b.written) <= allowed
        && !(tokens::is_one_token(&a.written) && tokens::is_one_token(&b.written))
}

/// Whether two Russian words are opposites in one letter: `включить` and `выключить`.
fn are_opposites(a: &str, b: &str) -> bool {
    let opposite = |x: &str, y: &str| match (x.strip_prefix("вы"), y.strip_prefix('в')) {
        (Some(out), Some(into)) => out == into,
        _ => false,
    };
    opposite(a, b) || opposite(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<Difference> {
        compare(&ParsedNote::read(a), &ParsedNote::read(b)).difference
    }

    #[test]
    fn edit_distance_counts_swaps_as_one() {
        assert_eq!(osa_distance("worker", "wroker"), 1);
        assert_eq!(osa_distance("retry", "rety"), 1);
        assert_eq!(osa_distance("кэширование", "кешированее"), 2);
    }

    #[test]
    fn word_that_is_too_long_for_prose_has_no_typo() {
        let note = |end: &str| format!("The key is {}{end}", "a".repeat(TYPO_WORD_MAX));
        assert!(difference(&note("b"), &note("c")).is_some());
    }

    #[test]
    fn paraphrases_have_no_difference() {
        let cases = [
            (
                "The payments worker retries a failed charge 3 times before giving up.",
                "Failed charges are retried three times by the payments worker before it gives up",
            ),
            ("Run migrations before deploy", "Please note: before deploy, run the migrations!"),
            ("Do not cache sessions in Redis", "don't cache sessions in redis"),
            (
                "Use `delay_unit` for the cart session timers",
                "use delay_unit for cart sesion timers",
            ),
            (
                "Причина nil: расхождение delay_unit и trigger_delay_unit",
                "причина nil — расхождение trigger_delay_unit и delay_unit",
            ),
            (
                "Воркер платежей повторяет списание 3 раза",
                "Коллеги, воркер платежей повторяет списания три раза",
            ),
        ];
        for (a, b) in cases {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }

    #[test]
    fn notes_of_different_meaning_have_a_difference() {
        let cases = [
            ("decision E0123 about payment retries", "decision E0124 about payment retries"),
            ("Retries are enabled in staging", "Retries are not enabled in staging"),
            ("Retries are enabled in staging", "Retries are disabled in staging"),
            ("Orders service calls payments service", "Payments service calls orders service"),
            ("Run migrations before deploy", "Run deploy before migrations"),
            ("Timeout is 30s", "Timeout is 30ms"),
            ("Timeout is 30 s", "Timeout is 60 s"),
            ("Keep x >= 5", "Keep x <= 5"),
            (
                "The contact form is validated on the server",
                "The contract form is validated on the server",
            ),
            ("включить режим отладки в продакшене", "выключить режим отладки в продакшене"),
            ("Clients must send the header X-Trace", "Clients may send the header X-Trace"),
            ("The state of the order is kept in Redis", "The stage of the order is kept in Redis"),
            ("answer with \"payment failed\"", "answer with \"payment declined\""),
            ("see app/models/cart.rb for totals", "see app/models/order.rb for totals"),
            ("Retries are off", "Retries are off for European customers of the old plan"),
        ];
        for (a, b) in cases {
            assert!(difference(a, b).is_some(), "{a} / {b}");
        }
    }
}
