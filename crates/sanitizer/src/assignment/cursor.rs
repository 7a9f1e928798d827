//! Steps through the bytes of a text.

/// A place in a text. ASCII is all the grammar looks for, so bytes will do.
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

    /// Steps over bytes that `is` takes, `most` of them; answers how many.
    pub(super) fn skip(&mut self, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take(most).take_while(|byte| is(**byte)).count();
        self.at += length;
        length
    }

    /// Steps over `sign`, if it stands here.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let here = self.bytes[self.at..].starts_with(sign.as_bytes());
        if here {
            self.at += sign.len();
        }
        here
    }

    /// Steps over spaces and tabs.
    pub(super) fn spaces(&mut self) -> usize {
        self.skip(40, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// Steps over white space of all kinds, and backslashes that continue a line.
    pub(super) fn blanks(&mut self) -> usize {
        self.skip(64, |byte| byte.is_ascii_whitespace())
            + if self.eat("\\\n") { 1 + self.blanks() } else { 0 }
    }
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
