//! Passages as they are read.

use chrono::{DateTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, DocId, FileId, PassageId, ProjectId, RecordId, RecordKind, RecordMeta,
    RecordState, RepositoryId, SourceKind, Trust, UserId,
};

use crate::records::Record;

/// The fields of a passage that the keyword index has.
#[derive(Debug, Clone)]
pub struct IndexedPassage {
    /// Identifier.
    pub id: PassageId,
    /// Project that it belongs to.
    pub project: ProjectId,
    /// The only user who may find it; `None` for all users of the project.
    pub private_to: Option<UserId>,
    /// Kind of source that the passage was made from.
    pub source: SourceKind,
    /// Kind of the memory record; empty for other sources.
    pub record_kind: String,
    /// Record title, heading path or enclosing symbol.
    pub title: String,
    /// File path or URL; for a commit its object name, in passages loaded for results.
    pub location: String,
    /// Qualified names defined in it.
    pub symbols: Vec<String>,
    /// Parts of the system that it is about.
    pub scope: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Repository of the code, the document or the commit.
    pub repository: Option<RepositoryId>,
    /// Language of the code or text; may be empty.
    pub language: String,
    /// Author; may be empty.
    pub author: String,
    /// The messages before it in a conversation; may be empty.
    pub context: String,
    /// Searchable text.
    pub text: String,
}

/// A passage with the data of its source.
#[derive(Debug, Clone)]
pub struct Passage {
    /// The fields that the keyword index has.
    pub indexed: IndexedPassage,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Set for memory.
    pub record: Option<RecordFacet>,
    /// Set for code.
    pub code: Option<CodeFacet>,
    /// Set for documents.
    pub doc: Option<DocFacet>,
    /// Set for dialogs.
    pub dialog: Option<DialogId>,
    /// Set for commits.
    pub commit: Option<CommitFacet>,
}

impl Passage {
    /// Returns a record without a passage as a passage; no search finds it. The record's id takes
    /// the place of the passage's.
    pub fn unsearched(record: Record) -> Self {
        let facet = RecordFacet {
            id: record.id,
            kind: record.kind,
            state: record.state,
            trust: record.access.trust,
            source: None,
            ttl: record.ttl,
            recall_count: record.recall_count,
            use_count: record.use_count,
            open_count: 0,
            cite_count: 0,
            pull_request_count: 0,
            skip_count: 0,
            version: record.version,
            last_used_at: None,
            created_at: record.created_at,
            updated_at: record.updated_at,
            meta: record.meta,
            cites: true,
            ci_status: record.ci_status,
            whole_chars: None,
        };
        Self {
            indexed: IndexedPassage {
                id: PassageId(record.id.0),
                project: record.project,
                private_to: record.access.private_to,
                source: SourceKind::Memory,
                record_kind: record.kind.as_str().to_owned(),
                title: record.title,
                location: String::new(),
                symbols: Vec::new(),
                scope: record.scope,
                tags: record.tags,
                repository: None,
                language: String::new(),
                author: String::new(),
                context: String::new(),
                text: record.content,
            },
            updated_at: record.updated_at,
            record: Some(facet),
            code: None,
            doc: None,
            dialog: None,
            commit: None,
        }
    }
}

/// The fields of a memory record that the ranking needs.
#[derive(Debug, Clone)]
pub struct RecordFacet {
    /// Identifier.
    pub id: RecordId,
    /// Kind of knowledge, such as a fact or a rule.
    pub kind: RecordKind,
    /// Active or stale; others are never loaded.
    pub state: RecordState,
    /// Trust level.
    pub trust: Trust,
    /// Source of the save that made the present version; `None` if it named none.
    pub source: Option<String>,
    /// Expiry.
    pub ttl: DateTime<Utc>,
    /// Number of recalls.
    pub recall_count: i32,
    /// Number of bundles after which feedback named the record as used.
    pub use_count: i32,
    /// Number of bundles after which the record was opened.
    pub open_count: i32,
    /// Number of bundles after which a save of the same caller cited the record.
    pub cite_count: i32,
    /// Number of bundles after which a pull request was merged that touched a cited file.
    pub pull_request_count: i32,
    /// Number of bundles with feedback that did not name the record.
    pub skip_count: i32,
    /// Version of the record, from 1.
    pub version: i32,
    /// Time of the last use.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// Additional data of the save (`steps`, `patch_ref`, `url`, `patch_sha`).
    pub meta: RecordMeta,
    /// Whether the record cites code.
    pub cites: bool,
    /// CI status of the patch that the record is about.
    pub ci_status: Option<CiVerdict>,
    /// Length in characters of the whole text, if it is stored as a document of the record.
    pub whole_chars: Option<usize>,
}

/// The fields of a chunk of code.
#[derive(Debug, Clone)]
pub struct CodeFacet {
    /// Id of the file.
    pub file_id: FileId,
    /// Trust level.
    pub trust: Trust,
    /// Id of the repository.
    pub repository_id: RepositoryId,
    /// Position in the file, from 0.
    pub chunk_index: i32,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Lines at the top that repeat the chunk before.
    pub overlap_lines: i32,
    /// sha256 of the normalized text, in hex.
    pub chunk_hash: String,
    /// sha256 of path, lines and text, in hex.
    pub span_hash: String,
    /// Short description.
    pub summary: String,
    /// Enclosing definition.
    pub parent_symbol: Option<String>,
    /// Commit at which its file was read; empty outside git.
    pub source_ref: String,
}

/// The fields of a document.
#[derive(Debug, Clone)]
pub struct DocFacet {
    /// Identifier.
    pub id: DocId,
    /// Trust level.
    pub trust: Trust,
    /// Title of the whole document.
    pub title: String,
    /// URL for people; may be empty.
    pub url: String,
    /// Source (`confluence`, `repo:owner/name`).
    pub source: String,
    /// First and last line of the passage, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
    /// Commit at which its file was read; empty outside git.
    pub source_ref: String,
}

/// The fields of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacet {
    /// Full object name, in hex.
    pub sha: String,
    /// Trust level.
    pub trust: Trust,
}
