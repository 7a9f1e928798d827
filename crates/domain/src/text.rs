//! Which characters a text may hold. PostgreSQL can't store NUL, terminals and prompts should not
//! meet other control characters, so both are refused at the edge with the field named.

/// A control character where none may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "holds the control character U+{code:04X} at byte {offset}; remove it and send the text again"
)]
pub struct ForbiddenCharacter {
    /// Unicode code point.
    pub code: u32,
    /// Byte offset in the text.
    pub offset: usize,
}

/// Accepts a text of several lines: no control characters but tab, line feed and carriage return.
pub fn check_text(text: &str) -> Result<(), ForbiddenCharacter> {
    refuse(text, |c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Accepts a text of one line (a title, a tag, a path): no control characters at all.
pub fn check_line(text: &str) -> Result<(), ForbiddenCharacter> {
    refuse(text, char::is_control)
}

fn refuse(text: &str, forbidden: impl Fn(char) -> bool) -> Result<(), ForbiddenCharacter> {
    match text.char_indices().find(|(_, c)| forbidden(*c)) {
        None => Ok(()),
        Some((offset, c)) => Err(ForbiddenCharacter { code: c.into(), offset }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_belong_to_texts_and_not_to_lines() {
        assert_eq!(check_text("a\r\n\tb"), Ok(()));
        assert_eq!(check_line("a\nb"), Err(ForbiddenCharacter { code: 0x0A, offset: 1 }));
        assert_eq!(check_text("a\0"), Err(ForbiddenCharacter { code: 0, offset: 1 }));
    }
}
