//! What keeps a backup from being made or restored, each with the way out.

use std::io;
use std::path::{Path, PathBuf};

use mc_domain::{Classified, ErrorKind};

/// A backup that can't be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database can't be read or written.
    #[error(transparent)]
    Database(#[from] crate::Error),
    /// A file can't be read or written.
    #[error("can't {doing} {}: {source}", .path.display())]
    Io {
        /// The verb: "read", "write", ...
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// No programs of `PostgreSQL` that are new enough.
    #[error(
        "found no pg_dump and pg_restore of PostgreSQL {major} or newer, which the server needs; install \
         them (Debian: postgresql-client-{major}), or set database.install_dir to a folder that has them \
         in bin{found}"
    )]
    NoPrograms {
        /// The server's major version.
        major: u32,
        /// Those that are too old, for people.
        found: String,
    },
    /// A program failed.
    #[error("{program} failed: {detail}")]
    Program {
        /// Its name.
        program: &'static str,
        /// The end of what it printed.
        detail: String,
    },
    /// The role that connects does not see every row, so neither would the backup have it.
    #[error(
        "the role {role} of database.url does not see every row of {tables}, and a backup must have them all; \
         connect as {owner}, who owns the tables, or let a superuser run: alter role {role} bypassrls"
    )]
    Hidden {
        /// Who connects.
        role: String,
        /// Some of the tables.
        tables: String,
        /// Who owns the first of them.
        owner: String,
    },
    /// The database is not signed with the key that would be named in the backup.
    #[error(
        "the configured encryption key is not the one that this database's service signs and seals with; copy that \
         one here, to encryption.key_file"
    )]
    OtherKey,
    /// The file is no backup, or not a whole one.
    #[error("{} is no whole backup: {reason}; take another one", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The backup was made by a newer program.
    #[error(
        "the backup was made by memory-copilot {program}, which is newer than this one ({what}); restore it \
         with that version or a later one"
    )]
    Newer {
        /// Who made it.
        program: String,
        /// What this program does not know.
        what: String,
    },
    /// The schema of the backup is none of this program's.
    #[error(
        "the backup's schema was made by another build (its migration {0} differs); restore it with \
         memory-copilot {1}"
    )]
    OtherBuild(i64, String),
    /// The target is in use.
    #[error(
        "the database holds something already ({0}); restore into an empty one (create database ...), and set \
         database.url to it"
    )]
    Occupied(String),
    /// The target's server is older than the one that the backup is of.
    #[error(
        "the backup is of PostgreSQL {of}, and the server is {server}; restore it into a server of that version \
         or a newer one"
    )]
    OlderServer {
        /// The server that the backup is of.
        of: String,
        /// The server of the target.
        server: String,
    },
    /// What was restored is not what was backed up.
    #[error("the restored table {table} differs from the backup: {detail}; nothing of it is kept")]
    Differs {
        /// Which table.
        table: String,
        /// In what.
        detail: String,
    },
    /// Somebody asked to stop.
    #[error("interrupted; nothing was left behind")]
    Interrupted,
}

impl BackupError {
    /// For `map_err`: names what was being done to which path.
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
