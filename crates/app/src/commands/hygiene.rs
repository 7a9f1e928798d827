//! `memory-copilot hygiene`.

use anyhow::Result;
use mc_contract::operations::hygiene::RunHygiene;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::HygieneCommand;
use crate::output::{self, Format, list, text, time};
use crate::terminal;

pub async fn run(command: HygieneCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        HygieneCommand::List { project, task, page } => {
            let query: Vec<_> = task.iter().map(|task| ("task", task.as_str())).collect();
            let runs = remote.page(&project.path("hygiene-runs")?, &query, &page).await?;
            format.print(&runs, reports);
        }
        HygieneCommand::Show { id, project } => {
            let report = remote.get(&project.path(&format!("hygiene-runs/{id}"))?, &[]).await?;
            format.print(&report, report_text);
        }
        HygieneCommand::Run { task, project, dry_run, expiry_decision } => {
            let request = json!(RunHygiene { task, dry_run, expiry_decision });
            let report = remote.post(&project.path("hygiene-runs")?, request).await?;
            format.print(&report, |report: &Value| {
                let id = text(report, "id");
                format!("The task is queued. See its run with `memory-copilot hygiene show {id}`.")
            });
        }
    }
    Ok(())
}

fn reports(page: &Value) -> String {
    let header = ["id", "task", "requested", "by", "completed", "counts", "error"];
    output::page_table(page, header, |report| {
        let dry = if report["dry_run"] == true { " (dry run)" } else { "" };
        [
            text(report, "id").to_owned(),
            format!("{}{dry}", text(report, "task")),
            time(report, "requested_at", 19),
            report["requested_by"].as_str().unwrap_or("schedule").to_owned(),
            time(report, "completed_at", 19),
            counts(report),
            text(report, "last_error").to_owned(),
        ]
    })
}

/// Formats a run with its findings, one a line.
fn report_text(report: &Value) -> String {
    let dry = if report["dry_run"] == true { " (dry run, nothing was changed)" } else { "" };
    let requester = report["requested_by"].as_str().unwrap_or("the schedule");
    let counts = match counts(report) {
        counts if counts.is_empty() => "none".to_owned(),
        counts => counts,
    };
    let mut lines = vec![
        format!("{}{dry}", text(report, "task")),
        format!("requested {} by {requester}", time(report, "requested_at", 19)),
        format!(
            "started   {}, completed {}",
            time(report, "started_at", 19),
            time(report, "completed_at", 19)
        ),
        format!("counts    {counts}"),
    ];
    if let Some(error) = report["last_error"].as_str() {
        lines.push(format!("error     {error}"));
    }
    let findings = list(report, "findings");
    if !findings.is_empty() {
        lines.push(format!("findings  {}", findings.len()));
    }
    lines.extend(findings.iter().map(|finding| format!("  - {}", shown(finding))));
    lines.iter().map(terminal::line).collect::<Vec<_>>().join("\n")
}

/// Formats a part of a finding, whose shape depends on the task, without the signs of JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", shown(value)),
                value => format!("{name} {}", shown(value)),
            });
            fields.collect::<Vec<_>>().join("; ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the counts above zero.
fn counts(report: &Value) -> String {
    let counts = report["counts"].as_object().into_iter().flatten();
    let counts = counts.filter(|(_, count)| **count != 0);
    counts.map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_shown_as_text_with_its_findings() {
        let report = json!({
            "id": "1", "task": "duplicates", "dry_run": true, "requested_by": "vera",
            "requested_at": "2026-11-20T10:00:00Z", "started_at": "2026-11-20T10:00:01Z",
            "counts": {"clusters": 1, "records": 0},
            "findings": [{"keep": "r1", "same": ["r2", "r3"], "similarity": 0.92},
                         {"record": "r4", "why": {"path": "a\nb", "is_gone": true}}],
        });
        let expected = [
            "duplicates (dry run, nothing was changed)",
            "requested 2026-11-20T10:00:00 by vera",
            "started   2026-11-20T10:00:01, completed -",
            "counts    clusters 1",
            "findings  2",
            "  - keep r1; same r2, r3; similarity 0.92",
            r"  - record r4; why (path a\nb; is_gone true)",
        ];
        assert_eq!(report_text(&report).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn table_of_runs_shows_counts_and_requester() {
        let report = json!({
            "id": "1", "task": "quality", "dry_run": true, "requested_at": "2026-11-22T02:20:00.5Z",
            "counts": {"deleted": 0, "records": 9, "unused": 2},
        });
        let table = reports(&json!({ "items": [report] }));
        assert!(table.contains("quality (dry run)") && table.contains("schedule"), "{table}");
        assert!(table.contains("records 9, unused 2"), "{table}");
        assert_eq!(reports(&json!({ "items": [] })), "There are none.");
    }
}
