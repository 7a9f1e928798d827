//! `memory-copilot export`: the records of a project as YAML (or JSON), in the shape of seed 001,
//! section 17.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cli::ExportArgs;
use crate::output::{Format, line, list};
use crate::remote::Remote;

/// Records a page.
const PAGE: &str = "200";
/// What is exported of a record, in this order; anything else is the service's own business.
const FIELDS: &[&str] = &[
    "kind",
    "title",
    "content",
    "scope",
    "tags",
    "owner",
    "ttl",
    "quality",
    "ci",
    "meta",
    "steps",
    "patch_ref",
    "url",
    "task_external_id",
    "citations",
];
/// What `save` takes beside `meta`, and the service keeps in it.
const KEPT_IN_META: &[&str] = &["steps", "patch_ref", "url"];

/// Writes every live record.
pub async fn run(args: ExportArgs, remote: &Remote, format: Format) -> Result<()> {
    let mut records = Vec::new();
    let mut after = String::new();
    loop {
        let mut query = vec![("project_key", args.project.project.as_str()), ("limit", PAGE)];
        if !after.is_empty() {
            query.push(("after", &after));
        }
        let page = remote.get("/records", &query).await?;
        let page = list(&page, "records");
        let Some(last) = page.last() else { break };
        records.extend(page.iter().cloned().map(exported));
        last["id"].as_str().unwrap_or_default().clone_into(&mut after);
    }
    let written = match format {
        Format::Text => serde_norway::to_string(&records)?,
        Format::Json => serde_json::to_string_pretty(&records)? + "\n",
    };
    match args.output {
        None => line(written.trim_end()),
        Some(path) => std::fs::write(&path, written)
            .with_context(|| format!("{} can't be written", path.display()))?,
    }
    Ok(())
}

/// What `save` needs to make the record anew. An end that nobody named is not part of it: the new
/// record's life begins with its import.
fn exported(mut record: Value) -> Value {
    for field in KEPT_IN_META {
        if let Some(value) = record["meta"].as_object_mut().and_then(|meta| meta.remove(*field)) {
            record[*field] = value;
        }
    }
    if record["ttl_given"] != true {
        record["ttl"] = Value::Null;
    }
    for citation in record["citations"].as_array_mut().into_iter().flatten() {
        // The next check makes a verdict of its own.
        citation.as_object_mut().and_then(|citation| citation.remove("verdict"));
    }
    let kept = FIELDS.iter().filter_map(|field| {
        let value = record[*field].take();
        (!is_empty(&value)).then(|| ((*field).to_owned(), value))
    });
    Value::Object(kept.collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
