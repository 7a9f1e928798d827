//! Splitting texts into sentences, and cutting texts at their ends.

use std::iter;

const ELLIPSIS: char = '…';

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.",
    "i.e.",
    "etc.",
    "vs.",
    "cf.",
    "no.",
    "fig.",
    "approx.",
    "т.е.",
    "т.к.",
    "т.д.",
    "т.п.",
    "напр.",
    "см.",
];

const ABBREVIATION_MAX_CHARS: usize = 7;

/// Splits a paragraph or line into sentences, trimmed, in order; none is empty.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let mut ends = text.char_indices().map(|(at, c)| (at + c.len_utf8(), c));
    let parts = iter::from_fn(move || {
        let from = start;
        let is_boundary = |&(end, c): &(usize, char)| {
            c == '\n' || (is_end(c) && ends_here(&text[from..end], &text[end..]))
        };
        start = ends.find(is_boundary).map_or(text.len(), |(end, _)| end);
        (from < text.len()).then(|| text[from..start].trim())
    });
    parts.filter(|sentence| !sentence.is_empty())
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。')
}

fn ends_here(sentence: &str, rest: &str) -> bool {
    let is_separated =
        rest.chars().next().is_none_or(char::is_whitespace) || sentence.ends_with('。');
    let continues = || rest.trim_start().chars().next().is_some_and(char::is_lowercase);
    is_separated && !continues() && !ends_in_abbreviation(sentence)
}

/// Checks only the end, as a log line can be one sentence of a hundred thousand characters.
fn ends_in_abbreviation(sentence: &str) -> bool {
    let start =
        sentence.char_indices().rev().nth(ABBREVIATION_MAX_CHARS - 1).map_or(0, |(at, _)| at);
    let tail = sentence[start..].to_lowercase();
    ABBREVIATIONS.iter().any(|short| tail.ends_with(short))
}

/// Cuts `text` to at most `max` characters: at the end of a sentence if that keeps most of it, else
/// at the end of a word. A cut ends in `…`.
pub fn cut(text: &str, max: usize) -> String {
    let text = text.trim();
    let Some((limit, _)) = text.char_indices().nth(max) else {
        return text.to_owned();
    };
    // One character is for the ellipsis.
    let room = text[..limit].char_indices().next_back().map_or(0, |(at, _)| at);
    let boundary = sentence_end(text, room).or_else(|| word_end(&text[..room], &text[room..]));
    let kept = text[..boundary.unwrap_or(room)].trim_end();
    if max == 0 { String::new() } else { format!("{kept}{ELLIPSIS}") }
}

/// Returns the end of the last sentence in the first `room` bytes, if that keeps at least three
/// fifths of them.
fn sentence_end(text: &str, room: usize) -> Option<usize> {
    let characters = text[..room].char_indices().rev().map(|(at, c)| (at + c.len_utf8(), c));
    let mut ends = characters.take_while(|(end, _)| end * 5 >= room * 3);
    let is_boundary =
        |&(end, c): &_| c == '\n' || (is_end(c) && ends_here(&text[..end], &text[end..]));
    ends.find(is_boundary).map(|(end, _)| end)
}

/// Returns the end of the last word of `head`; `None` if `head` is one long word.
fn word_end(head: &str, rest: &str) -> Option<usize> {
    if rest.starts_with(char::is_whitespace) {
        return Some(head.len());
    }
    head.rfind(char::is_whitespace).filter(|at| *at > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sentences_end_at_full_stops_of_prose() {
        let text = "Use v1.2. Then see e.g. Foo. И т.д. не конец? Да! end.";
        let expected = ["Use v1.2.", "Then see e.g. Foo.", "И т.д. не конец?", "Да! end."];
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected);
        assert_eq!(sentences(" One.\n\n Two. \n").collect::<Vec<_>>(), ["One.", "Two."]);
        assert_eq!(sentences(" \n").next(), None);
    }

    #[test]
    fn abbreviations_end_no_sentence() {
        for short in ABBREVIATIONS {
            assert!(short.chars().count() <= ABBREVIATION_MAX_CHARS, "{short}");
            assert_eq!(sentences(&format!("Some text {short} Next")).count(), 1, "{short}");
        }
    }

    #[test]
    fn cut_prefers_the_end_of_a_sentence() {
        assert_eq!(cut("One two three. Four five six seven", 22), "One two three.…");
        assert_eq!(cut("One two three four five", 12), "One two…");
        assert_eq!(cut("short", 12), "short");
        // A lower-case word continues a sentence, even if the word is cut off.
        assert_eq!(cut("Aaaa bbbb cccc. Dd. ee ff", 21), "Aaaa bbbb cccc.…");
        assert_eq!(cut("Донаудампфшиффарт", 5), "Дона…");
    }

    proptest! {
        #[test]
        fn cut_never_exceeds_its_limit(text in "[ a-zа-я.!?\n😀]{0,80}", max in 0usize..60) {
            let short = cut(&text, max);
            prop_assert!(short.chars().count() <= max);
            let kept = short.trim_end_matches('…');
            prop_assert!(text.trim().starts_with(kept.trim_end()));
        }
    }
}
