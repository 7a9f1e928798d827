//! The places and credentials of one private server.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;
use url::Url;

use super::user::ServerUser;
use super::{EmbeddedError, Installation};

/// The superuser's and the database's name.
pub(super) const NAME: &str = "memory_copilot";
/// Only a part of the socket's file name: nothing listens on a network port.
const PORT: u16 = 5432;
/// The kernel takes 107 bytes for a socket's path; `/socket/.s.PGSQL.5432.lock` takes some.
pub(super) const LONGEST_DATA_DIR: usize = 107 - 26;

/// An initialised data directory and the programs that serve it.
#[derive(Clone)]
pub(super) struct Cluster {
    pub installation: Installation,
    pub user: Option<ServerUser>,
    pub places: Places,
    pub password: String,
}

/// Where things are below the data directory.
#[derive(Debug, Clone)]
pub(super) struct Places(pub PathBuf);

impl Places {
    /// PostgreSQL's own folder (`PGDATA`).
    pub fn cluster(&self) -> PathBuf {
        self.0.join("cluster")
    }

    /// The superuser's password, alone in a file.
    pub fn password(&self) -> PathBuf {
        self.0.join("password")
    }

    /// The folder of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// The folder of the server's log: a file a weekday, so a week at most.
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// The same as the server's setting takes it: a list, its members in quotes.
    pub fn socket_setting(&self) -> String {
        format!("\"{}\"", self.socket().display().to_string().replace('"', "\"\""))
    }

    /// The URL of the service's database.
    pub fn url(&self, password: &str) -> Result<String, EmbeddedError> {
        let socket = self.socket();
        let socket = socket.to_str().ok_or_else(|| unusable(&self.0))?;
        let mut url = Url::parse(&format!("postgres://{NAME}:{password}@localhost/{NAME}"))
            .map_err(|_| unusable(&self.0))?;
        url.query_pairs_mut().append_pair("host", socket);
        Ok(url.into())
    }

    /// What the server prints before its log is open; written anew at each start.
    pub fn start_log(&self) -> PathBuf {
        self.0.join("log/start.log")
    }
}

impl Cluster {
    /// The URL of the service's database.
    pub fn url(&self) -> Result<String, EmbeddedError> {
        self.places.url(&self.password)
    }

    /// How to connect to one of its databases.
    pub fn connect_to(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .socket(self.places.socket())
            .port(PORT)
            .username(NAME)
            .password(&self.password)
            .database(database)
    }
}

/// Refuses a data directory whose path can't name a socket.
pub(super) fn check_path(data_dir: &Path) -> Result<(), EmbeddedError> {
    let fits = data_dir.to_str().is_some_and(|path| path.len() <= LONGEST_DATA_DIR);
    if fits { Ok(()) } else { Err(unusable(data_dir)) }
}

fn unusable(data_dir: &Path) -> EmbeddedError {
    EmbeddedError::UnusablePath { path: data_dir.to_owned(), max: LONGEST_DATA_DIR }
}
