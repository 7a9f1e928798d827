#![doc = include_str!("../README.md")]

pub mod error;
pub mod ids;
pub mod kinds;
pub mod project;
pub mod role;
pub mod scope;
pub mod text;

pub use error::{Classified, ErrorKind};
pub use ids::{
    BundleId, CitationId, DialogId, DocId, FileId, IngestId, PassageId, ProjectId, RecordId,
    RepositoryId, SessionId, TaskId, TeamId, TokenId, UserId,
};
pub use kinds::{
    BundleSection, IngestStatus, RecordKind, RecordState, SourceKind, Trust, UnknownValue, Verdict,
};
pub use project::{InvalidProjectKey, ProjectKey};
pub use role::{Action, Role, is_allowed};
pub use scope::{Scope, Scopes};
pub use text::{ForbiddenCharacter, check_line, check_text};
