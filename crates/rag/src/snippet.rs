//! A passage on its way through the modules.

use std::collections::BTreeSet;
use std::sync::Arc;

use mc_contract::operations::rag::MatchKind;
use mc_domain::{FileId, PassageId, Trust};
use mc_search::{Hit, Retriever};
use mc_store::passages::Passage;
use mc_store::searchable::SearchableRepository;
use sha2::{Digest, Sha256};

/// A passage of code or of a document of a repository.
#[derive(Debug, Clone)]
pub(crate) struct Snippet {
    pub repository: Arc<SearchableRepository>,
    pub passage: PassageId,
    pub kind: MatchKind,
    pub path: String,
    /// Heading or enclosing symbol.
    pub title: String,
    /// Names that it defines.
    pub symbols: Vec<String>,
    pub language: String,
    pub text: String,
    pub line_start: i32,
    pub line_end: i32,
    pub chunk: Option<Chunk>,
    /// sha256 of path, lines and text, in hex.
    pub span_hash: String,
    pub source_ref: String,
    pub trust: Trust,
    /// Score before it is scaled to 0 to 1; comparable within one search.
    pub score: f32,
    pub evidence: Evidence,
    /// Positions of the sub-queries that found it.
    pub sub_queries: BTreeSet<usize>,
    /// `span_hash` of the match that it was added to.
    pub neighbor_of: Option<String>,
    /// Whether lines were left out.
    pub is_shortened: bool,
    /// Tokens in the context; 0 before they are counted.
    pub tokens: usize,
    /// Whether its text is in the context; without, it has none.
    pub in_context: bool,
}

/// The fields of a chunk of code.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub file: FileId,
    pub index: i32,
    pub hash: String,
    pub overlap_lines: i32,
    pub summary: String,
    pub parent_symbol: Option<String>,
}

/// Why a passage was found, comparable across searches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Evidence {
    /// BM25 score.
    pub keyword: Option<f32>,
    /// Cosine similarity to the query.
    pub similarity: Option<f32>,
    /// Whether it has a name of the query, or similar changes touched its file.
    pub is_named: bool,
}

impl Snippet {
    /// Whether a passage is code of the repository, or one of its documents.
    pub fn is_of(passage: &Passage, repository: &SearchableRepository) -> bool {
        match (&passage.code, &passage.doc) {
            (Some(code), _) => code.repository_id == repository.id,
            (None, Some(doc)) => doc.source == repository.namespace,
            (None, None) => false,
        }
    }

    /// Returns a hit of a search; `None` if it is not of the repository.
    pub fn of_hit(hit: Hit, repository: &Arc<SearchableRepository>) -> Option<Self> {
        let is_named = hit
            .explain
            .iter()
            .flat_map(|explain| &explain.retrievers)
            .any(|found| matches!(found.retriever, Retriever::Exact | Retriever::History));
        let evidence = Evidence { keyword: hit.keyword, similarity: hit.similarity, is_named };
        // The search scales a score s to s / (1 + s).
        let score = hit.score / (1.0 - hit.score).max(f32::EPSILON);
        Some(Self { score, evidence, ..Self::of_passage(hit.passage, repository)? })
    }

    /// Returns a passage without scores; `None` if it is not of the repository.
    pub fn of_passage(passage: Passage, repository: &Arc<SearchableRepository>) -> Option<Self> {
        let Passage { indexed, code, doc, .. } = passage;
        let (kind, trust, lines, chunk, span_hash, source_ref) = match (code, doc) {
            (Some(code), _) if code.repository_id == repository.id => {
                let chunk = Chunk {
                    file: code.file_id,
                    index: code.chunk_index,
                    hash: code.chunk_hash,
                    overlap_lines: code.overlap_lines,
                    summary: code.summary,
                    parent_symbol: code.parent_symbol,
                };
                let lines = (code.line_start, code.line_end);
                (MatchKind::Code, code.trust, lines, Some(chunk), code.span_hash, code.source_ref)
            }
            (None, Some(doc)) if doc.source == repository.namespace => {
                let lines = doc.lines.unwrap_or((1, 1));
                let hash = span_hash(&indexed.location, lines, &indexed.text);
                (MatchKind::Doc, doc.trust, lines, None, hash, doc.source_ref)
            }
            _ => return None,
        };
        Some(Self {
            repository: Arc::clone(repository),
            passage: indexed.id,
            kind,
            path: indexed.location,
            title: indexed.title,
            symbols: indexed.symbols,
            language: indexed.language,
            text: indexed.text,
            line_start: lines.0,
            line_end: lines.1,
            chunk,
            span_hash,
            source_ref,
            trust,
            score: 0.0,
            evidence: Evidence::default(),
            sub_queries: BTreeSet::new(),
            neighbor_of: None,
            is_shortened: false,
            tokens: 0,
            in_context: true,
        })
    }

    /// Returns its place alone.
    pub fn without_text(self) -> Self {
        Self { text: String::new(), tokens: 0, in_context: false, ..self }
    }

    /// Returns the enclosing definition.
    pub fn parent_symbol(&self) -> Option<&str> {
        self.chunk.as_ref()?.parent_symbol.as_deref()
    }

    /// Returns the number of lines.
    pub fn line_count(&self) -> i32 {
        self.line_end - self.line_start + 1
    }

    /// Whether its text may be sent to a model: one that may address the model is not.
    pub fn is_trusted(&self) -> bool {
        self.trust > Trust::Untrusted
    }

    /// Returns its place, such as `src/cart.rs:10-20`.
    pub fn place(&self) -> String {
        format!("{}:{}-{}", self.path, self.line_start, self.line_end)
    }
}

impl Evidence {
    /// Cosine from which a passage without a word of the query counts as found.
    const SIMILARITY_MIN: f32 = 0.25;

    /// Whether the passage has more in common with the query than chance.
    pub fn is_strong(self) -> bool {
        let is_similar = self.similarity.is_some_and(|value| value >= Self::SIMILARITY_MIN);
        self.keyword.is_some() || self.is_named || is_similar
    }
}

fn span_hash(path: &str, lines: (i32, i32), text: &str) -> String {
    hex::encode(Sha256::digest(format!("{path}\n{}-{}\n{text}", lines.0, lines.1)))
}

#[cfg(test)]
pub(crate) mod fixtures;
