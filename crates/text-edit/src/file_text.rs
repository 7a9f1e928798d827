//! Text of a file, with its encoding.

mod encoding;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::error::NotText;
use crate::limits::MAX_FILE_BYTES;
use crate::line::{Line, LineEnding, lines, majority};

pub use encoding::Encoding;

/// A decoded file.
#[derive(Clone, PartialEq, Eq)]
pub struct FileText {
    bytes: Vec<u8>,
    text: String,
    encoding: Encoding,
    lines: Vec<Line>,
}

impl FileText {
    /// Decodes UTF-8, UTF-16 with a byte order mark, or text of an unknown 8-bit encoding.
    ///
    /// Fails if the file has NUL, is invalid UTF-16 or exceeds [`MAX_FILE_BYTES`].
    pub fn decode(bytes: &[u8]) -> Result<Self, NotText> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(NotText::TooLarge { bytes: bytes.len(), max: MAX_FILE_BYTES });
        }
        let (encoding, text) = encoding::decode(bytes)?;
        let lines = lines(&text);
        Ok(Self { bytes: bytes.to_vec(), text, encoding, lines })
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the text without its byte order mark. The sanitizer gets this text, and the spans of
    /// its findings refer to it.
    ///
    /// In [`Encoding::Unknown8Bit`], invalid bytes are shown as `\xE9`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of lines. A final line ending does not start another line.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the line ending of each line; `None` if the last line has none.
    pub fn line_endings(&self) -> impl Iterator<Item = Option<LineEnding>> {
        self.lines.iter().map(|line| line.ending)
    }

    /// Returns the most frequent line ending; [`LineEnding::Lf`] without any.
    pub fn main_line_ending(&self) -> LineEnding {
        majority(&self.lines)
    }

    /// Whether the last line has a line ending. An empty file has none.
    pub fn ends_with_line_ending(&self) -> bool {
        self.lines.last().is_some_and(|line| line.ending.is_some())
    }

    /// Returns the position in the bytes of a position in the text.
    pub(crate) fn byte_offset(&self, text_offset: usize) -> usize {
        match self.encoding {
            Encoding::Unknown8Bit => encoding::offset_of_escaped(&self.bytes, text_offset),
            known => known.mark_len() + known.encoded_len(&self.text[..text_offset]),
        }
    }

    /// Returns the lines.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the 0-based line of a position in the text.
    pub(crate) fn line_at(&self, text_offset: usize) -> usize {
        let after = self.lines.partition_point(|line| line.text.start <= text_offset);
        after.saturating_sub(1)
    }
}

/// Leaves out the text, which may have secrets.
impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileText")
            .field("encoding", &self.encoding)
            .field("size_bytes", &self.bytes.len())
            .field("line_count", &self.lines.len())
            .finish_non_exhaustive()
    }
}
