//! A passage to write, and its text for an embedding model.

use mc_domain::{RecordKind, SourceKind};
use mc_sanitizer::Sanitized;
use sha2::{Digest, Sha256};

/// A passage to write.
#[derive(Debug, Clone, Default)]
pub struct NewPassage {
    /// Kind of the memory record; `None` for other sources.
    pub record_kind: Option<RecordKind>,
    /// Record title, heading path or enclosing symbol.
    pub title: Sanitized,
    /// File path or URL.
    pub location: Sanitized,
    /// Qualified names defined in it.
    pub symbols: Vec<String>,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Language of the code or text; may be empty.
    pub language: String,
    /// Author; may be empty.
    pub author: Sanitized,
    /// Text that the passage is read with: for a message its time and the messages before it.
    pub context: Sanitized,
    /// Searchable text.
    pub text: Sanitized,
    /// First and last line in the document, from 1, inclusive; `None` for other sources
    /// ([`NewChunk`](crate::files::NewChunk) has the lines of code).
    pub lines: Option<(i32, i32)>,
}

impl NewPassage {
    /// Returns the text that its vector is computed from ([`embedding_text`]).
    pub fn embedding_text(&self) -> String {
        let source = self.record_kind.map_or(SourceKind::Doc, |_| SourceKind::Memory);
        embedding_text(
            source,
            self.title.as_str(),
            self.location.as_str(),
            self.context.as_str(),
            self.text.as_str(),
        )
    }
}

/// Returns the text of a passage for an embedding model: location, title and text. For a message,
/// the messages before it say more than its location. A record is about more than the file that it
/// cites, so its location is left out, and its steps come last. A title that the text starts with
/// is left out: it adds nothing and would be half of a short note.
pub fn embedding_text(
    source: SourceKind,
    title: &str,
    location: &str,
    context: &str,
    text: &str,
) -> String {
    let title = if text.starts_with(title.trim_end_matches('…')) { "" } else { title };
    let parts = match source {
        SourceKind::Memory => [title, text, context],
        _ if context.is_empty() => [location, title, text],
        _ => [title, context, text],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the hash of its [`embedding_text`], which tells whether a vector is current.
pub fn content_hash(passage: &NewPassage) -> Vec<u8> {
    Sha256::digest(passage.embedding_text()).to_vec()
}
