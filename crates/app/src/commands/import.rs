//! `memory-copilot import`: saves records from YAML (which JSON is, too), each through the judge
//! like any other.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::ImportArgs;
use crate::input;
use crate::output::{Format, text};

/// Saves every record of the file; one that is broken or rejected is named and stops nothing else.
pub async fn run(args: ImportArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let records = parse(&input::text(&args.file)?)?;
    remote.ensure_project(&args.project.project).await?;
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    let mut failures = Vec::new();
    for (index, mut record) in records.into_iter().enumerate() {
        record["project_key"] = args.project.project.clone().into();
        // What CI said of it elsewhere is for the reader of the file; here it says so itself.
        record.as_object_mut().and_then(|record| record.remove("ci"));
        match remote.post("/save", record).await {
            Ok(answer) => {
                if text(&answer, "outcome") == "rejected" {
                    let reason = text(&answer, "reason");
                    failures.push(format!("record {}: rejected, {reason}", index + 1));
                }
                *outcomes.entry(text(&answer, "outcome").to_owned()).or_default() += 1;
            }
            Err(error) => failures.push(format!("record {}: {error}", index + 1)),
        }
    }
    let summary = json!({ "outcomes": outcomes, "failures": failures });
    format.print(&summary, |_| {
        let mut lines: Vec<_> = outcomes.iter().map(|(what, n)| format!("{n} {what}")).collect();
        lines.extend(failures.iter().cloned());
        lines.join("\n")
    });
    match failures.len() {
        0 => Ok(()),
        n => bail!("{n} records were not saved; correct them and import again, the rest is merged"),
    }
}

/// One record, or a list of them.
fn parse(yaml: &str) -> Result<Vec<Value>> {
    let value: Value = serde_norway::from_str(yaml).context("the file is not YAML of records")?;
    let records = match value {
        Value::Array(records) => records,
        record => vec![record],
    };
    match records.iter().position(|record| !record.is_object()) {
        None => Ok(records),
        Some(index) => bail!(
            "record {} is no record; write a mapping with kind and content, or a list of them",
            index + 1
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_example_is_one_record() {
        let yaml = "kind: fact\ncontent: \"проверь delay_unit\"\nscope: [\"cart_sessions\"]\nttl: \
                    2026-06-01\n";
        let records = parse(yaml).expect("records");
        assert_eq!(records.len(), 1);
        assert_eq!(records[0]["ttl"], "2026-06-01");
        assert!(parse("just words").is_err());
        let mixed = parse("- kind: fact\n- just words\n").expect_err("a list item of words");
        assert!(mixed.to_string().starts_with("record 2 is no record"), "{mixed}");
    }
}
