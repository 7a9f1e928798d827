//! `UUIDv7` identifiers, one type an entity, so that a record's id can't be passed for a task's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new identifier; later ones sort after earlier ones.
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
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

id!(
    /// A project: the unit of isolation; every other row belongs to one.
    ProjectId
);
id!(
    /// Something in quarantine.
    QuarantineItemId
);
id!(
    /// Where another system may tell of what happens there.
    WebhookId
);
id!(
    /// What a project hears of another system by asking it.
    IntegrationId
);
id!(
    /// What a webhook delivered.
    DeliveryId
);
id!(
    /// A pull or merge request as the project knows it.
    PullRequestId
);
id!(
    /// A commit of an indexed repository's history.
    CommitId
);
id!(
    /// What came of keeping a project's memory in order, once.
    HygieneRunId
);
id!(
    /// Notes that say the same.
    DuplicateClusterId
);
id!(
    /// What a team knew, as a document.
    ExportId
);
id!(
    /// A tracker's issue as the project knows it.
    TaskId
);
id!(
    /// A conversation between a developer and an assistant.
    DialogId
);
id!(
    /// A memory record: one thing the team knows.
    RecordId
);
id!(
    /// A place in the code that a record refers to.
    CitationId
);
id!(
    /// A document: an ADR, a wiki page, a guide.
    DocId
);
id!(
    /// A piece of searchable text, whatever it was cut from.
    PassageId
);
id!(
    /// An answer to a recall, kept to learn what of it was used.
    BundleId
);
id!(
    /// An indexed repository.
    RepositoryId
);
id!(
    /// A file of an indexed repository.
    FileId
);
id!(
    /// One run of the indexer over one repository.
    IngestRunId
);
id!(
    /// A person, or a program that acts by itself.
    UserId
);
id!(
    /// A group of users that has roles on projects together.
    TeamId
);
id!(
    /// What access tokens stem from: a login with its refresh tokens, or a personal access token.
    SessionId
);
id!(
    /// One access token: a personal one, or one that was issued for a session.
    TokenId
);

impl UserId {
    /// The administrator who holds the token that the service makes for its own host.
    pub const LOCAL: Self = Self(Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001));
}
