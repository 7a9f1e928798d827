//! Taking a backup.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use mc_crypto::{AuditMacKeys, Encryptor};
use sqlx::postgres::PgConnection;
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::archive::{self, Writer};
use super::digest::LEFT_OUT;
use super::pg_tools::{self, Programs};
use super::{BackupError, Manifest, Progress, digest, snapshot};
use crate::audit::{self, Head};
use crate::server_version;

/// How long a table may be locked by somebody who changes the schema.
const LOCKED_FOR: &str = "60s";

/// What is backed up.
pub struct Source<'a> {
    /// The database, for the role that owns its tables.
    pub url: &'a str,
    /// Where to look for the programs first.
    pub install_dirs: &'a [PathBuf],
    /// The key of the service; its fingerprint is written down.
    pub sealer: &'a Encryptor,
    /// Where the chains of the audit end, as far as the service knows.
    pub heads: HashMap<Uuid, Head>,
}

/// Writes a backup of one moment of the database to `file`, which is at `path` and is closed when it is whole
/// and on disk. Whoever uses the database meanwhile is not kept waiting.
pub async fn take(
    source: &Source<'_>,
    (file, path): (File, &Path),
    progress: Progress,
    cancel: &CancellationToken,
) -> Result<Manifest, BackupError> {
    let taking = dump(source, file, path, progress);
    cancel.run_until_cancelled(taking).await.unwrap_or(Err(BackupError::Interrupted))
}

async fn dump(
    source: &Source<'_>,
    file: File,
    path: &Path,
    progress: Progress,
) -> Result<Manifest, BackupError> {
    let mut connection = server_version::connect(source.url).await?;
    let snapshot = snapshot::export(&mut connection).await?;
    ensure_known_key(&mut connection, source.sealer).await?;
    let fingerprint = hex::encode(source.sealer.key_id());
    let mut manifest = Manifest::begun(&mut connection, fingerprint).await?;
    let programs = Programs::find(source.install_dirs, manifest.major()).await?;
    let (child, output) = begin(&programs, source.url, &snapshot)?;

    let modified = u64::try_from(manifest.created_at.timestamp()).unwrap_or_default();
    let writing = write_dump(Writer::new(file, modified), output, path, progress);
    let ending = pg_tools::finish("pg_dump", child);
    let reading = read_through(&mut connection, source.heads.clone());
    // In this order: where the file can't be written, that is why pg_dump ended as well.
    let (writer, (), (tables, heads)) = tokio::try_join!(writing, ending, reading)?;
    manifest.tables = tables;
    finish(writer, manifest.clone(), heads, path.to_owned()).await?;
    Ok(manifest)
}

/// What was signed with another key nobody could verify, nor open.
async fn ensure_known_key(
    connection: &mut PgConnection,
    sealer: &Encryptor,
) -> Result<(), BackupError> {
    match audit::newest_key(connection).await? {
        Some(key) if !AuditMacKeys::derive(sealer).has(&key) => Err(BackupError::OtherKey),
        _ => Ok(()),
    }
}

fn begin(
    programs: &Programs,
    url: &str,
    snapshot: &str,
) -> Result<(tokio::process::Child, ChildStdout), BackupError> {
    let mut command = programs.connecting("pg_dump", url)?;
    command.args(["--format", "custom", "--compress", "gzip:1"]);
    command.args(["--snapshot", snapshot, "--lock-wait-timeout", LOCKED_FOR]);
    command.args(["--no-owner", "--no-comments", "--no-tablespaces", "--no-security-labels"]);
    command.args(["--no-publications", "--no-subscriptions"]);
    // For the owner of the tables, who sees every row by policies; without it pg_dump asks for the right to
    // pass over them.
    command.arg("--enable-row-security");
    for table in LEFT_OUT {
        command.args(["--exclude-table-data", table]);
    }
    let failed = |detail: String| BackupError::Program { program: "pg_dump", detail };
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take().ok_or_else(|| failed("it has no output".into()))?;
    Ok((child, output))
}

async fn write_dump(
    mut writer: Writer,
    output: ChildStdout,
    path: &Path,
    progress: Progress,
) -> Result<Writer, BackupError> {
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

/// What the tables hold, and where the chains of the audit end: an end that the service knows and that was cut
/// off in the database stays known as cut off.
async fn read_through(
    connection: &mut PgConnection,
    known: HashMap<Uuid, Head>,
) -> Result<(Vec<digest::Table>, HashMap<Uuid, Head>), BackupError> {
    let mut heads = audit::ends(connection).await?;
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
) -> Result<(), BackupError> {
    let finished = tokio::task::spawn_blocking(move || {
        let nobody: Progress = std::sync::Arc::new(|_, _| {});
        let heads = serde_json::to_vec(&heads)?;
        writer.add(archive::HEADS, &mut heads.as_slice(), &nobody)?;
        let manifest = serde_json::to_vec_pretty(&manifest)?;
        writer.add(archive::MANIFEST, &mut manifest.as_slice(), &nobody)?;
        writer.finish()
    });
    let finished = finished.await.unwrap_or_else(|panic| Err(std::io::Error::other(panic)));
    finished.map_err(BackupError::io("write", &path))
}
