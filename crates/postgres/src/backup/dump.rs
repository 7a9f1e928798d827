//! Creation of a backup.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use mc_crypto::{AuditMacKeys, Encryptor, Head};
use sqlx::postgres::PgConnection;
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::archive::{self, Writer};
use super::digest::EXCLUDED_TABLES;
use super::pg_tools::{self, PgTools};
use super::{BackupError, Manifest, Progress, Result, digest, snapshot};
use crate::{audit, server_version};

/// Longest wait for a table that a schema change locks.
const LOCK_TIMEOUT: &str = "60s";

/// Source of a backup.
pub struct Source<'a> {
    /// URL of the database, for the role that owns its tables.
    pub url: &'a str,
    /// Installations to prefer for `pg_dump`.
    pub install_dirs: &'a [PathBuf],
    /// Encryption key of the service; the manifest gets its id.
    pub encryptor: &'a Encryptor,
    /// Heads of the audit chains that the service knows.
    pub heads: HashMap<Uuid, Head>,
}

/// Writes a backup of one snapshot of the database to `file`, and syncs it to disk. `path` names
/// the file in errors. Other users of the database do not wait.
pub async fn create(
    source: &Source<'_>,
    (file, path): (File, &Path),
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<Manifest> {
    let dumping = dump(source, file, path, progress);
    cancel.run_until_cancelled(dumping).await.unwrap_or(Err(BackupError::Interrupted))
}

async fn dump(
    source: &Source<'_>,
    file: File,
    path: &Path,
    progress: Progress,
) -> Result<Manifest> {
    let mut connection = server_version::connect(source.url).await?;
    let snapshot = snapshot::export(&mut connection).await?;
    ensure_known_key(&mut connection, source.encryptor).await?;
    let key_id = hex::encode(source.encryptor.key_id());
    let mut manifest = Manifest::without_tables(&mut connection, key_id).await?;
    let tools = PgTools::find(source.install_dirs, manifest.major()).await?;
    let (child, output) = spawn_pg_dump(&tools, source.url, &snapshot)?;

    let modified = u64::try_from(manifest.created_at.timestamp()).unwrap_or_default();
    let writing = write_dump(Writer::new(file, modified), output, path, progress);
    let exit = pg_tools::finish("pg_dump", child);
    let reading = read_content(&mut connection, source.heads.clone());
    // A failed write also ends pg_dump, so its error comes first.
    let (writer, (), (tables, heads)) = tokio::try_join!(writing, exit, reading)?;
    manifest.tables = tables;
    finish(writer, manifest.clone(), heads, path.to_owned()).await?;
    Ok(manifest)
}

/// Rejects a database that was signed with another key: a restore could neither verify its audit
/// nor decrypt its values.
async fn ensure_known_key(connection: &mut PgConnection, encryptor: &Encryptor) -> Result<()> {
    match audit::newest_key(connection).await? {
        Some(key) if !AuditMacKeys::derive(encryptor).has(&key) => Err(BackupError::OtherKey),
        _ => Ok(()),
    }
}

fn spawn_pg_dump(
    tools: &PgTools,
    url: &str,
    snapshot: &str,
) -> Result<(tokio::process::Child, ChildStdout)> {
    let mut command = tools.connecting("pg_dump", url)?;
    command.args(["--format", "custom", "--compress", "gzip:1"]);
    command.args(["--snapshot", snapshot, "--lock-wait-timeout", LOCK_TIMEOUT]);
    command.args(["--no-owner", "--no-comments", "--no-tablespaces", "--no-security-labels"]);
    command.args(["--no-publications", "--no-subscriptions"]);
    // The tables' owner sees every row by its policies. Without the option pg_dump requires the
    // right to bypass row-level security.
    command.arg("--enable-row-security");
    for table in EXCLUDED_TABLES {
        command.args(["--exclude-table-data", table]);
    }
    let failed = |detail: String| BackupError::Program { program: "pg_dump", detail };
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take().ok_or_else(|| failed("its output is closed".into()))?;
    Ok((child, output))
}

async fn write_dump(
    mut writer: Writer,
    output: ChildStdout,
    path: &Path,
    progress: Progress,
) -> Result<Writer> {
    let pipe = output.into_owned_fd().map_err(BackupError::io("write", path))?;
    let written = tokio::task::spawn_blocking(move || {
        writer.add(archive::DUMP, &mut File::from(pipe), &progress)?;
        Ok(writer)
    });
    written
        .await
        .unwrap_or_else(|panic| Err(std::io::Error::other(panic)))
        .map_err(BackupError::io("write", path))
}

/// Reads the digest of each table and the heads of the audit chains. A known head that was cut off
/// in the database stays in the result, so that a restore reports it.
async fn read_content(
    connection: &mut PgConnection,
    known: HashMap<Uuid, Head>,
) -> Result<(Vec<digest::Table>, HashMap<Uuid, Head>)> {
    let mut heads = audit::heads(connection).await?;
    for (chain, known) in known {
        let head = heads.entry(chain).or_insert(known);
        if head.seq < known.seq {
            *head = known;
        }
    }
    Ok((digest::tables(connection).await?, heads))
}

async fn finish(
    mut writer: Writer,
    manifest: Manifest,
    heads: HashMap<Uuid, Head>,
    path: PathBuf,
) -> Result<()> {
    let finished = tokio::task::spawn_blocking(move || {
        let no_progress: Progress = std::sync::Arc::new(|_, _| {});
        let heads = serde_json::to_vec(&heads)?;
        writer.add(archive::HEADS, &mut heads.as_slice(), &no_progress)?;
        let manifest = serde_json::to_vec_pretty(&manifest)?;
        writer.add(archive::MANIFEST, &mut manifest.as_slice(), &no_progress)?;
        writer.finish()
    });
    let finished = finished.await.unwrap_or_else(|panic| Err(std::io::Error::other(panic)));
    finished.map_err(BackupError::io("write", &path))
}
