//! What can go wrong between a request and the memory.

use mc_domain::{BundleId, Classified, DialogId, ErrorKind, RecordId};

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recall that asks for nothing.
    #[error(
        "nothing to recall by; give a query, a task_external_id, a repo_path, symbols or signals"
    )]
    NothingAsked,
    /// A time to live that is over.
    #[error("ttl lies in the past; give a later date, or leave it out for 180 days")]
    TtlInThePast,
    /// A record to be superseded that does not live in the project.
    #[error(
        "there is no live record {0} in this project; recall again and use an id from the bundle"
    )]
    UnknownRecord(RecordId),
    /// A dialog that the project does not have.
    #[error("there is no dialog {0} in this project; save it first, or leave dialog_id out")]
    UnknownDialog(DialogId),
    /// A bundle that was never handed out, or so long ago that it is no longer kept.
    #[error("there is no bundle {0}; use the bundle_id of an earlier recall")]
    UnknownBundle(BundleId),
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
            Self::NothingAsked | Self::TtlInThePast => ErrorKind::Invalid,
            Self::UnknownRecord(_) | Self::UnknownDialog(_) | Self::UnknownBundle(_) => {
                ErrorKind::NotFound
            }
            Self::Store(error) => error.kind(),
            Self::Search(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::NothingAsked => Some("query".into()),
            Self::TtlInThePast => Some("ttl".into()),
            Self::UnknownRecord(_) => Some("supersedes".into()),
            Self::UnknownDialog(_) => Some("dialog_id".into()),
            Self::UnknownBundle(_) => Some("bundle_id".into()),
            Self::Store(error) => error.field(),
            Self::Search(error) => error.field(),
        }
    }
}
