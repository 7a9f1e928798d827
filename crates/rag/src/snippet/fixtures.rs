//! Snippets for tests.

use mc_store::searchable::Readiness;

use super::*;

/// Returns a repository without a database.
pub(crate) fn repository(name: &str) -> Arc<SearchableRepository> {
    Arc::new(SearchableRepository {
        id: mc_domain::RepositoryId::generate(),
        owner: "acme".to_owned(),
        name: name.to_owned(),
        namespace: format!("repo:acme/{name}"),
        source_ref: "abc".to_owned(),
        readiness: Readiness::Ready,
        indexed_at: None,
    })
}

/// Returns a chunk of code at a line, with this text and score.
pub(crate) fn code(
    repository: &Arc<SearchableRepository>,
    path: &str,
    line_start: i32,
    text: &str,
    score: f32,
) -> Snippet {
    let lines = i32::try_from(text.split('\n').count()).expect("few lines");
    let line_end = line_start + lines - 1;
    Snippet {
        repository: Arc::clone(repository),
        passage: PassageId::generate(),
        kind: MatchKind::Code,
        path: path.to_owned(),
        title: String::new(),
        symbols: Vec::new(),
        language: "rust".to_owned(),
        text: text.to_owned(),
        line_start,
        line_end,
        chunk: Some(Chunk {
            file: FileId::generate(),
            index: 0,
            hash: "c0".to_owned(),
            overlap_lines: 0,
            summary: String::new(),
            parent_symbol: None,
        }),
        span_hash: span_hash(path, (line_start, line_end), text),
        source_ref: "abc".to_owned(),
        trust: Trust::Imported,
        score,
        evidence: Evidence { keyword: Some(1.0), ..Evidence::default() },
        sub_queries: BTreeSet::from([0]),
        neighbor_of: None,
        is_shortened: false,
        tokens: 0,
        in_context: true,
    }
}
