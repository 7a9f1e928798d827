//! Errors of backup and restore. Each message names the way out.

use std::io;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// A result with an error of backup or restore.
pub type Result<T, E = BackupError> = std::result::Result<T, E>;

/// A failed backup or restore.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BackupError {
    /// An operation on the database failed.
    #[error(transparent)]
    Database(#[from] crate::Error),
    /// A file operation failed; `doing` is a verb: "read", "write", ...
    #[error("can't {doing} {}: {source}", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// No `pg_dump` and `pg_restore` are new enough; `found` lists those that are too old.
    #[error(
        "found no pg_dump and pg_restore of PostgreSQL {major} or newer, which the server needs; \
         install them (Debian: postgresql-client-{major}), or set database.install_dir to a \
         directory that has them in bin{found}"
    )]
    NoPrograms { major: u32, found: String },
    /// A program failed; `detail` is the end of its error output.
    #[error("{program} failed: {detail}")]
    Program { program: &'static str, detail: String },
    /// Row-level security hides rows from the role, so the backup would lack them.
    #[error(
        "the role {role} of database.url does not see every row of {tables}, and a backup needs \
         all rows; connect as {owner}, the owner of the tables, or let a superuser run: \
         alter role {role} bypassrls"
    )]
    Hidden { role: String, tables: String, owner: String },
    /// The audit is signed with another key than the configured one.
    #[error(
        "the configured encryption key is not the one of this database's service; copy that key to \
         encryption.key_file"
    )]
    OtherKey,
    /// The file is no backup, or an incomplete or changed one.
    #[error("{} is no complete backup: {reason}; use another file", .path.display())]
    Damaged { path: PathBuf, reason: String },
    /// A newer program created the backup.
    #[error(
        "memory-copilot {program}, which is newer than this one, created the backup ({detail}); \
         restore it with that version or a later one"
    )]
    Newer { program: String, detail: String },
    /// The backup's schema has another version of a migration.
    #[error(
        "another build created the backup's schema (its migration {0} differs); restore it with \
         memory-copilot {1}"
    )]
    OtherBuild(i64, String),
    /// The target database is not empty.
    #[error(
        "the database is not empty ({0}); restore into an empty one (create database ...), and set \
         database.url to it"
    )]
    Occupied(String),
    /// The target's server is older than the backup's.
    #[error(
        "the backup is of PostgreSQL {required}, and the server is {server}; restore it into a \
         server of version {required} or newer"
    )]
    OlderServer { required: String, server: String },
    /// A restored table differs from the backup.
    #[error(
        "the restored table {table} differs from the backup ({detail}); the database is empty again"
    )]
    Differs { table: String, detail: String },
    /// The user interrupted the command.
    #[error("interrupted; partial data was removed")]
    Interrupted,
}

impl BackupError {
    /// Returns a function for `map_err` that adds the verb and the path.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}

impl From<sqlx::Error> for BackupError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Classified for BackupError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Database(error) => error.kind(),
            Self::NoPrograms { .. } | Self::Interrupted => ErrorKind::Unavailable,
            Self::Hidden { .. } => ErrorKind::Forbidden,
            Self::OtherKey | Self::Occupied(_) | Self::OlderServer { .. } => ErrorKind::Conflict,
            Self::Damaged { .. } | Self::Newer { .. } | Self::OtherBuild(..) => ErrorKind::Invalid,
            Self::Io { .. } | Self::Program { .. } | Self::Differs { .. } => ErrorKind::Internal,
        }
    }
}
