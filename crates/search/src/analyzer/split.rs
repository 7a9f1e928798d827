//! Splitting of an identifier into parts.

/// Splits `HTTPServer2_config` into `HTTP`, `Server`, `2`, `config`: at underscores, between a
/// lower-case and an upper-case letter, before the last of several upper-case letters, and between
/// letters and digits. A possessive `'s` is removed.
pub(super) fn parts(identifier: &str) -> Vec<&str> {
    let identifier = without_possessive(identifier);
    identifier.split('_').filter(|word| !word.is_empty()).flat_map(split_case).collect()
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"].iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word)
}

fn split_case(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (i, pair) in chars.windows(2).enumerate() {
        let (previous, (offset, current)) = (pair[0].1, pair[1]);
        let next = chars.get(i + 2).map(|&(_, c)| c);
        if is_boundary(previous, current, next) {
            parts.push(&word[start..offset]);
            start = offset;
        }
    }
    parts.push(&word[start..]);
    parts
}

fn is_boundary(previous: char, current: char, next: Option<char>) -> bool {
    let starts_word = previous.is_lowercase() && current.is_uppercase();
    let end_of_acronym =
        previous.is_uppercase() && current.is_uppercase() && next.is_some_and(char::is_lowercase);
    let digits = previous.is_numeric() != current.is_numeric();
    starts_word || end_of_acronym || digits
}
