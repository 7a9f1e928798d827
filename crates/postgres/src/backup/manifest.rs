//! The manifest of a backup.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::migrate::{AppliedMigration, Migrate as _};
use sqlx::postgres::PgConnection;

use super::{BackupError, Result, Table};
use crate::{Error, MIGRATIONS, server_version};

/// Version of the file format. A program rejects a file with a higher one.
pub(super) const FORMAT: u32 = 1;

/// Origin of a backup, and the content that a restore must produce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the file format.
    pub format: u32,
    /// Version of the program that created the backup.
    pub program: String,
    /// Time of the backup.
    pub created_at: DateTime<Utc>,
    /// Identity of the database ([`server_version::identity`]).
    pub database: String,
    /// Version of PostgreSQL.
    pub postgres: String,
    /// Version of pgvector.
    pub pgvector: String,
    /// Hexadecimal id of the encryption key, which is not in the backup.
    pub encryption_key_id: String,
    /// Applied schema migrations.
    pub migrations: Vec<Migration>,
    /// Functions owned by the role that sees all rows, which a dump without owners does not record.
    pub run_as_worker: Vec<String>,
    /// Row count and digest of each table.
    pub tables: Vec<Table>,
}

/// A schema migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Version number.
    pub version: i64,
    /// Hexadecimal checksum of its SQL.
    pub checksum: String,
}

impl Manifest {
    /// Creates the manifest without its tables, which are read later.
    pub(super) async fn without_tables(
        connection: &mut PgConnection,
        encryption_key_id: String,
    ) -> Result<Self> {
        let versions = server_version::versions(connection).await?;
        Ok(Self {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: Utc::now(),
            database: server_version::identity(connection).await?,
            postgres: versions.postgres,
            pgvector: versions.pgvector,
            encryption_key_id,
            migrations: migrations(connection).await?,
            run_as_worker: run_as_worker(connection).await?,
            tables: Vec::new(),
        })
    }

    /// Returns the number of rows in all tables.
    pub fn rows(&self) -> i64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Rejects a backup whose format or schema this program can't migrate.
    pub(super) fn check(&self) -> Result<()> {
        let newer = |detail| BackupError::Newer { program: self.program.clone(), detail };
        if self.format > FORMAT {
            return Err(newer(format!("format {}, newest known format {FORMAT}", self.format)));
        }
        let known: HashMap<_, _> =
            MIGRATIONS.iter().map(|each| (each.version, hex::encode(&each.checksum))).collect();
        for Migration { version, checksum } in &self.migrations {
            match known.get(version) {
                None => return Err(newer(format!("migration {version} is not known"))),
                Some(known) if known != checksum => {
                    return Err(BackupError::OtherBuild(*version, self.program.clone()));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the major version of PostgreSQL.
    pub(super) fn major(&self) -> u32 {
        server_version::leading_number(&self.postgres)
    }
}

/// Lists the migrations that were applied to the database.
async fn migrations(connection: &mut PgConnection) -> Result<Vec<Migration>> {
    let applied = connection.list_applied_migrations(&MIGRATIONS.table_name).await;
    let applied = applied.map_err(|error| BackupError::Database(Error::Migration(error)))?;
    let migration = |each: AppliedMigration| Migration {
        version: each.version,
        checksum: hex::encode(&each.checksum),
    };
    Ok(applied.into_iter().map(migration).collect())
}

/// Lists the functions that the role `memory_copilot_worker` owns.
async fn run_as_worker(connection: &mut PgConnection) -> Result<Vec<String>> {
    let functions = sqlx::query_scalar(
        "select oid::regprocedure::text from pg_proc
         where proowner = 'memory_copilot_worker'::regrole order by 1",
    );
    Ok(functions.fetch_all(connection).await?)
}
