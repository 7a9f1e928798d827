#![doc = include_str!("../README.md")]

pub mod address;
pub mod error;
pub mod handle;
pub mod ids;
pub mod kinds;
pub mod policy;
pub mod project;
pub mod role;
pub mod scope;
pub mod text;

pub use address::{is_loopback, is_outside};
pub use error::{Classified, ErrorKind};
pub use handle::{Handle, HandleKind, InvalidHandle};
pub use ids::{
    BundleId, ChangeId, CitationId, ClusterId, CommitId, ConnectionId, DeliveryId, DialogId, DocId,
    ExportId, FileId, HoldId, HookId, HygieneReportId, IngestId, PassageId, ProjectId, RecordId,
    RepositoryId, SessionId, TaskId, TeamId, TokenId, UserId,
};
pub use kinds::{
    Ability, Act, BundleSection, ChangeState, CiVerdict, ClusterState, Conclusion, DeliveryState,
    HeldEnds, HoldState, HygieneTask, IngestStatus, JobState, RecordKind, RecordState, ReviewState,
    SourceKind, Trust, UnknownValue, Verdict, Visibility, WebhookSource,
};
pub use policy::{FindAction, HygieneAction, InvalidPolicy, NoiseAction, Policy};
pub use project::{InvalidProjectKey, ProjectKey};
pub use role::{Action, Role, is_allowed};
pub use scope::{Scope, Scopes};
pub use text::{ForbiddenCharacter, check_line, check_text};
