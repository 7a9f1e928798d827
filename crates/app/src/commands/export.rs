//! `memory-copilot export`: the records of a project as YAML, in the shape of seed 001, section 17.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::cli::ExportArgs;
use crate::output::{line, list};
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
    "meta",
    "steps",
    "patch_ref",
    "url",
    "task_external_id",
];

/// Writes every live record.
pub async fn run(args: ExportArgs, remote: &Remote) -> Result<()> {
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
        records.extend(page.iter().map(exported));
        last["id"].as_str().unwrap_or_default().clone_into(&mut after);
    }
    let yaml = serde_norway::to_string(&records)?;
    match args.output {
        None => line(yaml.trim_end()),
        Some(path) => std::fs::write(&path, yaml)
            .with_context(|| format!("{} can't be written", path.display()))?,
    }
    Ok(())
}

fn exported(record: &Value) -> Value {
    let mut out = Map::new();
    for field in FIELDS {
        let value = &record[*field];
        let empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !empty {
            out.insert((*field).to_owned(), value.clone());
        }
    }
    Value::Object(out)
}
