//! `memory-copilot backup`: needs no service, and does not mind one.

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
use crate::{audit_heads, database, encryption_key, progress};

/// A file that is not whole has a name that says so, should it be left behind by a power cut.
const UNFINISHED: &str = ".memory-copilot-backup-unfinished-";

/// Writes a backup.
pub async fn run(
    args: &BackupArgs,
    config: &Config,
    shutdown: CancellationToken,
    format: Format,
) -> Result<()> {
    let to_stdout = args.output.as_os_str() == "-";
    let progress = progress::shown(format);
    if to_stdout {
        let manifest = to_stdout_of(config, progress, &shutdown).await?;
        error_line(&in_words(&manifest));
        return Ok(());
    }
    let manifest = to_file(&args.output, config, progress, &shutdown).await?;
    let bytes = std::fs::metadata(&args.output)?.len();
    let said = json!({ "file": args.output, "bytes": bytes, "manifest": manifest });
    format.print(&said, |_| format!("{}: {}", args.output.display(), in_words(&manifest)));
    Ok(())
}

/// The file is there once all of it is on disk, for its owner alone.
async fn to_file(
    path: &Path,
    config: &Config,
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let unwritable = || format!("{} can't be written", path.display());
    ensure!(!path.is_dir(), "{} is a folder; name a file in it", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let draft = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder);
    let draft = draft.with_context(unwritable)?;
    let file = draft.as_file().try_clone().with_context(unwritable)?;
    let manifest = take(config, (file, path), progress, shutdown).await?;
    draft.persist(path).with_context(unwritable)?;
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(unwritable)?;
    Ok(manifest)
}

/// By a file without a name: a backup is written in no order that a pipe would do for.
async fn to_stdout_of(
    config: &Config,
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let mut file = tempfile::tempfile().context("a temporary file can't be made; set TMPDIR")?;
    let copy = file.try_clone()?;
    let manifest = take(config, (copy, &std::env::temp_dir()), progress, shutdown).await?;
    file.rewind()?;
    io::copy(&mut file, &mut io::stdout().lock()).context("standard output can't be written")?;
    Ok(manifest)
}

async fn take(
    config: &Config,
    file: (File, &Path),
    progress: Progress,
    shutdown: &CancellationToken,
) -> Result<Manifest> {
    let encryption = &config.encryption;
    let sealer = encryption_key::sealer(&encryption.key_file, &encryption.previous_key_files)?;
    // Before the backup's moment: all that is known by now is in it.
    let heads = audit_heads::read(&config.audit_heads_file())?;
    let install_dirs = &config.postgres_installations();
    let (url, started) = reach(config, shutdown).await?;
    let source = Source { url: &url, install_dirs, encryptor: &sealer, heads };
    let taken = backup::create(&source, file, progress, shutdown).await;
    if let Some(embedded) = started {
        embedded.stop().await;
    }
    Ok(taken?)
}

/// The database's URL, and its server where nobody ran it.
async fn reach(
    config: &Config,
    shutdown: &CancellationToken,
) -> Result<(String, Option<Embedded>)> {
    if !config.database.url.is_empty() {
        return Ok((config.database.url.clone(), None));
    }
    let folder = database::embedded_folder(config);
    ensure!(
        embedded::is_initialized(&folder),
        "there is nothing to back up in {}; set data_dir to the service's, or database.url",
        config.data_dir.display()
    );
    match database::start_in(&folder, config, shutdown).await {
        Ok(Some(embedded)) => Ok((embedded.url().to_owned(), Some(embedded))),
        Ok(None) => Err(backup::BackupError::Interrupted.into()),
        // The service runs it.
        Err(EmbeddedError::Locked { .. }) => Ok((embedded::url_of_running(&folder)?, None)),
        Err(error) => Err(error).context("the embedded PostgreSQL did not start"),
    }
}

fn in_words(manifest: &Manifest) -> String {
    format!(
        "{} rows of {} tables, as of {}. The encryption key is not in it; keep it elsewhere \
         (fingerprint {})",
        manifest.rows(),
        manifest.tables.len(),
        manifest.created_at.format("%Y-%m-%d %H:%M:%S UTC"),
        manifest.encryption_key_id.get(..8).unwrap_or_default()
    )
}
