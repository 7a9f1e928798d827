//! `UUIDv7` identifiers. Each entity has its own type, so that ids cannot be mixed up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

/// A text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "not an id: ids are UUIDs, such as 0199c0de-7a5e-7000-8000-3f1d2c4b5a69; commands such as \
     `records list` show them"
)]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])+ $name:ident,)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Generates an identifier that sorts after earlier ones.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .format(Some(utoipa::openapi::schema::SchemaFormat::KnownFormat(
                        utoipa::openapi::schema::KnownFormat::Uuid,
                    )))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.parse().map(Self).map_err(|_| InvalidId)
            }
        }
    )+};
}

ids! {
    /// A project: the unit of isolation; every other row belongs to one.
    ProjectId,
    /// A quarantine item: a text that waits for a decision.
    QuarantineItemId,
    /// A webhook: a URL with a secret by which a provider sends events to a project.
    WebhookId,
    /// An integration: a project's subscription to one resource of a connector.
    IntegrationId,
    /// A webhook delivery: one request received by a webhook.
    DeliveryId,
    /// A pull or merge request of a git host.
    PullRequestId,
    /// A session of a client.
    ClientSessionId,
    /// A commit of an indexed repository's history.
    CommitId,
    /// A hygiene run: one run of a hygiene task over a project.
    HygieneRunId,
    /// A cluster of duplicate records.
    DuplicateClusterId,
    /// An export: the records of a team as one document.
    ExportId,
    /// A request to a chat model.
    ChatRequestId,
    /// A task: the project's row of a tracker's issue.
    TaskId,
    /// A conversation between a developer and an assistant.
    DialogId,
    /// A memory record.
    RecordId,
    /// A citation: a location in the code that a record refers to.
    CitationId,
    /// A document: an ADR, a wiki page, a guide.
    DocId,
    /// A passage: the unit of search.
    PassageId,
    /// A bundle: the response to a recall, stored for feedback.
    BundleId,
    /// An indexed repository.
    RepositoryId,
    /// A file of an indexed repository.
    FileId,
    /// One run of the indexer over one repository.
    IngestRunId,
    /// A workspace: the tree of a repository that a user reads and changes.
    WorkspaceId,
    /// A navigation: current directory and phase of a user in a workspace.
    NavigationId,
    /// A command that runs in a workspace.
    CommandId,
    /// A patch: changes of a workspace's files that were proposed.
    PatchId,
    /// A patch run: work on a patch in the background of a node.
    PatchRunId,
    /// A node: a process of the service with a data directory of its own.
    NodeId,
    /// A person, or a program with an account of its own.
    UserId,
    /// A group of users with common roles on projects.
    TeamId,
    /// The origin of access tokens: a login with its refresh tokens, or a personal access token.
    SessionId,
    /// An access token: a personal one, or one issued for a session.
    TokenId,
}

impl UserId {
    /// The administrator who owns the token that the service creates for its own host.
    pub const LOCAL: Self = Self(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));
}
