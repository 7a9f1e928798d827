//! `memory-copilot hygiene exports|export`: what the team knew, as it is kept every week.

use std::path::Path;
use std::pin::pin;

use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use futures::TryStreamExt;
use mc_domain::ExportId;
use serde_json::Value;

use super::hooks::path;
use crate::cli::ProjectArg;
use crate::output::{Format, line, list, number, text, time};
use crate::remote::Remote;

/// Lists what is kept.
pub async fn show_all(project: &ProjectArg, remote: &Remote, format: Format) -> Result<()> {
    format.print(&remote.get(&path(project, "exports")?, &[]).await?, table);
    Ok(())
}

/// Prints one, or writes it to a file.
pub async fn fetch(
    id: ExportId,
    project: &ProjectArg,
    output: Option<&Path>,
    remote: &Remote,
) -> Result<()> {
    let document = document(&path(project, &format!("exports/{id}"))?, remote).await?;
    match output {
        None => line(document.trim_end()),
        Some(file) => std::fs::write(file, document)
            .with_context(|| format!("{} can't be written", file.display()))?,
    }
    Ok(())
}

async fn document(path: &str, remote: &Remote) -> Result<String> {
    let mut parts = pin!(remote.stream(path, &[]).await?);
    let mut document = Vec::new();
    while let Some(part) = parts.try_next().await? {
        document.extend_from_slice(&part);
    }
    String::from_utf8(document).context("the service answered with something else than text")
}

fn table(page: &Value) -> String {
    let exports = list(page, "exports");
    if exports.is_empty() {
        return "There are none.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "made", "records", "bytes"]);
    for export in exports {
        table.add_row([
            text(export, "id").to_owned(),
            time(export, "made_at", 19),
            number(export, "records").to_string(),
            number(export, "bytes").to_string(),
        ]);
    }
    table.to_string()
}
