//! Whether the server behind a connection can carry the service.

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection};

use crate::{CONNECT_TIMEOUT, Error};

/// Oldest PostgreSQL major version that is supported.
pub const MIN_POSTGRES: i32 = 16;
/// Oldest pgvector that is supported: 0.8 brought iterative index scans.
pub const MIN_PGVECTOR: (u32, u32) = (0, 8);

/// Of major versions that are supported, the oldest minor one whose planner does not show a role samples of
/// rows that row-level security hides from it (CVE-2025-8713).
const MIN_MINOR: [(i32, i32); 2] = [(16, 10), (17, 6)];
/// The oldest pgvector whose vacuum leaves its indexes whole.
const ADVISED_PGVECTOR: (u32, u32, u32) = (0, 8, 4);

/// What the server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// PostgreSQL, such as `18.1`.
    pub postgres: String,
    /// pgvector as installed or installable, such as `0.8.5`.
    pub pgvector: String,
}

impl Versions {
    /// What whoever runs the server should do about it.
    pub fn advice(&self) -> Option<&'static str> {
        let mut parts = self.pgvector.split('.').map(leading_number);
        let mut part = || parts.next().unwrap_or(0);
        ((part(), part(), part()) < ADVISED_PGVECTOR)
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
        Error::Unsuitable(
            "this PostgreSQL has no pgvector; install the extension \"vector\" 0.8 or newer, or unset \
             DATABASE_URL to use the embedded server"
                .into(),
        )
    })?;
    Ok(Versions { postgres: row.postgres, pgvector })
}

/// Names this database among all: what is derived from another one, or from this one before a
/// restore turned back its time, bears another name.
pub async fn identity(connection: &mut PgConnection) -> Result<String, Error> {
    Ok(sqlx::query_scalar!(
        r#"select concat_ws('-', s.system_identifier, c.timeline_id, d.oid) as "identity!"
           from pg_control_system() s, pg_control_checkpoint() c, pg_database d
           where d.datname = current_database()"#
    )
    .fetch_one(connection)
    .await?)
}

/// Looks at the server behind a URL as the service does at its start: one that is too old is refused.
pub async fn inspect(url: &str) -> Result<Versions, Error> {
    let mut connection = connect(url).await?;
    check(&mut connection).await?;
    let versions = versions(&mut connection).await?;
    connection.close().await?;
    Ok(versions)
}

/// One connection, waited for as a pool waits: the server may be starting beside the service.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, Error> {
    let options: PgConnectOptions = url.parse().map_err(|_| Error::BadUrl)?;
    // Migrations, and looking through all tables, take as long as they take.
    let options = options.disable_statement_logging();
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT_TIMEOUT);
    Ok(pool.connect_lazy_with(options).acquire().await?.detach())
}

/// Refuses a server that is too old or lacks pgvector, saying what to do.
pub(crate) async fn check(connection: &mut PgConnection) -> Result<(), Error> {
    let versions = versions(connection).await?;
    let major: i32 = leading_number(&versions.postgres);
    if major < MIN_POSTGRES {
        return Err(Error::Unsuitable(format!(
            "PostgreSQL {} is too old; {MIN_POSTGRES} or newer is needed. Upgrade it, or unset \
             DATABASE_URL to use the embedded server",
            versions.postgres
        )));
    }
    let minor = versions.postgres.split('.').nth(1).map_or(0, leading_number);
    if let Some((_, least)) = MIN_MINOR.iter().find(|(of, least)| *of == major && minor < *least) {
        return Err(Error::Unsuitable(format!(
            "PostgreSQL {} shows its roles samples of rows that they must not see (CVE-2025-8713); \
             upgrade it to {major}.{least} or newer, or unset DATABASE_URL to use the embedded server",
            versions.postgres
        )));
    }
    let mut parts = versions.pgvector.split('.').map(leading_number);
    let (first, second) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if (first, second) < MIN_PGVECTOR {
        return Err(Error::Unsuitable(format!(
            "pgvector {} is too old; 0.8 or newer is needed. Upgrade the extension \"vector\"",
            versions.pgvector
        )));
    }
    if !can_have_pgvector(connection).await? {
        return Err(Error::Unsuitable(
            "only a superuser adds the extension \"vector\"; let one run, in the service's database: create \
             extension vector"
                .into(),
        ));
    }
    Ok(())
}

/// Whether pgvector is in the database, or the role may add it.
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

pub(crate) fn leading_number<N: std::str::FromStr + Default>(text: &str) -> N {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_a_vacuum_may_damage_is_told_of() {
        let advice = |pgvector: &str| {
            Versions { postgres: "18.1".into(), pgvector: pgvector.into() }.advice().is_some()
        };
        assert!(advice("0.8.0") && advice("0.8.3") && advice("0.8"));
        assert!(!advice("0.8.4") && !advice("0.8.10") && !advice("1.0"));
    }
}
