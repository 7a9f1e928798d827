//! Bigrams for scripts without blanks between words: Han, kana, Hangul (whose blanks separate
//! phrases) and Thai. Bigrams find words without a dictionary.

use super::{Lexeme, TermKind, push};

/// Returns whether a character belongs to such a script.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0E7F}'     // Thai
        | '\u{1100}'..='\u{11FF}'   // Hangul letters
        | '\u{3005}'..='\u{3007}'   // iteration marks
        | '\u{3040}'..='\u{30FF}'   // kana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{AC00}'..='\u{D7AF}'   // Hangul syllables
        | '\u{20000}'..='\u{3134F}')
}

/// Adds the terms of a run with such characters: their bigrams (or a single character), and the
/// usual terms of other parts. Returns the next free position.
pub(super) fn terms(run: &str, offset: usize, first: usize, lexemes: &mut Vec<Lexeme>) -> usize {
    let mut position = first;
    let mut rest = run;
    let mut start = offset;
    while let Some(c) = rest.chars().next() {
        let unspaced = is_unspaced(c);
        let end = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (segment, after) = rest.split_at(end);
        position = if unspaced {
            bigrams(segment, start, position, lexemes)
        } else {
            super::terms_of_atom(segment, start, true, position, lexemes)
        };
        start += end;
        rest = after;
    }
    position
}

fn bigrams(run: &str, offset: usize, first: usize, lexemes: &mut Vec<Lexeme>) -> usize {
    let starts: Vec<usize> = run.char_indices().map(|(i, _)| i).chain([run.len()]).collect();
    if starts.len() == 2 {
        push(lexemes, run.to_lowercase(), TermKind::Bigram, first, (offset, offset + run.len()));
        return first + 1;
    }
    for (i, window) in starts.windows(3).enumerate() {
        let span = (offset + window[0], offset + window[2]);
        push(lexemes, run[window[0]..window[2]].to_lowercase(), TermKind::Bigram, first + i, span);
    }
    first + starts.len() - 2
}
