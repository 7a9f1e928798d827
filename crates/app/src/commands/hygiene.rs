//! `memory-copilot hygiene`.

use anyhow::Result;
use mc_contract::operations::hygiene::RunHygiene;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::HygieneCommand;
use crate::output::{self, Format, text, time};

pub async fn run(command: HygieneCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        HygieneCommand::List { project, task, page } => {
            let query: Vec<_> = task.iter().map(|task| ("task", task.as_str())).collect();
            let runs = remote.page(&project.path("hygiene-runs")?, &query, &page).await?;
            format.print(&runs, reports);
        }
        HygieneCommand::Show { id, project } => {
            let report = remote.get(&project.path(&format!("hygiene-runs/{id}"))?, &[]).await?;
            format.print(&report, output::json);
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
