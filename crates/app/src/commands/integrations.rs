//! `memory-copilot integrations` and `memory-copilot connectors`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::{ConnectorsCommand, IntegrationsCommand};
use crate::output::{self, Format, list, number, text, time};

pub async fn run(command: IntegrationsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        IntegrationsCommand::Create {
            connector,
            resource,
            project,
            capability,
            interval_minutes,
            no_comments,
        } => {
            let request = json!({
                "connector": connector, "resource": resource, "capability": capability,
                "interval_minutes": interval_minutes,
                "include_comments": !no_comments,
            });
            let made = remote.post(&project.path("integrations")?, request).await?;
            format.print(&made, |made: &Value| {
                format!("Created: {}\nIts first sync is queued.", text(made, "id"))
            });
        }
        IntegrationsCommand::List { project } => {
            let found = remote.get(&project.path("integrations")?, &[]).await?;
            format.print(&found, table);
        }
        IntegrationsCommand::Sync { id, project } => {
            let asked =
                remote.post(&project.path(&format!("integrations/{id}/sync"))?, json!({})).await?;
            format.print(&asked, |_: &Value| "The sync is queued.".to_owned());
        }
        IntegrationsCommand::Pause { id, project } => {
            let path = project.path(&format!("integrations/{id}"))?;
            let paused = remote.patch(&path, json!({ "is_paused": true })).await?;
            format.print(&paused, |_: &Value| "Paused.".to_owned());
        }
        IntegrationsCommand::Resume { id, project } => {
            let path = project.path(&format!("integrations/{id}"))?;
            let resumed = remote.patch(&path, json!({ "is_paused": false })).await?;
            format.print(&resumed, |resumed: &Value| {
                format!("Resumed; next sync at {}.", time(resumed, "next_sync_at", 19))
            });
        }
        IntegrationsCommand::Delete { id, project, purge } => {
            let query = [("purge", if purge { "true" } else { "false" })];
            remote.delete_with(&project.path(&format!("integrations/{id}"))?, &query).await?;
            output::line(if purge { "Deleted, with the data that it synced." } else { "Deleted." });
        }
    }
    Ok(())
}

pub async fn connectors(
    command: ConnectorsCommand,
    remote: &ApiClient,
    format: Format,
) -> Result<()> {
    let ConnectorsCommand::List { project } = command;
    let key = project.key()?;
    let found = remote.get("/connectors", &[("project_key", key.as_str())]).await?;
    format.print(&found, connectors_table);
    Ok(())
}

fn table(page: &Value) -> String {
    let header = [
        "id",
        "connector",
        "resource",
        "capability",
        "interval",
        "current run",
        "last run",
        "next sync",
        "tasks",
        "documents",
        "error",
    ];
    output::page_table(page, header, |one| {
        let is_paused = one["is_paused"] == true;
        [
            text(one, "id").to_owned(),
            text(one, "connector").to_owned(),
            text(one, "resource").to_owned(),
            text(one, "capability").to_owned(),
            format!("{} min", one["interval_minutes"]),
            current_run(one),
            last_run(one),
            if is_paused { "paused".to_owned() } else { time(one, "next_sync_at", 19) },
            one["task_count"].to_string(),
            one["document_count"].to_string(),
            text(one, "last_error").to_owned(),
        ]
    })
}

/// Describes the running sync; returns a dash if there is none.
fn current_run(integration: &Value) -> String {
    let run = &integration["current_run"];
    if run.is_null() {
        return "-".to_owned();
    }
    format!("since {}: {}", time(run, "started_at", 19), counts(run))
}

/// Describes the last sync; returns a dash if there was none.
fn last_run(integration: &Value) -> String {
    let run = &integration["last_run"];
    if run.is_null() {
        return time(integration, "last_success_at", 19);
    }
    let how = if run["has_failed"] == true { "failed after " } else { "" };
    format!("{}: {how}{}", time(run, "completed_at", 19), counts(run))
}

fn counts(run: &Value) -> String {
    let (pages, items) = (number(run, "pages_fetched"), number(run, "items_synced"));
    let s = if pages == 1 { "" } else { "s" };
    format!("{items} from {pages} page{s}")
}

fn connectors_table(page: &Value) -> String {
    let connectors = list(page, "items");
    if connectors.is_empty() {
        return "The project may use no connector. The operator configures them in `connectors`."
            .to_owned();
    }
    let header =
        ["name", "provider", "integrations", "failing", "last success", "next sync", "error"];
    output::table(header, connectors, |one| {
        [
            text(one, "name").to_owned(),
            text(one, "provider").to_owned(),
            one["integration_count"].to_string(),
            one["failing_count"].to_string(),
            time(one, "last_success_at", 19),
            time(one, "next_sync_at", 19),
            text(one, "last_error").to_owned(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn capability_must_be_a_known_value() {
        let read = |words: &[&str]| {
            let command =
                ["memory-copilot", "integrations", "create", "-p", "shop", "our-jira", "CS"];
            Cli::try_parse_from(command.iter().chain(words))
        };
        let command = read(&["--capability", "issues"]).expect("a command").command;
        assert!(matches!(
            command,
            Command::Integrations(IntegrationsCommand::Create {
                capability: Some(mc_domain::Capability::Issues),
                ..
            })
        ));
        let said = read(&["--capability", "wiki"]).expect_err("no such word").to_string();
        assert!(said.contains("pages") && said.contains("refs"), "{said}");
    }

    #[test]
    fn paused_integration_has_no_next_sync() {
        let page = json!({ "items": [{"id": "1", "is_paused": true, "interval_minutes": 15,
                                           "next_sync_at": "2026-11-22T10:00:00Z", "task_count": 3,
                                           "document_count": 0}]});
        let shown = table(&page);
        assert!(shown.contains("paused") && !shown.contains("2026-11-22"), "{shown}");
    }

    #[test]
    fn running_integration_shows_its_progress_and_its_last_run() {
        let page = json!({ "items": [{
            "id": "1", "interval_minutes": 15, "next_sync_at": "2026-11-22T10:00:00Z",
            "task_count": 3, "document_count": 0,
            "current_run": {"started_at": "2026-11-22T09:59:00Z", "pages_fetched": 1,
                            "items_synced": 40},
            "last_run": {"completed_at": "2026-11-22T09:45:00Z", "has_failed": true,
                         "pages_fetched": 3, "items_synced": 120},
        }]});
        let shown = table(&page);
        assert!(shown.contains("since 2026-11-22T09:59:00: 40 from 1 page"), "{shown}");
        assert!(!shown.contains("1 pages"), "{shown}");
        assert!(shown.contains("2026-11-22T09:45:00: failed after 120 from 3 pages"), "{shown}");
    }
}
