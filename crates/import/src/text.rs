//! Words and lengths of texts.

/// Longest text of a record, in characters.
pub const RECORD_MAX_CHARS: usize = 4_000;
/// Longest excerpt of a refused text, in characters.
const EXCERPT_MAX_CHARS: usize = 160;

/// Counts the words: runs without whitespace that have a letter or a digit.
pub fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// Returns the beginning of a text in one line.
pub fn excerpt(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= EXCERPT_MAX_CHARS {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Whether the text has at most `max` characters.
pub fn fits(text: &str, max: usize) -> bool {
    text.chars().nth(max).is_none()
}
