//! What can go wrong between a request and the memory.

use mc_domain::{
    BundleId, Classified, DialogId, DuplicateClusterId, ErrorKind, QuarantineItemId, RecordId,
};

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recall that asks for nothing.
    #[error(
        "nothing to recall by; give a query, a task_external_id, a repo_path, symbols or signals"
    )]
    NothingAsked,
    /// A time to live that is over.
    #[error(
        "ttl lies in the past; give a later date, or leave it out for what the project's policy has"
    )]
    TtlInThePast,
    /// A private note that its record can't hold.
    #[error(
        "the note has {length} characters with its steps, and a private one may have {max}; \
            shorten it, save it in parts, or \
         save it for the team, for whom a longer text is kept as a document"
    )]
    TooLongForOne {
        /// Characters that it has.
        length: usize,
        /// Characters that it may have.
        max: usize,
    },
    /// A text that a reviewer would have a record say, and that it can't hold.
    #[error(
        "the text has {length} characters once it is masked, and a record at most {max}; shorten it"
    )]
    TooLong {
        /// Characters that it has.
        length: usize,
        /// Characters that it may have.
        max: usize,
    },
    /// A record to be superseded that does not live in the project.
    #[error(
        "there is no live record {0} in this project; recall again and use an id from the bundle"
    )]
    UnknownRecord(RecordId),
    /// A dialog that the project does not have, or that is somebody else's to change.
    #[error(
        "there is no dialog {0} in this project, or it is somebody else's; save one first, or \
            leave \
         dialog_id out"
    )]
    UnknownDialog(DialogId),
    /// A bundle that was never handed out, or so long ago that it is no longer kept.
    #[error("there is no bundle {0}; use the bundle_id of an earlier recall")]
    UnknownBundle(BundleId),
    /// A handle of somebody to whom nothing was handed out in the project yet.
    #[error("nothing was recalled for you in this project yet; call recall first, or give an id")]
    NoBundle,
    /// A record that is not there, or not for whoever asks.
    #[error("there is no live record {0}; GET /records lists those of a project")]
    NoRecord(RecordId),
    /// A record that is no proposal, or not any more.
    #[error("record {0} is no proposal that waits; GET /proposals lists those that do")]
    NotProposed(RecordId),
    /// A review of a proposal that would change a record, without a word of which.
    #[error(
        "the proposal would change record {0}; send that record's `version` as `amends_version`"
    )]
    AmendmentUnseen(RecordId),
    /// A review of a proposal for a change, of one that would change nothing (any more).
    #[error(
        "the proposal changes no record that lives; look at it again, and leave `amends_version` \
            out"
    )]
    AmendsNothing,
    /// What was looked at is not what is there now.
    #[error(
        "record {id} has changed since it was looked at; look at it again, and send its version \
            as it is \
         then"
    )]
    Changed {
        /// Which one.
        id: RecordId,
        /// Where its version is told.
        field: &'static str,
    },
    /// A record that is seen by the team already.
    #[error("record {0} counts for the team already")]
    NotPrivate(RecordId),
    /// Notes that were found to say the same, and are decided about or not there any more.
    #[error(
        "there is no cluster {0} that waits; GET /projects/{{key}}/duplicates lists those that do"
    )]
    NoCluster(DuplicateClusterId),
    /// One of the notes that were found to say the same says something else by now.
    #[error(
        "a record of cluster {0} has changed since they were found to say the same; have them \
            review_status for anew: \
         POST /projects/{{key}}/hygiene-runs {{\"task\": \"duplicates\"}}"
    )]
    ClusterChanged(DuplicateClusterId),
    /// A record that is to stay, and is none of those that say the same.
    #[error("record {0} is not in the cluster; name one of its records, or leave `keep` out")]
    NotInCluster(RecordId),
    /// A version that a record never had.
    #[error("the record has no earlier version {0}; GET /records/{{id}} lists those it has")]
    UnknownVersion(i32),
    /// Nothing to roll back to.
    #[error("record {0} lives and says what it said first; name another `version`")]
    NothingToRollBack(RecordId),
    /// The policy forbids what is in a text.
    #[error("the project's policy forbids {0}; take it out of the text and send it again")]
    Forbidden(String),
    /// Something held that was decided about meanwhile.
    #[error("{0} is not held any more: it was decided, or its time is over")]
    NotHeld(QuarantineItemId),
    /// Something held that is older than what is there by now.
    #[error(
        "what is there now is newer than what {0} holds; destroy that (DELETE /quarantine/{{id}})"
    )]
    Overtaken(QuarantineItemId),
    /// What is held can't be sealed or opened.
    #[error("what is held can't be opened with the service's encryption keys; its log says more")]
    Sealed,
    /// An export can't be written or read.
    #[error("the export can't be written or read: {0}")]
    Export(String),
    /// A fault of the service itself, in what it wrote.
    #[error(
        "writing it failed by a fault of the service, whose log says more; nothing was written, \
            so try again"
    )]
    Panicked,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] mc_search::Error),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NothingAsked
            | Self::TtlInThePast
            | Self::TooLongForOne { .. }
            | Self::TooLong { .. }
            | Self::Forbidden(_) => ErrorKind::Invalid,
            Self::NotProposed(_)
            | Self::Changed { .. }
            | Self::AmendmentUnseen(_)
            | Self::AmendsNothing
            | Self::NotPrivate(_)
            | Self::NotHeld(_)
            | Self::Overtaken(_)
            | Self::ClusterChanged(_)
            | Self::UnknownVersion(_)
            | Self::NotInCluster(_)
            | Self::NothingToRollBack(_) => ErrorKind::Conflict,
            Self::Sealed | Self::Export(_) | Self::Panicked => ErrorKind::Internal,
            Self::NoRecord(_)
            | Self::NoCluster(_)
            | Self::UnknownRecord(_)
            | Self::UnknownDialog(_)
            | Self::UnknownBundle(_)
            | Self::NoBundle => ErrorKind::NotFound,
            Self::Store(error) => error.kind(),
            Self::Search(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::NothingAsked => Some("query".into()),
            Self::TtlInThePast => Some("ttl".into()),
            Self::UnknownVersion(_) => Some("version".into()),
            Self::Changed { field, .. } => Some((*field).into()),
            Self::AmendmentUnseen(_) | Self::AmendsNothing => Some("amends_version".into()),
            Self::NotInCluster(_) => Some("keep".into()),
            Self::NoRecord(_)
            | Self::NoCluster(_)
            | Self::ClusterChanged(_)
            | Self::NotProposed(_)
            | Self::NotPrivate(_)
            | Self::NotHeld(_)
            | Self::Overtaken(_)
            | Self::NothingToRollBack(_) => Some("id".into()),
            Self::Forbidden(_) | Self::TooLongForOne { .. } | Self::TooLong { .. } => {
                Some("content".into())
            }
            Self::Sealed | Self::Export(_) | Self::Panicked => None,
            Self::UnknownRecord(_) => Some("supersedes".into()),
            Self::UnknownDialog(_) => Some("dialog_id".into()),
            Self::UnknownBundle(_) | Self::NoBundle => Some("bundle_id".into()),
            Self::Store(error) => error.field(),
            Self::Search(error) => error.field(),
        }
    }
}
