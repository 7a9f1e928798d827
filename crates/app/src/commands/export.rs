//! `memory-copilot export`: the records of a project as YAML or JSON, in the format of seed 001,
//! section 17.

use anyhow::{Context, Result};
use mc_memory::export::exported;
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::cli::ExportArgs;
use crate::output::{Format, document, list};

/// Records per page.
const PAGE_SIZE: &str = "200";

/// Writes every live record.
pub async fn run(args: ExportArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let mut records = Vec::new();
    let mut after = String::new();
    loop {
        let mut query = vec![("project_key", args.project.project.as_str()), ("limit", PAGE_SIZE)];
        if !after.is_empty() {
            query.push(("cursor", &after));
        }
        let page = remote.get("/records", &query).await?;
        let page = list(&page, "items");
        let Some(last) = page.last() else { break };
        for record in page {
            records.push(exported(with_content(record, &args.project.project, remote).await?));
        }
        last["id"].as_str().unwrap_or_default().clone_into(&mut after);
    }
    let output = match format {
        Format::Text => serde_norway::to_string(&records)?,
        Format::Json => serde_json::to_string_pretty(&records)? + "\n",
    };
    match args.output {
        None => document(output.trim_end()),
        Some(path) => std::fs::write(&path, output)
            .with_context(|| format!("{} can't be written", path.display()))?,
    }
    Ok(())
}

/// Returns the record; if its text is an excerpt of a document, with the content of the document.
async fn with_content(record: &Value, project: &str, remote: &ApiClient) -> Result<Value> {
    let mut record = record.clone();
    if let Some(id) = record["document_id"].as_str() {
        let query = [("project_key", project), ("id", id)];
        let document = remote.get("/documents/lookup", &query).await?;
        record["content"] = document["content"].clone();
    }
    Ok(record)
}
