//! Connections to the server, and the check of its version.

use std::io::ErrorKind;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{CONNECT_TIMEOUT, Error};

/// Timeout of a single attempt that a person waits for.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Oldest supported major version of PostgreSQL.
pub const MIN_POSTGRES: i32 = 16;
/// Oldest supported pgvector: 0.8 introduced iterative index scans.
pub const MIN_PGVECTOR: (u32, u32) = (0, 8);

/// Oldest minor version of each major one whose planner does not leak samples of rows that
/// row-level security hides (CVE-2025-8713).
const MIN_MINOR: [(i32, i32); 2] = [(16, 10), (17, 6)];
/// Oldest pgvector whose vacuum does not damage indexes.
const RECOMMENDED_PGVECTOR: (u32, u32, u32) = (0, 8, 4);

/// Versions of the server and its extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Version of PostgreSQL, such as `18.1`.
    pub postgres: String,
    /// Version of the installed or else the available pgvector, such as `0.8.5`.
    pub pgvector: String,
}

impl Versions {
    /// Returns a recommendation for the server's operator.
    pub fn advice(&self) -> Option<&'static str> {
        let mut parts = self.pgvector.split('.').map(leading_number);
        let mut part = || parts.next().unwrap_or(0);
        ((part(), part(), part()) < RECOMMENDED_PGVECTOR)
            .then_some("before 0.8.4 a vacuum may damage vector indexes: upgrade the extension")
    }
}

/// Reads the server's versions.
pub async fn versions(connection: &mut PgConnection) -> Result<Versions, Error> {
    let row = sqlx::query!(
        r#"select current_setting('server_version') as "postgres!",
                  (select coalesce(installed_version, default_version)
                   from pg_available_extensions where name = 'vector') as pgvector"#
    )
    .fetch_one(connection)
    .await?;
    let pgvector = row.pgvector.ok_or_else(|| {
        Error::UnsupportedServer(
            "this PostgreSQL has no pgvector; install the extension \"vector\" 0.8 or newer, or \
             unset DATABASE_URL to use the embedded server"
                .into(),
        )
    })?;
    Ok(Versions { postgres: row.postgres, pgvector })
}

/// Returns the identity of the database. It differs for every database, and changes when a server
/// is restored to an earlier point in time, so that derived data of another state is recognized.
pub async fn identity(connection: &mut PgConnection) -> Result<String, Error> {
    Ok(sqlx::query_scalar!(
        r#"select concat_ws('-', s.system_identifier, c.timeline_id, d.oid) as "identity!"
           from pg_control_system() s, pg_control_checkpoint() c, pg_database d
           where d.datname = current_database()"#
    )
    .fetch_one(connection)
    .await?)
}

/// Checks the server at a URL as the service does at its start, but connects only once, and returns
/// its versions.
pub async fn inspect(url: &str) -> Result<Versions, Error> {
    let mut connection = attempt(&options(url)?, Instant::now() + INSPECT_TIMEOUT).await?;
    check(&mut connection).await?;
    let versions = versions(&mut connection).await?;
    connection.close().await?;
    Ok(versions)
}

/// Opens a connection; retries for [`CONNECT_TIMEOUT`], since the server may start with the
/// service.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, Error> {
    let options = options(url)?;
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    loop {
        match attempt(&options, deadline).await {
            Err(Error::NotConnected { .. }) if Instant::now() + RETRY_INTERVAL < deadline => {
                sleep(RETRY_INTERVAL).await;
            }
            result => return result,
        }
    }
}

fn options(url: &str) -> Result<PgConnectOptions, Error> {
    let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
    // Migrations and digests of all tables are slow by nature.
    Ok(options.disable_statement_logging())
}

/// Tries once to open a connection. The error names the server.
async fn attempt(options: &PgConnectOptions, deadline: Instant) -> Result<PgConnection, Error> {
    let attempt = timeout_at(deadline, PgConnection::connect_with(options)).await;
    let cause = match attempt {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(cause)) => cause,
        Err(_elapsed) => sqlx::Error::Io(ErrorKind::TimedOut.into()),
    };
    let server = server(options);
    Err(match cause {
        sqlx::Error::Database(error) if !is_starting(&*error) => {
            Error::ConnectionRejected { server, message: error.message().to_owned() }
        }
        sqlx::Error::Io(cause) => Error::NotConnected { server, cause: cause.into() },
        cause => Error::NotConnected { server, cause: cause.into() },
    })
}

/// Returns whether the server starts or stops, and so rejects every connection for a moment.
fn is_starting(error: &dyn DatabaseError) -> bool {
    error.code().is_some_and(|code| code.starts_with("57P"))
}

/// Returns where the server is: it has neither the user nor the password.
fn server(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(directory) => directory.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// Rejects a server that is too old or lacks pgvector; the message names the fix.
pub(crate) async fn check(connection: &mut PgConnection) -> Result<(), Error> {
    let versions = versions(connection).await?;
    let major: i32 = leading_number(&versions.postgres);
    let minor = versions.postgres.split('.').nth(1).map_or(0, leading_number);
    let leaky = MIN_MINOR.iter().find(|(of, oldest)| *of == major && minor < *oldest);
    let mut parts = versions.pgvector.split('.').map(leading_number);
    let pgvector = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let fault = if major < MIN_POSTGRES {
        format!(
            "PostgreSQL {} is too old; {MIN_POSTGRES} or newer is needed. Upgrade it, or unset \
             DATABASE_URL to use the embedded server",
            versions.postgres
        )
    } else if let Some((_, oldest)) = leaky {
        format!(
            "PostgreSQL {} leaks samples of rows that row-level security hides (CVE-2025-8713); \
             upgrade it to {major}.{oldest} or newer, or unset DATABASE_URL to use the embedded \
             server",
            versions.postgres
        )
    } else if pgvector < MIN_PGVECTOR {
        format!(
            "pgvector {} is too old; 0.8 or newer is needed. Upgrade the extension \"vector\"",
            versions.pgvector
        )
    } else if !can_have_pgvector(connection).await? {
        "only a superuser can add the extension \"vector\"; let one run in the service's \
         database: create extension vector"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Error::UnsupportedServer(fault))
}

/// Returns whether pgvector is in the database, or the role may add it.
async fn can_have_pgvector(connection: &mut PgConnection) -> Result<bool, Error> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from pg_extension where extname = 'vector')
               or (select rolsuper from pg_roles where rolname = current_user)
               or exists (select from pg_available_extension_versions
                          where name = 'vector' and trusted) as "can!""#
    )
    .fetch_one(connection)
    .await?)
}

/// Parses the digits that the text starts with; 0 if there are none.
pub(crate) fn leading_number<N: std::str::FromStr + Default>(text: &str) -> N {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_for_a_pgvector_that_damages_indexes() {
        let advice = |pgvector: &str| {
            Versions { postgres: "18.1".into(), pgvector: pgvector.into() }.advice().is_some()
        };
        assert!(advice("0.8.0") && advice("0.8.3") && advice("0.8"));
        assert!(!advice("0.8.4") && !advice("0.8.10") && !advice("1.0"));
    }
}
