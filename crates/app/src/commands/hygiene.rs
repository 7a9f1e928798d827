//! `memory-copilot hygiene`.

use anyhow::Result;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::hooks::path;
use super::{exports, set_aside};
use crate::cli::HygieneCommand;
use crate::output::{self, Format, list, text, time};
use crate::remote::Remote;

/// Characters that are shown of what a record says.
const SHOWN: usize = 100;

/// Has a project's memory put in order, and shows what was found.
pub async fn run(command: HygieneCommand, remote: &Remote, format: Format) -> Result<()> {
    match command {
        HygieneCommand::List { project, task, limit } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(task.map(|task| ("task", task.as_str())));
            format.print(&remote.get(&path(&project, "hygiene")?, &query).await?, reports);
        }
        HygieneCommand::Show { id, project } => {
            let report = remote.get(&path(&project, &format!("hygiene/{id}"))?, &[]).await?;
            format.print(&report, pretty);
        }
        HygieneCommand::Run { task, project, dry_run, held_ends } => {
            let mut request = json!({ "task": task, "dry_run": dry_run });
            if let Some(decision) = held_ends {
                request["held_ends"] = json!(decision);
            }
            let report = remote.post(&path(&project, "hygiene")?, request).await?;
            format.print(&report, |report: &Value| {
                let id = text(report, "id");
                format!("It waits for a worker. What came of it: memory-copilot hygiene show {id}")
            });
        }
        HygieneCommand::Duplicates { project, limit } => {
            let limit = limit.to_string();
            let page = remote.get(&path(&project, "duplicates")?, &[("limit", &limit)]).await?;
            format.print(&page, clusters);
        }
        HygieneCommand::Accept { id, project, keep } => {
            let path = path(&project, &format!("duplicates/{id}/accept"))?;
            let record = remote.post(&path, json!({ "keep": keep })).await?;
            format.print(&record, |record: &Value| format!("It stays: {}", text(record, "id")));
        }
        HygieneCommand::Dismiss { id, project } => {
            let path = path(&project, &format!("duplicates/{id}/dismiss"))?;
            remote.post(&path, json!({})).await?;
            output::line("Dismissed.");
        }
        HygieneCommand::Noise { project } => set_aside::show(&project, remote, format).await?,
        HygieneCommand::Keep { id, seen } => set_aside::keep(id, seen, remote, format).await?,
        HygieneCommand::Drop { id, reason } => set_aside::let_go(id, &reason, remote).await?,
        HygieneCommand::Exports { project } => exports::show_all(&project, remote, format).await?,
        HygieneCommand::Export { id, project, output } => {
            exports::fetch(id, &project, output.as_deref(), remote).await?;
        }
    }
    Ok(())
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn reports(page: &Value) -> String {
    let reports = list(page, "reports");
    if reports.is_empty() {
        return "There are none.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "task", "asked", "by", "ended", "counts", "error"]);
    for report in reports {
        let dry = if report["dry_run"] == true { " (dry run)" } else { "" };
        table.add_row([
            text(report, "id").to_owned(),
            format!("{}{dry}", text(report, "task")),
            time(report, "asked_at", 19),
            report["asked_by"].as_str().unwrap_or("the clock").to_owned(),
            time(report, "ended_at", 19),
            counts(report),
            text(report, "error").to_owned(),
        ]);
    }
    table.to_string()
}

/// Those that are not zero, in a line.
fn counts(report: &Value) -> String {
    let counts = report["counts"].as_object().into_iter().flatten();
    let counts = counts.filter(|(_, count)| **count != 0);
    counts.map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>().join(", ")
}

fn clusters(page: &Value) -> String {
    let clusters = list(page, "clusters");
    if clusters.is_empty() {
        return "There are none.".to_owned();
    }
    let cluster = |cluster: &Value| {
        let records = list(cluster, "records").iter().enumerate().map(|(at, record)| {
            let mark = if at == 0 { "stays" } else { "goes " };
            let said: String = text(record, "content").chars().take(SHOWN).collect();
            format!("  {mark} {}  {}", text(record, "id"), said.replace('\n', " "))
        });
        let records: Vec<_> = records.collect();
        format!("{}\n{}", text(cluster, "id"), records.join("\n"))
    };
    clusters.iter().map(cluster).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_reports_names_what_was_counted_and_who_asked() {
        let report = json!({
            "id": "1", "task": "quality", "dry_run": true, "asked_at": "2026-11-22T02:20:00.5Z",
            "counts": {"noise": 2, "retired": 0, "records": 9},
        });
        let table = reports(&json!({ "reports": [report] }));
        assert!(table.contains("quality (dry run)") && table.contains("the clock"), "{table}");
        assert!(table.contains("noise 2, records 9"), "{table}");
        assert_eq!(reports(&json!({ "reports": [] })), "There are none.");
    }

    #[test]
    fn of_records_that_say_the_same_the_first_stays() {
        let record = |id: &str| json!({"id": id, "content": "said\ntwice"});
        let cluster = json!({"id": "c", "records": [record("a"), record("b")]});
        let shown = clusters(&json!({ "clusters": [cluster] }));
        assert_eq!(shown, "c\n  stays a  said twice\n  goes  b  said twice");
    }
}
