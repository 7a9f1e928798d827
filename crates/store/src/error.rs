//! Errors of the store.

use mc_domain::{Classified, ErrorKind};
use serde::{Deserialize, Deserializer};

use crate::{disk, pool};

/// A result with an error of the store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The database can't be reached, or gave no connection in time.
    #[error(
        "the database can't be reached; check that it runs (`memory-copilot doctor`) and try again"
    )]
    Unavailable(#[source] sqlx::Error),
    /// The database can't store anything.
    #[error(
        "the disk of the database is full; free space on it (with the embedded database, on the \
         disk of data_dir), then try again"
    )]
    DiskFull(#[source] sqlx::Error),
    /// The database rolled the transaction back because of a concurrent one.
    #[error("the change was rolled back because of a concurrent change; try again")]
    RolledBack(#[source] sqlx::Error),
    /// A unique constraint, which protects this object, was violated.
    #[error("{what} exists already")]
    AlreadyExists { what: &'static str },
    /// The name of a repository (`repo:owner/name`) belongs to another location. The message leaves
    /// that location out: it may be a path of the server.
    #[error("{namespace} is indexed from another location, and a name can have one location only")]
    LocationConflict { namespace: String },
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
    ("provider_logins_login_key", "a user with this login at the provider"),
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
        let Self::RolledBack(sqlx::Error::Database(error)) = self else { return false };
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
            _ if disk::take_note(&error) => Self::DiskFull(error),
            _ if mc_postgres::is_rolled_back(&error) => Self::RolledBack(error),
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
            Self::Unavailable(_) | Self::RolledBack(_) | Self::DiskFull(_) => {
                ErrorKind::Unavailable
            }
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

/// Reads the stored JSON of a column, which the error names: a value, or a reference to one.
pub fn from_json<'de, T: Deserialize<'de>>(
    column: &str,
    stored: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T> {
    T::deserialize(stored).map_err(|error| Error::UnknownStoredValue(format!("{column}: {error}")))
}

/// Reads the stored additional data of a record.
pub(crate) fn record_meta(value: serde_json::Value) -> Result<mc_domain::RecordMeta> {
    serde_json::from_value(value).map_err(|error| Error::UnknownStoredValue(error.to_string()))
}

/// Parses a stored value of an enumeration.
pub(crate) fn word<T: std::str::FromStr<Err = mc_domain::UnknownValue>>(text: &str) -> Result<T> {
    text.parse()
        .map_err(|error: mc_domain::UnknownValue| Error::UnknownStoredValue(error.to_string()))
}

/// Most attempts of [`retry_on_deadlock`].
const MAX_ATTEMPTS: usize = 5;

/// Runs a whole transaction, or a single statement, again if a deadlock rolled it back.
pub(crate) async fn retry_on_deadlock<T, Attempt>(attempt: impl Fn() -> Attempt) -> Result<T>
where
    Attempt: Future<Output = Result<T>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_deadlock() => {}
            result => return result,
        }
    }
    attempt().await
}
