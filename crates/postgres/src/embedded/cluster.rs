//! Paths and credentials of an embedded server.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;
use url::Url;

use super::user::ServerUser;
use super::{EmbeddedError, Installation, Result};

/// Name of the superuser and of the database.
pub(super) const NAME: &str = "memory_copilot";
/// Part of the socket's file name; the server listens on no network port.
const PORT: u16 = 5432;
/// Maximum in bytes. The kernel accepts socket paths of 107 bytes, of which
/// `/socket/.s.PGSQL.5432.lock` takes 26.
pub(super) const DATA_DIR_MAX_BYTES: usize = 107 - 26;

/// An initialized data directory and the installation that serves it.
#[derive(Clone)]
pub(super) struct Cluster {
    pub installation: Installation,
    pub user: Option<ServerUser>,
    pub paths: Paths,
    pub password: String,
}

/// Paths below the data directory.
#[derive(Debug, Clone)]
pub(super) struct Paths(pub PathBuf);

impl Paths {
    /// Returns PostgreSQL's own directory (`PGDATA`).
    pub fn cluster(&self) -> PathBuf {
        self.0.join("cluster")
    }

    pub fn password(&self) -> PathBuf {
        self.0.join("password")
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// Returns the directory of the server's log, which has one file for each weekday.
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Returns the socket's directory as the server's setting has it: a list of quoted members.
    pub fn socket_setting(&self) -> String {
        format!("\"{}\"", self.socket().display().to_string().replace('"', "\"\""))
    }

    /// Returns the URL of the service's database. Fails if the path of the socket is not UTF-8.
    pub fn url(&self, password: &str) -> Result<String> {
        let socket = self.socket();
        let socket = socket.to_str().ok_or_else(|| unusable(&self.0))?;
        let mut url = Url::parse(&format!("postgres://{NAME}:{password}@localhost/{NAME}"))
            .map_err(|_| unusable(&self.0))?;
        url.query_pairs_mut().append_pair("host", socket);
        Ok(url.into())
    }

    /// Returns the file for the server's output before it opens its log; each start truncates it.
    pub fn start_log(&self) -> PathBuf {
        self.0.join("log/start.log")
    }
}

impl Cluster {
    /// Returns the URL of the service's database; see [`Paths::url`].
    pub fn url(&self) -> Result<String> {
        self.paths.url(&self.password)
    }

    /// Returns the options to connect to one of the cluster's databases.
    pub fn connect_to(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(self.paths.socket())
            .port(PORT)
            .username(NAME)
            .password(&self.password)
            .database(database)
    }
}

/// Rejects a data directory whose path can't hold a socket.
pub(super) fn check_path(data_dir: &Path) -> Result<()> {
    let fits = data_dir.to_str().is_some_and(|path| path.len() <= DATA_DIR_MAX_BYTES);
    if fits { Ok(()) } else { Err(unusable(data_dir)) }
}

fn unusable(data_dir: &Path) -> EmbeddedError {
    EmbeddedError::UnusablePath { path: data_dir.to_owned(), max: DATA_DIR_MAX_BYTES }
}
