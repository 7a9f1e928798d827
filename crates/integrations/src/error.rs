//! Errors of the use-cases.

use mc_connectors::SignatureError;
use mc_contract::ValidationError;
use mc_domain::{Classified, ErrorKind, IngestRunId, ProjectKey, Role, Scope};

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value breaks a rule of the project, the connector or the provider.
    #[error(transparent)]
    Invalid(#[from] ValidationError),
    /// The location is a directory or a URL other than https, and the principal does not administer
    /// the service, or the credential lacks the scope `ingest:local`.
    #[error(
        "directories of the service's machine, `file:` and ssh URLs require a service \
         administrator and a token with the scope `{}`",
        Scope::IngestLocal
    )]
    PrivateLocation,
    /// No index run has this id, or the principal may not see it.
    #[error("there is no ingest run {0}")]
    UnknownRun(IngestRunId),
    /// The principal's role may not change the patterns of an indexed repository.
    #[error("changing the patterns of an indexed repository requires the role {0}")]
    PatternsOfMaintainers(Role),
    /// An index run that has ended can't be cancelled.
    #[error("the index run {0} has ended already")]
    RunEnded(IngestRunId),
    /// The project has no repository of this name, or no index run of it.
    #[error("the project has no repository {0}")]
    UnknownRepository(String),
    /// An integration would sync a repository that is not indexed.
    #[error("the project has indexed no repository {0}")]
    NotIndexed(String),
    /// No connector that the project may use has this name.
    #[error("there is no connector \"{0}\" that \"{1}\" may use")]
    UnknownConnector(String, ProjectKey),
    /// The project has no integration with this id.
    #[error("the project has no such integration")]
    UnknownIntegration(ProjectKey),
    /// A paused integration is not synced.
    #[error("the integration is paused")]
    IntegrationPaused,
    /// The project has no webhook with this id.
    #[error("the project has no such webhook")]
    UnknownWebhook(ProjectKey),
    /// The project has no webhook delivery with this id.
    #[error("there is no delivery with this id, or it is older than fourteen days")]
    UnknownDelivery(ProjectKey),
    /// No webhook accepts the delivery. The error is the same for a webhook that does not exist.
    #[error("no webhook with this id accepts the delivery: its signature is missing or wrong")]
    InvalidSignature,
    /// The delivery was signed too long ago or in the future: the clock of a side is wrong.
    #[error(transparent)]
    StaleSignature(SignatureError),
    /// The secret of a webhook can't be decrypted.
    #[error("the service can't verify signatures of this webhook now")]
    UnreadableSecret(#[source] mc_crypto::Error),
    /// The project has no task with this id.
    #[error("the project has no task \"{0}\"")]
    UnknownTask(String),
    /// The principal's role may not link records of the team.
    #[error("linking records of the team requires the role {0}")]
    TeamRecords(Role),
    /// The project has no pull request with this id.
    #[error("the project has no such pull or merge request")]
    UnknownPullRequest(ProjectKey),
    /// The policy does not allow task comments.
    #[error("the project's policy does not allow task comments")]
    CommentsNotAllowed,
    /// No active integration imported the task.
    #[error("no active integration syncs this task, so no comment can be posted")]
    TaskNotSynced,
    /// The operator removed the connector that imported the task.
    #[error("the tracker of the task is no longer configured")]
    TrackerNotConfigured,
    /// The comment is not the one that was approved.
    #[error("the comment has changed since you reviewed it")]
    CommentChanged,
    /// The comment would be empty.
    #[error("no record or dialog is linked to the task")]
    NothingLinked,
    /// The location of a repository, or its ref, is invalid.
    #[error(transparent)]
    Source(#[from] mc_git::Error),
    /// Linking or storing failed.
    #[error(transparent)]
    Memory(#[from] mc_memory::Error),
    /// The database failed, or a repository's name belongs to another location.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid(error) => error.kind(),
            Self::PrivateLocation
            | Self::InvalidSignature
            | Self::TeamRecords(_)
            | Self::PatternsOfMaintainers(_)
            | Self::CommentsNotAllowed => ErrorKind::Forbidden,
            Self::UnknownRun(_)
            | Self::UnknownRepository(_)
            | Self::NotIndexed(_)
            | Self::UnknownConnector(..)
            | Self::UnknownIntegration(_)
            | Self::UnknownWebhook(_)
            | Self::UnknownDelivery(_)
            | Self::UnknownTask(_)
            | Self::UnknownPullRequest(_) => ErrorKind::NotFound,
            Self::RunEnded(_)
            | Self::IntegrationPaused
            | Self::TaskNotSynced
            | Self::TrackerNotConfigured
            | Self::CommentChanged
            | Self::NothingLinked => ErrorKind::Conflict,
            Self::StaleSignature(_) | Self::UnreadableSecret(_) => ErrorKind::Unavailable,
            Self::Source(error) => error.kind(),
            Self::Memory(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::Invalid(error) => return error.field(),
            Self::Source(error) => return error.field().or_else(|| Some("location".to_owned())),
            Self::Memory(error) => return error.field(),
            Self::Store(error) => return error.field(),
            Self::PrivateLocation => "location",
            Self::UnknownRun(_)
            | Self::RunEnded(_)
            | Self::UnknownIntegration(_)
            | Self::IntegrationPaused
            | Self::UnknownWebhook(_)
            | Self::UnknownDelivery(_)
            | Self::UnknownPullRequest(_) => "id",
            Self::UnknownRepository(_) => "name",
            Self::NotIndexed(_) => "resource",
            Self::UnknownConnector(..) => "connector",
            Self::UnknownTask(_)
            | Self::TaskNotSynced
            | Self::TrackerNotConfigured
            | Self::NothingLinked => "external_id",
            Self::TeamRecords(_) => "record_ids",
            Self::PatternsOfMaintainers(_) => "include",
            Self::CommentChanged => "digest",
            Self::InvalidSignature
            | Self::StaleSignature(_)
            | Self::UnreadableSecret(_)
            | Self::CommentsNotAllowed => return None,
        };
        Some(field.to_owned())
    }

    fn hint(&self) -> Option<String> {
        let lists =
            |key: &ProjectKey, resource| Some(format!("GET /projects/{key}/{resource} lists them"));
        let hint = match self {
            Self::UnknownIntegration(key) => return lists(key, "integrations"),
            Self::UnknownWebhook(key) => return lists(key, "webhooks"),
            Self::UnknownPullRequest(key) => return lists(key, "pull-requests"),
            Self::UnknownDelivery(key) => {
                return Some(format!(
                    "GET /projects/{key}/webhook-deliveries lists the last fourteen days"
                ));
            }
            Self::UnknownConnector(_, project) => {
                return Some(format!(
                    "GET /connectors?project_key={project} lists those that it may use; the \
                     operator configures others in `connectors`"
                ));
            }
            Self::Store(mc_store::Error::LocationConflict { .. }) => {
                "If this is another repository, give it its own name (`name` or `owner`; --name \
                 on the command line). If the same repository moved here, set `relocate` to true \
                 (--relocate): files that are not here are then deleted from the index."
            }
            Self::PrivateLocation | Self::Source(mc_git::Error::PrivateAddress(_)) => {
                "give the public https URL of the repository; otherwise a service administrator \
                 creates a token with that scope (memory-copilot token create NAME --scope ingest \
                 --scope ingest:local)"
            }
            Self::UnknownRepository(_) => "index it with POST /ingest/git",
            Self::NotIndexed(_) => "index it with POST /ingest/git first",
            Self::IntegrationPaused => "resume it first: PATCH it with {\"is_paused\": false}",
            Self::InvalidSignature => {
                "give the sender the URL and the secret that were shown when the webhook was \
                 created; `memory-copilot webhooks rotate-secret` creates another secret"
            }
            Self::StaleSignature(_) => {
                "synchronize the clocks of the sender and the service with a time server"
            }
            Self::UnknownTask(_) => {
                "send it with POST /tasks/sync, or link something to it with POST /tasks/link"
            }
            Self::CommentsNotAllowed => {
                "a maintainer of the project may set {\"trackers\": {\"post_comments\": true}} in \
                 its policy: PUT /projects/<key>/policy"
            }
            Self::TaskNotSynced => {
                "a maintainer may create an integration with the tracker (POST \
                 /projects/<key>/integrations) or resume a paused one; its next sync imports the \
                 task"
            }
            Self::TrackerNotConfigured => {
                "ask the operator to add it to `connectors` of the configuration"
            }
            Self::CommentChanged => "GET the same path and approve the new digest",
            Self::NothingLinked => {
                "link dialogs or records of the team to it with POST /tasks/link"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
