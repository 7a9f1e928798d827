//! Passages as they are read.

use chrono::{DateTime, Utc};
use mc_domain::{
    CiVerdict, DialogId, DocId, FileId, PassageId, ProjectId, RecordId, RecordKind, RecordState,
    RepositoryId, SourceKind, Trust, UserId,
};

use crate::records::Record;

/// What the keyword index keeps of a passage.
#[derive(Debug, Clone)]
pub struct IndexedPassage {
    /// Identifier.
    pub id: PassageId,
    /// Project.
    pub project: ProjectId,
    /// Who alone may find it; `None` for everybody in the project.
    pub private_to: Option<UserId>,
    /// What it was cut from.
    pub source: SourceKind,
    /// The record's kind; empty for anything but memory.
    pub record_kind: String,
    /// Record title, heading path or enclosing symbol.
    pub title: String,
    /// File path or URL; of a commit its name, where it is loaded for showing.
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
    /// What stood before it in a conversation; may be empty.
    pub context: String,
    /// The text.
    pub text: String,
}

/// A passage with what its source adds, as results show it.
#[derive(Debug, Clone)]
pub struct Passage {
    /// What the keyword index keeps of it.
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
    /// Set for commits of a history.
    pub commit: Option<CommitFacet>,
}

impl Passage {
    /// A record that has no passage, since no search is to find it, in the shape of one. Its number is that of the record:
    /// no passage has it.
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

/// A memory record as ranking needs it.
#[derive(Debug, Clone)]
pub struct RecordFacet {
    /// Identifier.
    pub id: RecordId,
    /// Kind.
    pub kind: RecordKind,
    /// Active or stale; others are never loaded.
    pub state: RecordState,
    /// Who vouches for it.
    pub trust: Trust,
    /// What it was taken from, by the save that made it what it is; `None` for what people just said.
    pub source: Option<String>,
    /// When it expires.
    pub ttl: DateTime<Utc>,
    /// How often it was recalled.
    pub recall_count: i32,
    /// How often feedback said it was used.
    pub use_count: i32,
    /// How often it was opened after a recall.
    pub open_count: i32,
    /// How often a save that followed a recall cited it.
    pub cite_count: i32,
    /// How often a change that was merged after a recall touched what it cites.
    pub pull_request_count: i32,
    /// Recalls of which it is known what was used, and this was not.
    pub skip_count: i32,
    /// How often it was changed, from 1.
    pub version: i32,
    /// When it was last known to be of use.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Creation.
    pub created_at: DateTime<Utc>,
    /// Last change.
    pub updated_at: DateTime<Utc>,
    /// What was saved beside the content (`steps`, `patch_ref`, `url`, `patch_sha`).
    pub meta: serde_json::Value,
    /// Whether it cites code.
    pub cites: bool,
    /// What CI says of the patch that it is about.
    pub ci_status: Option<CiVerdict>,
    /// How many characters the text has of which it is the statement; it stands in a document behind the record.
    pub whole_chars: Option<usize>,
}

/// A chunk of code as results show it.
#[derive(Debug, Clone)]
pub struct CodeFacet {
    /// File.
    pub file_id: FileId,
    /// Who vouches for it.
    pub trust: Trust,
    /// Repository.
    pub repository_id: RepositoryId,
    /// Position in the file, from 0.
    pub chunk_index: i32,
    /// First line, from 1.
    pub line_start: i32,
    /// Last line, inclusive.
    pub line_end: i32,
    /// Lines at the top that repeat the chunk before.
    pub overlap_lines: i32,
    /// sha256 of the normalised text, in hex.
    pub chunk_hash: String,
    /// sha256 of path, lines and text, in hex.
    pub span_hash: String,
    /// Short description.
    pub summary: String,
    /// Enclosing definition.
    pub parent_symbol: Option<String>,
    /// Commit it was read at.
    pub source_ref: String,
}

/// A document as results show it.
#[derive(Debug, Clone)]
pub struct DocFacet {
    /// Identifier.
    pub id: DocId,
    /// Who vouches for it.
    pub trust: Trust,
    /// Title of the whole document.
    pub title: String,
    /// Where people read it; may be empty.
    pub url: String,
    /// Where it came from.
    pub source: String,
    /// First and last line of the passage, from 1, inclusive.
    pub lines: Option<(i32, i32)>,
}

/// A commit as results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacet {
    /// Full object name, in hex.
    pub sha: String,
    /// Who vouches for it.
    pub trust: Trust,
}
