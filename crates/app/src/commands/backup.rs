//! `memory-copilot backup`: reads the database directly, whether or not the service is running.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use mc_postgres::backup::{self, Manifest, Progress, Source};
use mc_postgres::embedded::{self, Embedded, EmbeddedError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::cli::BackupArgs;
use crate::config::Config;
use crate::output::{Format, error_line};
use crate::private_file::directory;
use crate::{audit_heads, database, encryption_key, progress};

/// Prefix of an incomplete backup, which may remain after a power failure.
const UNFINISHED_PREFIX: &str = ".memory-copilot-backup-unfinished-";

pub async fn run(
    args: &BackupArgs,
    config: &Config,
    shutdown: CancellationToken,
    format: Format,
) -> Result<()> {
    let to_stdout = args.output.as_os_str() == "-";
    let progress = progress::reporter(format);
    if to_stdout {
        let manifest = write_to_stdout(config, progress, &shutdown).await?;
        error_line(&summary(&manifest));
        return Ok(());
    }
    let manifest = write_to_file(&args.output, config, progress, &shutdown).await?;
    let bytes = std::fs::metadata(&args.output)?.len();
    let result = json!({ "file": args.output, "bytes": bytes, "manifest": manifest });
    format.print(&result, |_| format!("{}: {}", args.output.display(), summary(&manifest)));
    Ok(())
}

/// Writes a file that only its owner can read; it appears once all of it is on disk.
async fn write_to_file(
    path: &Path,
    config: &Config,
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let unwritable = || format!("{} can't be written", path.display());
    ensure!(!path.is_dir(), "{} is a directory; name a file in it", path.display());
    let directory = directory(path);
    let draft = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(directory);
    let draft = draft.with_context(unwritable)?;
    let file = draft.as_file().try_clone().with_context(unwritable)?;
    let manifest = create(config, (file, path), progress, shutdown).await?;
    draft.persist(path).with_context(unwritable)?;
    File::open(directory).and_then(|directory| directory.sync_all()).with_context(unwritable)?;
    Ok(manifest)
}

/// Writes to an unnamed temporary file first, because a backup is not written sequentially.
async fn write_to_stdout(
    config: &Config,
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let mut file = tempfile::tempfile().context("a temporary file can't be created; set TMPDIR")?;
    let copy = file.try_clone()?;
    let manifest = create(config, (copy, &std::env::temp_dir()), progress, shutdown).await?;
    file.rewind()?;
    io::copy(&mut file, &mut io::stdout().lock()).context("standard output can't be written")?;
    Ok(manifest)
}

async fn create(
    config: &Config,
    file: (File, &Path),
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let encryption = &config.encryption;
    let encryptor = encryption_key::load(&encryption.key_file, &encryption.previous_key_files)?;
    // Read before the snapshot of the database, so that the backup contains every one of them.
    let heads = audit_heads::read(&config.audit_heads_file())?;
    let install_dirs = &config.postgres_installations();
    let (url, started) = find_database(config, shutdown).await?;
    let source = Source { url: &url, install_dirs, encryptor: &encryptor, heads };
    let result = backup::create(&source, file, progress, shutdown).await;
    if let Some(embedded) = started {
        embedded.stop().await;
    }
    Ok(result?)
}

/// Returns the URL of the database, and the embedded server if this command started it.
async fn find_database(
    config: &Config,
    shutdown: &CancellationToken,
) -> Result<(String, Option<Embedded>)> {
    if !config.database.url.is_empty() {
        return Ok((config.database.url.clone(), None));
    }
    let directory = database::embedded_dir(config);
    ensure!(
        embedded::is_initialized(&directory),
        "{} has no database to back up; set data_dir to that of the service, or set database.url",
        config.data_dir.display()
    );
    match database::start_in(&directory, config, shutdown).await {
        Ok(Some(embedded)) => Ok((embedded.url().to_owned(), Some(embedded))),
        Ok(None) => Err(backup::BackupError::Interrupted.into()),
        // The service is running the server.
        Err(EmbeddedError::Locked { .. }) => Ok((embedded::url_of_running(&directory)?, None)),
        Err(error) => Err(error).context("the embedded PostgreSQL did not start"),
    }
}

fn summary(manifest: &Manifest) -> String {
    format!(
        "{} rows of {} tables, as of {}. The backup does not contain the encryption key; store the \
        key elsewhere (fingerprint {})",
        manifest.rows(),
        manifest.tables.len(),
        manifest.created_at.format("%Y-%m-%d %H:%M:%S UTC"),
        manifest.encryption_key_id.get(..8).unwrap_or_default()
    )
}
