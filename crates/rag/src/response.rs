//! The response of a run.

use mc_contract::number::rounded;
use mc_contract::operations::rag::{MatchKind, RagMatch, RagMatchMetadata};

use crate::multi_query::SubQuery;
use crate::snippet::Snippet;

/// Most characters of a short description.
const SUMMARY_CHARS: usize = 200;

/// Returns a snippet as a match.
pub(crate) fn rag_match(snippet: Snippet, queries: &[SubQuery]) -> RagMatch {
    let text_of = |place: &usize| queries.get(*place).map(|query| query.text.clone());
    let generated_by_sub_query = snippet.sub_queries.iter().filter_map(text_of).collect();
    let repository = &snippet.repository;
    let summary = summary(&snippet);
    let chunk = snippet.chunk;
    let metadata = RagMatchMetadata {
        repo_owner: repository.owner.clone(),
        repo_name: repository.name.clone(),
        file_path: snippet.path.clone(),
        kind: snippet.kind,
        chunk_index: chunk.as_ref().map(|chunk| chunk.index),
        line_start: snippet.line_start,
        line_end: snippet.line_end,
        chunk_hash: chunk.as_ref().map(|chunk| chunk.hash.clone()),
        span_hash: snippet.span_hash,
        overlap_lines: chunk.as_ref().map(|chunk| chunk.overlap_lines),
        language: snippet.language,
        summary,
        parent_symbol: chunk.and_then(|chunk| chunk.parent_symbol),
        source_ref: snippet.source_ref,
        trust: snippet.trust,
        generated_by_sub_query,
        neighbor_of_span_hash: snippet.neighbor_of,
        is_shortened: snippet.is_shortened,
        in_context: snippet.in_context,
    };
    let score = rounded(snippet.score / (1.0 + snippet.score));
    RagMatch { path: snippet.path, snippet: snippet.text, score, metadata }
}

/// Returns the description of a chunk, or the heading of a document.
fn summary(snippet: &Snippet) -> String {
    let text = match snippet.kind {
        MatchKind::Code => snippet.chunk.as_ref().map_or("", |chunk| chunk.summary.as_str()),
        MatchKind::Doc => &snippet.title,
    };
    text.chars().take(SUMMARY_CHARS).collect()
}
