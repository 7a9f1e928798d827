//! Length and line breaks of texts, and the validation of characters. PostgreSQL cannot store NUL,
//! and other control characters can harm terminals and prompts, so requests with either are
//! rejected.

/// The error of a text with a forbidden control character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "contains the control character U+{code:04X} at byte {offset}; remove it and send the text \
     again"
)]
pub struct ForbiddenCharacter {
    /// Unicode code point.
    pub code: u32,
    /// Byte offset in the text.
    pub offset: usize,
}

/// Checks a text of several lines: no control characters but tab, line feed and carriage return.
pub fn check_text(text: &str) -> Result<(), ForbiddenCharacter> {
    check(text, |c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Checks a text of one line (a title, a tag, a path): no control characters at all.
pub fn check_line(text: &str) -> Result<(), ForbiddenCharacter> {
    check(text, char::is_control)
}

/// Whether `c` breaks a line in some viewer, but is not a line feed.
pub fn is_other_line_break(c: char) -> bool {
    matches!(c, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns the start of a text, of at most `max` characters.
pub fn shorten(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

fn check(text: &str, forbidden: impl Fn(char) -> bool) -> Result<(), ForbiddenCharacter> {
    match text.char_indices().find(|(_, c)| forbidden(*c)) {
        None => Ok(()),
        Some((offset, c)) => Err(ForbiddenCharacter { code: c.into(), offset }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_by_characters() {
        for (text, expected) in [("", ""), ("дом", "дом"), ("домик", "дом"), ("a", "a")]
        {
            assert_eq!(shorten(text, 3), expected);
        }
        assert_eq!(shorten("a", 0), "");
    }

    #[test]
    fn line_breaks_are_valid_in_texts_only() {
        assert_eq!(check_text("a\r\n\tb"), Ok(()));
        assert_eq!(check_line("a\nb"), Err(ForbiddenCharacter { code: 0x0A, offset: 1 }));
        assert!(['\r', '\u{c}', '\u{2028}'].into_iter().all(is_other_line_break));
        assert!(!is_other_line_break('\n') && !is_other_line_break(' '));
        assert_eq!(check_text("a\0"), Err(ForbiddenCharacter { code: 0, offset: 1 }));
    }
}
