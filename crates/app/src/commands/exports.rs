//! `memory-copilot exports`.

use std::pin::pin;

use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use futures::TryStreamExt;
use serde_json::Value;

use super::webhooks::path;
use crate::api_client::ApiClient;
use crate::cli::ExportsCommand;
use crate::output::{Format, line, list, number, text, time};

/// Lists the exports of a project and downloads them.
pub async fn run(command: ExportsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        ExportsCommand::List { project } => {
            format.print(&remote.get(&path(&project, "exports")?, &[]).await?, table);
        }
        ExportsCommand::Download { id, project, output } => {
            let document = document(&path(&project, &format!("exports/{id}"))?, remote).await?;
            match output {
                None => line(document.trim_end()),
                Some(file) => std::fs::write(&file, document)
                    .with_context(|| format!("{} can't be written", file.display()))?,
            }
        }
    }
    Ok(())
}

async fn document(path: &str, remote: &ApiClient) -> Result<String> {
    let mut parts = pin!(remote.stream(path, &[]).await?);
    let mut document = Vec::new();
    while let Some(part) = parts.try_next().await? {
        document.extend_from_slice(&part);
    }
    String::from_utf8(document).context("the service answered with something else than text")
}

fn table(page: &Value) -> String {
    let exports = list(page, "items");
    if exports.is_empty() {
        return "There are none.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "created", "records", "bytes"]);
    for export in exports {
        table.add_row([
            text(export, "id").to_owned(),
            time(export, "created_at", 19),
            number(export, "record_count").to_string(),
            number(export, "size_bytes").to_string(),
        ]);
    }
    table.to_string()
}
