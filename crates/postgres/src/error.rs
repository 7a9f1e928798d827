//! Errors of the connection to the server and of its schema.

use mc_domain::{Classified, ErrorKind};

/// A failed operation on the server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database can't be reached, or gave no connection in time.
    #[error(
        "the database can't be reached; see that it runs (`memory-copilot doctor`), then try again"
    )]
    Unavailable(#[source] sqlx::Error),
    /// The server of a connection URL accepts no connection.
    #[error("the database server {server} can't be reached ({cause})")]
    NotConnected {
        /// Host and port, or the directory of the socket.
        server: String,
        /// What the last attempt ended with.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server of a connection URL rejects the login or the database that the URL names.
    #[error("the database server {server} rejects the connection: {message}")]
    ConnectionRejected {
        /// Host and port, or the directory of the socket.
        server: String,
        /// Message of the server, which names the user or the database.
        message: String,
    },
    /// The connection URL can't be parsed. The message omits it, since it may hold a password.
    #[error("the database URL is not of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    BadUrl,
    /// The server is too old, lacks an extension, or is not configured as the service needs it.
    #[error("{0}")]
    UnsupportedServer(String),
    /// A schema migration failed.
    #[error("the database schema can't be migrated: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// Any other failed statement.
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
}

/// Returns whether the server rolled the transaction back because of another one: a deadlock or a
/// serialization failure.
pub fn is_rolled_back(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    error.code().is_some_and(|code| matches!(&*code, "40P01" | "40001"))
}

/// Returns whether a retry may succeed: the server is unavailable, starting or stopping, or it
/// rolled the transaction back.
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    use sqlx::Error as E;
    match error {
        E::PoolTimedOut | E::PoolClosed | E::Io(_) | E::Tls(_) | E::WorkerCrashed => true,
        // Class 57P: the server starts, stops or crashed.
        E::Database(database) => {
            is_rolled_back(error) || database.code().is_some_and(|code| code.starts_with("57P"))
        }
        _ => false,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) { Self::Unavailable(error) } else { Self::Statement(error) }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) | Self::NotConnected { .. } => ErrorKind::Unavailable,
            Self::ConnectionRejected { .. }
            | Self::BadUrl
            | Self::UnsupportedServer(_)
            | Self::Migration(_)
            | Self::Statement(_) => ErrorKind::Internal,
        }
    }
}
