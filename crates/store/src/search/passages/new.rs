//! A passage to write, and the text that stands for it in an embedding.

use mc_domain::{RecordKind, SourceKind};
use mc_sanitizer::Sanitized;
use sha2::{Digest, Sha256};

/// A passage to write.
#[derive(Debug, Clone, Default)]
pub struct NewPassage {
    /// Kind of memory record; `None` for anything else.
    pub record_kind: Option<RecordKind>,
    /// Record title, heading path or enclosing symbol.
    pub title: String,
    /// File path or URL.
    pub location: String,
    /// Qualified names defined in it.
    pub symbols: Vec<String>,
    /// Scopes.
    pub scope: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Language.
    pub language: String,
    /// Who said or wrote it; may be empty.
    pub author: String,
    /// What it can't be understood without: for a message, when it was and what was said before it.
    pub context: Sanitized,
    /// The text.
    pub text: Sanitized,
    /// First and last line in its document, from 1, inclusive; `None` for anything else, code among
    /// it ([`NewChunk`](crate::files::NewChunk) has its lines).
    pub lines: Option<(i32, i32)>,
}

impl NewPassage {
    /// Its [`embedding_text`].
    pub fn embedding_text(&self) -> String {
        let source = self.record_kind.map_or(SourceKind::Doc, |_| SourceKind::Memory);
        embedding_text(
            source,
            &self.title,
            &self.location,
            self.context.as_str(),
            self.text.as_str(),
        )
    }
}

/// The text that stands for a passage in front of an embedding model: where it is, what it is
/// called, what it says. Of a message, what was said before tells more of where it is than its
/// address does. A record is about more than the file that it cites, so its place says nothing here,
/// and its steps come last. A title that the text begins with says nothing besides, and would be half
/// of a short note's time in the model.
pub fn embedding_text(
    source: SourceKind,
    title: &str,
    place: &str,
    context: &str,
    text: &str,
) -> String {
    let title = if text.starts_with(title.trim_end_matches('…')) { "" } else { title };
    let parts = match source {
        SourceKind::Memory => [title, text, context],
        _ if context.is_empty() => [place, title, text],
        _ => [title, context, text],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn content_hash(passage: &NewPassage) -> Vec<u8> {
    Sha256::digest(passage.embedding_text()).to_vec()
}
