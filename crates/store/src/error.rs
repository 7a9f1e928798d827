//! What can go wrong between the service and its database.

use mc_domain::{Classified, ErrorKind};

use crate::pool;

/// A failed call of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database can't be reached, or gave no connection in time.
    #[error(
        "the database can't be reached; see that it runs (`memory-copilot doctor`), then try again"
    )]
    Unavailable(#[source] sqlx::Error),
    /// A uniqueness rule was broken, by a name of the schema.
    #[error("{what} exists already")]
    Exists {
        /// What the violated constraint guards, in words.
        what: &'static str,
    },
    /// The name of a repository stands for another location.
    #[error("{namespace} is indexed from {location}, and one name stands for one location")]
    OtherLocation {
        /// `repo:owner/name`.
        namespace: String,
        /// Where it is indexed from.
        location: String,
    },
    /// A row that the statement refers to is gone.
    #[error("what this refers to was deleted meanwhile; read it again, then decide")]
    Gone,
    /// Nobody would administer a project any more.
    #[error("nobody else administers this project; give somebody else the role `admin` first")]
    LastAdministrator,
    /// The server or its schema is not usable.
    #[error(transparent)]
    Server(mc_postgres::Error),
    /// The stored data is not usable as the caller wants it.
    #[error("{0}")]
    Unsuitable(String),
    /// A stored value is not one that this version knows.
    #[error("the database holds a value this version does not know: {0}")]
    Unreadable(String),
    /// Anything else.
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
}

/// Constraint name -> what it guards.
const UNIQUE: &[(&str, &str)] = &[
    ("projects_key_key", "a project with this key"),
    ("users_login_key", "a user with this login"),
    ("teams_key_key", "a team with this key"),
    ("tasks_external_id_key", "a task with this id"),
    ("memory_records_live_content_key", "a record with this content"),
    ("repositories_name_key", "a repository with this name"),
    ("files_path_key", "a file with this path"),
    ("docs_doc_id_key", "a document with this id"),
    ("integrations_resource_key", "a connection to this"),
    ("embedding_models_name_key", "a model with this name"),
];

impl Error {
    /// Whether the transaction waited for one that waited for it. It was rolled back, and may be begun again.
    pub fn is_deadlock(&self) -> bool {
        let Self::Unavailable(sqlx::Error::Database(error)) = self else { return false };
        error.code().as_deref() == Some("40P01")
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        // Every failure of a statement comes by here, whoever ran it.
        pool::take_note(&error);
        match &error {
            E::Database(db) if db.is_foreign_key_violation() => Self::Gone,
            E::Database(db) if db.is_unique_violation() => {
                match UNIQUE.iter().find(|(name, _)| db.constraint() == Some(*name)) {
                    Some((_, what)) => Self::Exists { what },
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
            Self::Exists { .. }
            | Self::OtherLocation { .. }
            | Self::Gone
            | Self::LastAdministrator => ErrorKind::Conflict,
            Self::Server(error) => error.kind(),
            Self::Unsuitable(_) | Self::Unreadable(_) | Self::Statement(_) => ErrorKind::Internal,
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

/// Reads a stored word of a closed vocabulary.
pub(crate) fn word<T: std::str::FromStr<Err = mc_domain::UnknownValue>>(
    text: &str,
) -> Result<T, Error> {
    text.parse().map_err(|error: mc_domain::UnknownValue| Error::Unreadable(error.to_string()))
}
