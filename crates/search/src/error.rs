//! What can go wrong when searching.

use mc_domain::{Classified, ErrorKind};

/// A failed search, or a keyword index that can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to search for.
    #[error("the query is empty; say what to look for, or name a symbol or a path")]
    EmptyQuery,
    /// The path filter is no glob.
    #[error(transparent)]
    Path(#[from] crate::glob::InvalidGlob),
    /// Another process keeps its index in the folder.
    #[error(
        "the keyword index in {} is in use by another process; stop that one, or give this one \
         another folder",
        .0.display()
    )]
    IndexInUse(std::path::PathBuf),
    /// The index's folder can't be written.
    #[error("the keyword index can't be kept in its folder: {0}")]
    IndexFolder(#[from] std::io::Error),
    /// The index is damaged or its writer died; it is being rebuilt.
    #[error("the keyword index failed; it is being rebuilt, try again")]
    Index(#[from] tantivy::TantivyError),
    /// The follower has ended, since the service is stopping.
    #[error("the keyword index is closed, since the service is stopping")]
    IndexClosed,
    /// A background thread panicked.
    #[error("a search thread failed")]
    Thread(#[from] tokio::task::JoinError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// The embedding provider failed.
    #[error(transparent)]
    Embedding(#[from] mc_embed::Error),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::EmptyQuery | Self::Path(_) => ErrorKind::Invalid,
            Self::IndexInUse(_) => ErrorKind::Conflict,
            Self::Index(_) | Self::IndexClosed => ErrorKind::Unavailable,
            Self::IndexFolder(_) | Self::Thread(_) => ErrorKind::Internal,
            Self::Store(error) => error.kind(),
            Self::Embedding(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::EmptyQuery => Some("query".into()),
            Self::Path(_) => Some("path".into()),
            _ => None,
        }
    }
}
