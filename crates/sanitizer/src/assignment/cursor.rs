//! A cursor over the bytes of a text.

/// Maximum number of lines that are continued without a value.
const MAX_CONTINUATIONS: usize = 64;

/// An offset in a text. The grammar is ASCII, so bytes suffice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    bytes: &'t [u8],
    pub at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { bytes: text.as_bytes(), at }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn previous(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|before| self.bytes[before])
    }

    /// Skips at most `max` bytes that match `is`, and returns their number.
    pub(super) fn skip(&mut self, max: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take(max).take_while(|byte| is(**byte)).count();
        self.at += length;
        length
    }

    /// Skips `token` if it is next, and returns whether it was.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let is_next = self.bytes[self.at..].starts_with(token.as_bytes());
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    /// Skips spaces and tabs.
    pub(super) fn spaces(&mut self) -> usize {
        self.skip(40, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// Skips white space, and backslashes that continue a line.
    pub(super) fn blanks(&mut self) {
        for _ in 0..MAX_CONTINUATIONS {
            self.skip(64, |byte| byte.is_ascii_whitespace());
            if !self.eat("\\\n") {
                return;
            }
        }
    }
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
