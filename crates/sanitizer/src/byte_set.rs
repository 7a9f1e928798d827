//! Sets of bytes as tables, for loops over every byte of a text.

/// A set of bytes.
#[derive(Debug)]
pub(crate) struct ByteSet([bool; 256]);

impl ByteSet {
    /// Returns the set of these bytes.
    pub(crate) const fn of(bytes: &[u8]) -> Self {
        Self([false; 256]).and(bytes)
    }

    /// Returns the set of the letters and digits of ASCII and of these bytes.
    pub(crate) const fn alphanumeric_and(bytes: &[u8]) -> Self {
        Self::of(bytes)
            .and(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            .and(b"abcdefghijklmnopqrstuvwxyz")
            .and(b"0123456789")
    }

    /// Returns the set with the bytes of characters beyond ASCII.
    pub(crate) const fn and_non_ascii(mut self) -> Self {
        let mut byte = 128;
        while byte < self.0.len() {
            self.0[byte] = true;
            byte += 1;
        }
        self
    }

    const fn and(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() {
            self.0[bytes[at] as usize] = true;
            at += 1;
        }
        self
    }

    /// Whether the byte is in the set.
    pub(crate) const fn contains(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_has_its_bytes_only() {
        static SET: ByteSet = ByteSet::alphanumeric_and(b"+-");
        static WIDE: ByteSet = ByteSet::of(b"0").and_non_ascii();
        for byte in 0..=u8::MAX {
            let expected = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
            assert_eq!(SET.contains(byte), expected, "{byte}");
            assert_eq!(WIDE.contains(byte), byte == b'0' || !byte.is_ascii(), "{byte}");
        }
    }
}
