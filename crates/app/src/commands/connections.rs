//! `memory-copilot connections`.

use anyhow::{Context, Result};
use comfy_table::{Table, presets};
use mc_domain::ProjectKey;
use serde_json::{Value, json};

use crate::cli::{ConnectionsCommand, ProjectArg};
use crate::output::{self, Format, list, number, text, time};
use crate::remote::Remote;

/// Says which other systems are asked on a project's behalf, and shows how that goes.
pub async fn run(command: ConnectionsCommand, remote: &Remote, format: Format) -> Result<()> {
    match command {
        ConnectionsCommand::Add { system, what, project, ability, every_minutes, no_comments } => {
            let request = json!({
                "system": system, "what": what, "ability": ability, "every_minutes": every_minutes,
                "with_comments": !no_comments,
            });
            let made = remote.post(&path(&project, "")?, request).await?;
            format.print(&made, |made: &Value| {
                format!("Connected: {}\nIts first sync waits for a worker.", text(made, "id"))
            });
        }
        ConnectionsCommand::List { project } => {
            let found = remote.get(&path(&project, "")?, &[]).await?;
            format.print(&found, table);
        }
        ConnectionsCommand::Systems { project } => {
            let key = key(&project)?;
            let found = remote.get("/connectors", &[("project_key", key.as_str())]).await?;
            format.print(&found, systems_table);
        }
        ConnectionsCommand::Sync { id, project } => {
            let asked = remote.post(&path(&project, &format!("/{id}/sync"))?, json!({})).await?;
            format.print(&asked, |_: &Value| "The sync waits for a worker.".to_owned());
        }
        ConnectionsCommand::Pause { id, project } => {
            let change = json!({ "is_paused": true });
            let paused = remote.patch(&path(&project, &format!("/{id}"))?, change).await?;
            format.print(&paused, |_: &Value| "Paused.".to_owned());
        }
        ConnectionsCommand::Resume { id, project } => {
            let change = json!({ "is_paused": false });
            let resumed = remote.patch(&path(&project, &format!("/{id}"))?, change).await?;
            format.print(&resumed, |resumed: &Value| {
                format!("It goes on; next sync at {}.", time(resumed, "due_at", 19))
            });
        }
        ConnectionsCommand::Remove { id, project, forget } => {
            let query = [("forget", if forget { "true" } else { "false" })];
            remote.delete_with(&path(&project, &format!("/{id}"))?, &query).await?;
            output::line(if forget { "Removed, with what came by it." } else { "Removed." });
        }
    }
    Ok(())
}

fn key(project: &ProjectArg) -> Result<ProjectKey> {
    let key = &project.project;
    ProjectKey::parse(key).with_context(|| format!("--project {key}"))
}

fn path(project: &ProjectArg, rest: &str) -> Result<String> {
    Ok(format!("/projects/{}/connections{rest}", key(project)?))
}

fn table(page: &Value) -> String {
    let connections = list(page, "connections");
    if connections.is_empty() {
        return "There are none.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "id",
        "system",
        "what",
        "asked for",
        "every",
        "now",
        "last",
        "next",
        "tasks",
        "documents",
        "error",
    ]);
    for one in connections {
        let is_paused = one["is_paused"] == true;
        table.add_row([
            text(one, "id").to_owned(),
            text(one, "system").to_owned(),
            text(one, "what").to_owned(),
            text(one, "ability").to_owned(),
            format!("{} min", one["every_minutes"]),
            at_work(one),
            last(one),
            if is_paused { "paused".to_owned() } else { time(one, "due_at", 19) },
            one["tasks"].to_string(),
            one["documents"].to_string(),
            text(one, "last_error").to_owned(),
        ]);
    }
    table.to_string()
}

/// Since when a connection is at work, and how far; a dash where it is not.
fn at_work(one: &Value) -> String {
    let round = &one["round"];
    if round.is_null() {
        return "-".to_owned();
    }
    format!("since {}: {}", time(round, "begun_at", 19), counts(round))
}

/// When it last was, and what came; a dash where it never was.
fn last(one: &Value) -> String {
    let round = &one["last_round"];
    if round.is_null() {
        return time(one, "last_ok_at", 19);
    }
    let how = if round["has_failed"] == true { "failed after " } else { "" };
    format!("{}: {how}{}", time(round, "ended_at", 19), counts(round))
}

fn counts(round: &Value) -> String {
    let (pages, things) = (number(round, "pages"), number(round, "things"));
    let s = if pages == 1 { "" } else { "s" };
    format!("{things} from {pages} page{s}")
}

fn systems_table(page: &Value) -> String {
    let systems = list(page, "systems");
    if systems.is_empty() {
        return "There are none that the project may use; the service's operator names them in \
                connectors.systems."
            .to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["name", "kind", "connections", "failing", "last", "next", "error"]);
    for one in systems {
        table.add_row([
            text(one, "name").to_owned(),
            text(one, "kind").to_owned(),
            one["connections"].to_string(),
            one["failing"].to_string(),
            time(one, "last_ok_at", 19),
            time(one, "next_due_at", 19),
            text(one, "last_error").to_owned(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn what_is_asked_for_is_a_word_of_the_vocabulary() {
        let read = |words: &[&str]| {
            let command = ["memory-copilot", "connections", "add", "-p", "shop", "our-jira", "CS"];
            Cli::try_parse_from(command.iter().chain(words))
        };
        let command = read(&["--ability", "issues"]).expect("a command").command;
        assert!(matches!(
            command,
            Command::Connections(ConnectionsCommand::Add {
                ability: Some(mc_domain::Ability::Issues),
                ..
            })
        ));
        let said = read(&["--ability", "wiki"]).expect_err("no such word").to_string();
        assert!(said.contains("pages") && said.contains("heads"), "{said}");
    }

    #[test]
    fn a_connection_that_is_paused_has_no_next_time() {
        let page = json!({"connections": [{"id": "1", "is_paused": true, "every_minutes": 15,
                                           "due_at": "2026-11-22T10:00:00Z", "tasks": 3, "documents": 0}]});
        let shown = table(&page);
        assert!(shown.contains("paused") && !shown.contains("2026-11-22"), "{shown}");
    }

    #[test]
    fn a_connection_at_work_shows_how_far_it_is_and_what_came_last() {
        let page = json!({"connections": [{
            "id": "1", "every_minutes": 15, "due_at": "2026-11-22T10:00:00Z", "tasks": 3, "documents": 0,
            "round": {"begun_at": "2026-11-22T09:59:00Z", "pages": 1, "things": 40},
            "last_round": {"ended_at": "2026-11-22T09:45:00Z", "has_failed": true, "pages": 3, "things": 120},
        }]});
        let shown = table(&page);
        assert!(shown.contains("since 2026-11-22T09:59:00: 40 from 1 page"), "{shown}");
        assert!(!shown.contains("1 pages"), "{shown}");
        assert!(shown.contains("2026-11-22T09:45:00: failed after 120 from 3 pages"), "{shown}");
    }
}
