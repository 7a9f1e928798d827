//! `memory-copilot import`: saves records, and proposes notes of other programs.

mod files;
mod proposals;
mod records;

use std::path::Path;

use anyhow::{Result, bail};
use mc_domain::ProjectKey;
use mc_import::{Format, Import};
use serde_json::json;

use crate::api_client::ApiClient;
use crate::cli::{ImportArgs, ImportFormat};
use crate::{input, output};
use files::SourceFile;

/// Imports a file, or the rules files and decision records of a directory.
pub async fn run(args: ImportArgs, remote: &ApiClient, format: output::Format) -> Result<()> {
    let key = args.project.key()?;
    let files = if args.path.is_dir() {
        files::find(&args.path, args.from)?
    } else {
        let text = input::text(&args.path)?;
        let source = files::source(&args.path);
        match args.from.or_else(|| Format::detect(&source, &text).map(ImportFormat::Other)) {
            Some(ImportFormat::Other(format)) => vec![SourceFile { source, format, text }],
            Some(ImportFormat::Records) | None => {
                return import_records(&args, &key, &text, remote, format).await;
            }
        }
    };
    let import = parse(&files, args.path.is_dir())?;
    if args.dry_run {
        proposals::show(&import, format);
        return Ok(());
    }
    find_project(&args, &key, remote).await?;
    proposals::send(import, &key, remote, format).await
}

async fn import_records(
    args: &ImportArgs,
    key: &ProjectKey,
    text: &str,
    remote: &ApiClient,
    format: output::Format,
) -> Result<()> {
    if args.dry_run {
        let records = records::parse(text)?;
        format.print(&json!({ "dry_run": true, "records": records }), |_| {
            format!("{} records would be saved", records.len())
        });
        return Ok(());
    }
    find_project(args, key, remote).await?;
    records::save(text, key.as_str(), remote, format).await
}

async fn find_project(args: &ImportArgs, key: &ProjectKey, remote: &ApiClient) -> Result<()> {
    if args.create_project {
        remote.ensure_project(key.as_str()).await
    } else {
        remote.require_project(key).await
    }
}

/// Parses all files. A file of a directory that can't be parsed does not stop the others.
fn parse(files: &[SourceFile], is_directory: bool) -> Result<Import> {
    let mut all = Import::default();
    for SourceFile { source, format, text } in files {
        match mc_import::parse(*format, text, source) {
            Ok(import) => {
                all.notes.extend(import.notes);
                all.refused.extend(import.refused);
            }
            Err(error) if is_directory => {
                tracing::warn!(file = source, error = %error, "a file was not imported");
            }
            Err(error) => bail!("{source}: {error}"),
        }
    }
    Ok(all)
}

/// Whether the path is standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
