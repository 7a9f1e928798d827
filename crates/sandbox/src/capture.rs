//! Keeps the start and the end of a stream of any length.

use std::collections::VecDeque;
use std::fmt;

/// Output of a command. If it was longer than the limit, its middle is missing.
#[derive(Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// First bytes of the output, or all of it.
    pub head: Vec<u8>,
    /// Last bytes of the output; empty if the head is all of it.
    pub tail: Vec<u8>,
    /// Bytes of the output, with those that were dropped.
    pub total_bytes: u64,
}

impl CapturedOutput {
    /// Returns the number of bytes that are missing between head and tail.
    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns the output as text. A line states how many bytes are missing, and other bytes than
    /// UTF-8 are replaced.
    pub fn to_text(&self) -> String {
        match self.omitted_bytes() {
            // A character may lie on both sides of the boundary.
            0 => String::from_utf8_lossy(&[self.head.as_slice(), &self.tail].concat()).into(),
            omitted => {
                let (head, tail) =
                    (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
                format!("{head}\n[{omitted} bytes omitted]\n{tail}")
            }
        }
    }
}

/// The content may be secret, so only sizes are shown.
impl fmt::Debug for CapturedOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CapturedOutput")
            .field("head_bytes", &self.head.len())
            .field("tail_bytes", &self.tail.len())
            .field("total_bytes", &self.total_bytes)
            .finish()
    }
}

/// Collects a stream in at most `limit` bytes.
pub(crate) struct Capture {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
}

impl Capture {
    /// Returns a capture that keeps at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), total_bytes: 0 }
    }

    /// Adds bytes to the end.
    pub fn add(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let max_head = self.limit.div_ceil(2);
        let (head, rest) = bytes.split_at(bytes.len().min(max_head - self.head.len()));
        self.head.extend_from_slice(head);
        let max_tail = self.limit - max_head;
        let kept = &rest[rest.len().saturating_sub(max_tail)..];
        let too_many = (self.tail.len() + kept.len()).saturating_sub(max_tail);
        self.tail.drain(..too_many);
        self.tail.extend(kept);
    }

    /// Returns what was kept.
    pub fn finish(self) -> CapturedOutput {
        CapturedOutput { head: self.head, tail: self.tail.into(), total_bytes: self.total_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, chunks: &[&str]) -> CapturedOutput {
        let mut capture = Capture::new(limit);
        for chunk in chunks {
            capture.add(chunk.as_bytes());
        }
        capture.finish()
    }

    #[test]
    fn head_and_tail_do_not_depend_on_the_chunks() {
        let text: String = ('a'..='z').collect();
        for size in 1..=text.len() {
            let chunks = text.as_bytes().chunks(size);
            let chunks: Vec<&str> =
                chunks.map(|chunk| str::from_utf8(chunk).expect("letters")).collect();
            let kept = captured(7, &chunks);
            assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"abcd"[..], &b"xyz"[..]));
            assert_eq!((kept.total_bytes, kept.omitted_bytes()), (26, 19));
            assert_eq!(kept.to_text(), "abcd\n[19 bytes omitted]\nxyz");
        }
    }

    #[test]
    fn content_is_not_shown() {
        let kept = captured(6, &["hidden"]);
        let shown = format!("{kept:?}");
        assert_eq!(shown, "CapturedOutput { head_bytes: 3, tail_bytes: 3, total_bytes: 6 }");
    }

    #[test]
    fn output_within_the_limit_is_complete() {
        let kept = captured(7, &["ab\u{e9}", "", "def"]);
        assert_eq!(kept.to_text(), "ab\u{e9}def", "a character lies on the boundary");
        assert_eq!(kept.omitted_bytes(), 0);
        assert_eq!(captured(0, &["text"]).omitted_bytes(), 4);
    }
}
