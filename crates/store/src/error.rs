//! Errors of the store.

use mc_domain::{Classified, ErrorKind};

use crate::pool;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database can't be reached, or gave no connection in time.
    #[error(
        "the database can't be reached; check that it runs (`memory-copilot doctor`) and try again"
    )]
    Unavailable(#[source] sqlx::Error),
    /// A unique constraint was violated.
    #[error("{what} exists already")]
    AlreadyExists {
        /// The object that the constraint protects.
        what: &'static str,
    },
    /// The name of a repository belongs to another location.
    #[error("{namespace} is indexed from {location}, and a name can have one location only")]
    LocationConflict {
        /// `repo:owner/name`.
        namespace: String,
        /// The location that it is indexed from.
        location: String,
    },
    /// A row that the statement refers to was deleted.
    #[error("the referenced item was deleted meanwhile; reload it and try again")]
    DeletedConcurrently,
    /// The project would lose its last admin.
    #[error(
        "this user is the last admin of the project; grant another user the role `admin` first"
    )]
    LastAdmin,
    /// The server or its schema is not usable.
    #[error(transparent)]
    Server(mc_postgres::Error),
    /// The stored data is not usable as the caller wants it.
    #[error("{0}")]
    Unsupported(String),
    /// A stored value is not one that this version knows.
    #[error("the database holds a value this version does not know: {0}")]
    UnknownStoredValue(String),
    /// Any other database error.
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
}

/// Unique constraints and the objects that they protect.
const UNIQUE: &[(&str, &str)] = &[
    ("projects_key_key", "a project with this key"),
    ("users_login_key", "a user with this login"),
    ("teams_key_key", "a team with this key"),
    ("tasks_external_id_key", "a task with this id"),
    ("memory_records_live_content_key", "a record with this content"),
    ("repositories_name_key", "a repository with this name"),
    ("files_path_key", "a file with this path"),
    ("docs_doc_id_key", "a document with this id"),
    ("integrations_resource_key", "an integration with this resource"),
    ("embedding_models_name_key", "a model with this name"),
];

impl Error {
    /// Returns whether the transaction was rolled back because of a deadlock; it may be retried.
    pub fn is_deadlock(&self) -> bool {
        let Self::Unavailable(sqlx::Error::Database(error)) = self else { return false };
        error.code().as_deref() == Some("40P01")
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        // All statement errors are converted here.
        pool::take_note(&error);
        match &error {
            E::Database(db) if db.is_foreign_key_violation() => Self::DeletedConcurrently,
            E::Database(db) if db.is_unique_violation() => {
                match UNIQUE.iter().find(|(name, _)| db.constraint() == Some(*name)) {
                    Some((_, what)) => Self::AlreadyExists { what },
                    None => Self::Statement(error),
                }
            }
            _ if mc_postgres::is_unavailable(&error) => Self::Unavailable(error),
            _ => Self::Statement(error),
        }
    }
}

impl From<mc_postgres::Error> for Error {
    fn from(error: mc_postgres::Error) -> Self {
        use mc_postgres::Error as E;
        match error {
            E::Unavailable(error) | E::Statement(error) => error.into(),
            error => Self::Server(error),
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::AlreadyExists { .. }
            | Self::LocationConflict { .. }
            | Self::DeletedConcurrently
            | Self::LastAdmin => ErrorKind::Conflict,
            Self::Server(error) => error.kind(),
            Self::Unsupported(_) | Self::UnknownStoredValue(_) | Self::Statement(_) => {
                ErrorKind::Internal
            }
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::LocationConflict { .. } => Some("location".into()),
            Self::LastAdmin => Some("login".into()),
            _ => None,
        }
    }
}

/// Reads the stored additional data of a record.
pub(crate) fn record_meta(value: serde_json::Value) -> Result<mc_domain::RecordMeta, Error> {
    serde_json::from_value(value).map_err(|error| Error::UnknownStoredValue(error.to_string()))
}

/// Parses a stored value of an enumeration.
pub(crate) fn word<T: std::str::FromStr<Err = mc_domain::UnknownValue>>(
    text: &str,
) -> Result<T, Error> {
    text.parse()
        .map_err(|error: mc_domain::UnknownValue| Error::UnknownStoredValue(error.to_string()))
}
