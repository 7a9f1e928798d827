//! Errors of the pipeline. A module that fails is no error: it is left out with a warning.

use mc_domain::{Classified, ErrorKind};

use crate::scope::NotReady;

/// Error of a search.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The project has no repository with this owner and name.
    #[error(
        "the project has no repository {0}; list its repositories with GET /repos, or index this \
         one with POST /ingest/git"
    )]
    UnknownRepository(String),
    /// The project has no repository that was ever indexed. The reason is that of the first one.
    #[error("no repository can be searched: {0}")]
    NoReadyRepository(NotReady),
    /// A cross-encoder was requested.
    #[error(
        "the service has no cross-encoder; leave out post.cross-encoder, or ask the operator to \
         set `rag.cross_encoder`"
    )]
    NoCrossEncoder,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// The search failed, or the path filter is invalid.
    #[error(transparent)]
    Search(#[from] mc_search::Error),
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::UnknownRepository(_) => ErrorKind::NotFound,
            Self::NoReadyRepository(_) => ErrorKind::Conflict,
            Self::NoCrossEncoder => ErrorKind::Invalid,
            Self::Store(error) => error.kind(),
            Self::Search(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::UnknownRepository(_) | Self::NoReadyRepository(_) => Some("repoName".into()),
            Self::NoCrossEncoder => Some("enabledModules".into()),
            Self::Search(mc_search::Error::Path(_)) => Some("filters.pathGlob".into()),
            Self::Search(mc_search::Error::EmptyQuery) => Some("rawQuery".into()),
            Self::Search(error) => error.field(),
            Self::Store(error) => error.field(),
        }
    }
}
