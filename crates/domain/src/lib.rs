#![doc = include_str!("../README.md")]

pub mod error;
pub mod ids;
pub mod kinds;
pub mod project;
pub mod text;

pub use error::{Classified, ErrorKind};
pub use ids::{
    BundleId, CitationId, DialogId, DocId, FileId, IngestId, PassageId, ProjectId, RecordId,
    RepositoryId, SessionId, TaskId, TokenId, UserId,
};
pub use kinds::{
    BundleSection, IngestStatus, RecordKind, RecordState, SourceKind, UnknownValue, Verdict,
};
pub use project::{InvalidProjectKey, ProjectKey};
pub use text::{ForbiddenCharacter, check_line, check_text};
