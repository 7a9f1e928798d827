//! Errors of searches and of the keyword index.

use mc_domain::{Classified, ErrorKind};

/// Error of a search or of the keyword index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query has no text, names or ids.
    #[error("the query is empty; give a text, a symbol or a path")]
    EmptyQuery,
    /// The path filter is not a valid glob.
    #[error(transparent)]
    Path(#[from] crate::glob::InvalidGlob),
    /// Another process uses the index directory.
    #[error(
        "the keyword index in {} is in use by another process; stop that process, or configure \
        another directory",
        .0.display()
    )]
    IndexInUse(std::path::PathBuf),
    /// The index directory cannot be read or written.
    #[error("the keyword index directory cannot be written: {0}")]
    IndexDirectory(#[from] std::io::Error),
    /// The index is damaged or its writer failed; it is being rebuilt.
    #[error("the keyword index failed; it is being rebuilt, try again")]
    Index(#[from] tantivy::TantivyError),
    /// The follower has stopped, because the service is shutting down.
    #[error("the keyword index is closed, because the service is shutting down")]
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
            Self::IndexDirectory(_) | Self::Thread(_) => ErrorKind::Internal,
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
