//! Passages for the tests of ranking.

use chrono::{DateTime, TimeDelta, Utc};
use mc_domain::{PassageId, ProjectId, RecordId, RecordKind, RecordState, SourceKind, Trust};
use mc_store::passages::{CodeFacet, IndexedPassage, Passage, RecordFacet};

use super::Candidate;

pub(super) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default()
}

/// Creates a candidate for a passage of a document.
pub(super) fn doc(text: &str) -> Candidate {
    let indexed = IndexedPassage {
        id: PassageId::generate(),
        project: ProjectId::generate(),
        private_to: None,
        source: SourceKind::Doc,
        record_kind: String::new(),
        title: String::new(),
        location: String::new(),
        symbols: Vec::new(),
        scope: Vec::new(),
        tags: Vec::new(),
        repository: None,
        language: String::new(),
        author: String::new(),
        context: String::new(),
        text: text.to_owned(),
    };
    let passage = Passage {
        indexed,
        updated_at: now(),
        record: None,
        code: None,
        doc: None,
        dialog: None,
        commit: None,
    };
    Candidate::new(passage, Vec::new(), 1.0)
}

/// Creates a candidate for a fact that was saved `age_days` ago.
pub(super) fn fact(text: &str, age_days: i64) -> Candidate {
    let mut candidate = doc(text);
    let saved = now() - TimeDelta::days(age_days);
    candidate.passage.indexed.source = SourceKind::Memory;
    candidate.passage.record = Some(RecordFacet {
        id: RecordId::generate(),
        kind: RecordKind::Fact,
        state: RecordState::Active,
        trust: Trust::Team,
        source: None,
        ttl: now() + TimeDelta::days(180),
        recall_count: 0,
        open_count: 0,
        cite_count: 0,
        pull_request_count: 0,
        skip_count: 0,
        use_count: 0,
        version: 1,
        last_used_at: None,
        created_at: saved,
        updated_at: saved,
        meta: mc_domain::RecordMeta::default(),
        cites: false,
        ci_status: None,
        whole_chars: None,
    });
    candidate
}

/// Creates a candidate for a chunk of the file.
pub(super) fn chunk(text: &str, file: mc_domain::FileId) -> Candidate {
    let mut candidate = doc(text);
    candidate.passage.indexed.source = SourceKind::Code;
    candidate.passage.code = Some(CodeFacet {
        trust: Trust::Imported,
        file_id: file,
        repository_id: mc_domain::RepositoryId::generate(),
        chunk_index: 0,
        line_start: 1,
        line_end: 1,
        overlap_lines: 0,
        chunk_hash: String::new(),
        span_hash: String::new(),
        summary: String::new(),
        parent_symbol: None,
        source_ref: String::new(),
    });
    candidate
}
