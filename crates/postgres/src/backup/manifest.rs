//! What a backup says of itself.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::migrate::{AppliedMigration, Migrate as _};
use sqlx::postgres::PgConnection;

use super::{BackupError, Table};
use crate::{Error, MIGRATIONS, server_version};

/// The form of the file; a program refuses one that is higher than its own.
pub(super) const FORMAT: u32 = 1;

/// What a backup is of, and what has to be there once it is restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of the file.
    pub format: u32,
    /// The version of the program that made it.
    pub program: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Of which database, among all ([`server::identity`]).
    pub database: String,
    /// The server's version.
    pub postgres: String,
    /// The version of pgvector.
    pub pgvector: String,
    /// The fingerprint of the encryption key, which is not in the backup.
    pub sealing_key: String,
    /// The schema's changes.
    pub migrations: Vec<Migration>,
    /// Functions that run as the role which sees all rows: a dump without owners doesn't tell.
    pub run_as_worker: Vec<String>,
    /// What each table holds.
    pub tables: Vec<Table>,
}

/// A change of the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Its number.
    pub version: i64,
    /// Of its text.
    pub checksum: String,
}

impl Manifest {
    /// What is known before anything of the database was read through.
    pub(super) async fn begun(
        connection: &mut PgConnection,
        sealing_key: String,
    ) -> Result<Self, BackupError> {
        let versions = server_version::versions(connection).await?;
        Ok(Self {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: Utc::now(),
            database: server_version::identity(connection).await?,
            postgres: versions.postgres,
            pgvector: versions.pgvector,
            sealing_key,
            migrations: migrations(connection).await?,
            run_as_worker: run_as_worker(connection).await?,
            tables: Vec::new(),
        })
    }

    /// Rows of all tables.
    pub fn rows(&self) -> i64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// Refuses what this program can't bring up to date.
    pub(super) fn check(&self) -> Result<(), BackupError> {
        let newer = |what| BackupError::Newer { program: self.program.clone(), what };
        if self.format > FORMAT {
            return Err(newer(format!("format {}, and {FORMAT} is known", self.format)));
        }
        let known: HashMap<_, _> =
            MIGRATIONS.iter().map(|each| (each.version, hex::encode(&each.checksum))).collect();
        for Migration { version, checksum } in &self.migrations {
            match known.get(version) {
                None => return Err(newer(format!("migration {version} is not known"))),
                Some(ours) if ours != checksum => {
                    return Err(BackupError::OtherBuild(*version, self.program.clone()));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The server's major version.
    pub(super) fn major(&self) -> u32 {
        server_version::leading_number(&self.postgres)
    }
}

/// The changes that were made to the database's schema.
async fn migrations(connection: &mut PgConnection) -> Result<Vec<Migration>, BackupError> {
    let applied = connection.list_applied_migrations(&MIGRATIONS.table_name).await;
    let applied = applied.map_err(|error| BackupError::Database(Error::Migration(error)))?;
    let written = |each: AppliedMigration| Migration {
        version: each.version,
        checksum: hex::encode(&each.checksum),
    };
    Ok(applied.into_iter().map(written).collect())
}

async fn run_as_worker(connection: &mut PgConnection) -> Result<Vec<String>, BackupError> {
    let functions = sqlx::query_scalar(
        "select oid::regprocedure::text from pg_proc where proowner = 'memory_copilot_worker'::regrole order by 1",
    );
    Ok(functions.fetch_all(connection).await?)
}
