//! Reading of documents by the tool `open_doc`, for benchmarks.

use crate::tools::Piece;

/// Opens a document at its start, and at the section of this name, each within `budget` tokens.
/// Returns the number of bytes that both show.
pub fn open_document(content: &str, section: &str, budget: usize) -> usize {
    let start = Piece::first(content, budget);
    let section = Piece::of_section(content, section, budget);
    start.text.len() + section.map_or(0, |piece| piece.text.len())
}
