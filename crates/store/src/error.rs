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
    Exists {
        /// The object that the constraint protects.
        what: &'static str,
    },
    /// The name of a repository belongs to another location.
    #[error("{namespace} is indexed from {location}, and a name can have one location only")]
    OtherLocation {
        /// `repo:owner/name`.
        namespace: String,
        /// The location that it is indexed from.
        location: String,
    },
    /// A row that the statement refers to was deleted.
    #[error("the referenced item was deleted meanwhile; reload it and try again")]
    Gone,
    /// The project would lose its last admin.
    #[error(
        "this user is the last admin of the project; grant another user the role `admin` first"
    )]
    LastAdministrator,
    /// The connection URL can't be parsed; it is not repeated, because it may contain a password.
    #[error("the database URL is not of the form postgres://user:password@host:port/database")]
    BadUrl,
    /// The server is too old or lacks an extension, or a value is unsupported.
    #[error("{0}")]
    Unsuitable(String),
    /// The schema can't be migrated.
    #[error("the database schema can't be migrated: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A stored value is unknown to this version.
    #[error("the database has a value that is unknown to this version: {0}")]
    Unreadable(String),
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
            E::PoolTimedOut | E::PoolClosed | E::Io(_) | E::Tls(_) | E::WorkerCrashed => {
                Self::Unavailable(error)
            }
            E::Database(db) if db.is_foreign_key_violation() => Self::Gone,
            E::Database(db) if db.is_unique_violation() => {
                match UNIQUE.iter().find(|(name, _)| db.constraint() == Some(*name)) {
                    Some((_, what)) => Self::Exists { what },
                    None => Self::Statement(error),
                }
            }
            // Deadlock or serialization failure: the transaction was rolled back and may be
            // retried.
            E::Database(db) if matches!(db.code().as_deref(), Some("40P01" | "40001")) => {
                Self::Unavailable(error)
            }
            // Class 57: the server is stopping or starting, or was killed.
            E::Database(db) if db.code().is_some_and(|code| code.starts_with("57P")) => {
                Self::Unavailable(error)
            }
            _ => Self::Statement(error),
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) => ErrorKind::Unavailable,
            Self::Exists { .. }
            | Self::OtherLocation { .. }
            | Self::Gone
            | Self::LastAdministrator => ErrorKind::Conflict,
            Self::BadUrl
            | Self::Unsuitable(_)
            | Self::Migration(_)
            | Self::Unreadable(_)
            | Self::Statement(_) => ErrorKind::Internal,
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::OtherLocation { .. } => Some("location".into()),
            Self::LastAdministrator => Some("login".into()),
            _ => None,
        }
    }
}

/// Parses a stored value of an enumeration.
pub(crate) fn word<T: std::str::FromStr<Err = mc_domain::UnknownValue>>(
    text: &str,
) -> Result<T, Error> {
    text.parse().map_err(|error: mc_domain::UnknownValue| Error::Unreadable(error.to_string()))
}
