//! `memory-copilot exports`.

use std::pin::pin;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::cli::ExportsCommand;
use crate::output::{self, Format, number, text, time};

pub async fn run(command: ExportsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        ExportsCommand::List { project } => {
            format.print(&remote.get(&project.path("exports")?, &[]).await?, table);
        }
        ExportsCommand::Download { id, project, output } => {
            let document = document(&project.path(&format!("exports/{id}"))?, remote).await?;
            match output {
                None => output::document(document.trim_end()),
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
    String::from_utf8(document).context("the response of the service is not UTF-8 text")
}

fn table(page: &Value) -> String {
    output::page_table(page, ["id", "created", "records", "bytes"], |export| {
        [
            text(export, "id").to_owned(),
            time(export, "created_at", 19),
            number(export, "record_count").to_string(),
            number(export, "size_bytes").to_string(),
        ]
    })
}
