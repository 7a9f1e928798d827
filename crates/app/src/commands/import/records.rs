//! Records as `export` writes them, in YAML or JSON. They are saved, not proposed: they come from
//! this program. The judge examines each of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::output::{Format, text};

/// Saves every record of a text. An invalid or rejected record is reported and does not stop the
/// others.
pub async fn save(yaml: &str, project: &str, remote: &ApiClient, format: Format) -> Result<()> {
    let records = parse(yaml)?;
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    let mut failures = Vec::new();
    for (index, record) in records.into_iter().enumerate() {
        let request = save_request(record, project);
        match remote.post_within_limits("/save", request).await? {
            Ok(response) => {
                if text(&response, "outcome") == "rejected" {
                    let reason = text(&response, "reason");
                    failures.push(format!("record {}: rejected, {reason}", index + 1));
                }
                *outcomes.entry(text(&response, "outcome").to_owned()).or_default() += 1;
            }
            Err(error) => failures.push(format!("record {}: {error}", index + 1)),
        }
    }
    let summary = json!({ "outcomes": outcomes, "failures": failures });
    format.print(&summary, |_| {
        let counts = outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}"));
        let mut lines: Vec<_> = counts.collect();
        lines.extend(failures.iter().cloned());
        lines.join("\n")
    });
    match failures.len() {
        0 => Ok(()),
        n => bail!(
            "{n} records were not saved; correct them and import the file again (records that \
        are already saved are merged)"
        ),
    }
}

/// Returns the save of an exported record in a project.
fn save_request(mut record: Value, project: &str) -> Value {
    record["project_key"] = project.into();
    // The CI status of another installation; this service derives its own from its CI results.
    record.as_object_mut().and_then(|record| record.remove("ci_status"));
    record
}

/// Parses one record or a list of records.
pub fn parse(yaml: &str) -> Result<Vec<Value>> {
    let value: Value = serde_norway::from_str(yaml).context("the file is not YAML with records")?;
    let records = match value {
        Value::Array(records) => records,
        record => vec![record],
    };
    match records.iter().position(|record| !record.is_object()) {
        None if records.is_empty() => bail!("the file has no records"),
        None => Ok(records),
        Some(index) => bail!(
            "record {} is not a mapping; write a mapping with kind and content, or a list of them",
            index + 1
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_list_is_an_error() {
        let error = parse("[]").expect_err("no records");
        assert_eq!(error.to_string(), "the file has no records");
    }

    #[test]
    fn one_mapping_is_one_record() {
        let yaml = "kind: fact\ncontent: \"проверь delay_unit\"\nscope: [\"cart_sessions\"]\nttl: \
                    2026-06-01\n";
        let records = parse(yaml).expect("records");
        assert_eq!(records.len(), 1);
        assert_eq!(records[0]["ttl"], "2026-06-01");
        assert!(parse("just words").is_err());
        let mixed = parse("- kind: fact\n- just words\n").expect_err("a list item of words");
        assert!(mixed.to_string().starts_with("record 2 is not a mapping"), "{mixed}");
    }

    #[test]
    fn exported_ci_status_is_not_saved() {
        let exported = mc_memory::export::exported(json!({
            "kind": "fact", "content": "c", "ci_status": "passed", "meta": {"patch_sha": "a1"},
        }));
        assert_eq!(exported["ci_status"], "passed");
        let expected = json!({
            "project_key": "shop", "kind": "fact", "content": "c", "meta": {"patch_sha": "a1"},
        });
        assert_eq!(save_request(exported, "shop"), expected);
    }
}
