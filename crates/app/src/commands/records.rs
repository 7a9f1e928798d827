//! `memory-copilot records`.

use anyhow::{Result, ensure};
use mc_domain::RecordId;
use serde_json::{Map, Value, json};

use crate::api_client::ApiClient;
use crate::cli::{RecordsCommand, RecordsEditArgs, RecordsListArgs};
use crate::input;
use crate::output::{
    self, Format, excerpt, joined, list, number, one_line, replacement, text, time,
};

pub async fn run(command: RecordsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        RecordsCommand::List(args) => format.print(&list_records(&args, remote).await?, table),
        RecordsCommand::Show { id } => {
            format.print(&record(id, remote).await?, details);
        }
        RecordsCommand::History { id } => {
            let record = record(id, remote).await?;
            let history = json!({
                "versions": record["versions"], "contributions": record["contributions"],
                "version": record["version"], "title": record["title"],
            });
            format.print(&history, versions);
        }
        RecordsCommand::Edit(args) => {
            let record = edit(*args, remote).await?;
            format.print(&record, |record| done("Changed", record));
        }
        RecordsCommand::Confirm { id, record_version } => {
            let path = format!("/records/{id}/confirm");
            let record = remote.post(&path, json!({ "version": record_version })).await?;
            format.print(&record, |record| done("Confirmed", record));
        }
        RecordsCommand::Share { id } => {
            let shared = remote.post(&format!("/records/{id}/share"), json!({})).await?;
            format.print(&shared, |shared| match text(shared, "visibility") {
                "proposed" => "Proposed: a member of the team has to accept it.".to_owned(),
                _ => "Shared with the team.".to_owned(),
            });
        }
        RecordsCommand::Delete { id } => {
            remote.delete(&format!("/records/{id}")).await?;
            output::line(&format!(
                "Deleted. A maintainer can bring it back: memory-copilot records restore {id}"
            ));
        }
        RecordsCommand::Restore { id, record_version } => {
            let path = format!("/records/{id}/rollback");
            let record = remote.post(&path, json!({ "version": record_version })).await?;
            format.print(&record, |record| done("Restored", record));
        }
    }
    Ok(())
}

async fn record(id: RecordId, remote: &ApiClient) -> Result<Value> {
    remote.get(&format!("/records/{id}"), &[]).await
}

async fn list_records(args: &RecordsListArgs, remote: &ApiClient) -> Result<Value> {
    let mut query = vec![("project_key", args.project.project.as_str())];
    query.extend(args.kind.map(|kind| ("kind", kind.as_str())));
    query.extend(args.visibility.map(|visibility| ("visibility", visibility.as_str())));
    query.extend(args.saved_by.as_deref().map(|login| ("saved_by", login)));
    query.extend(args.source.as_deref().map(|source| ("source", source)));
    remote.page("/records", &query, &args.page).await
}

/// Sends the named changes. Without a version, they apply to the present one.
async fn edit(args: RecordsEditArgs, remote: &ApiClient) -> Result<Value> {
    let id = args.id;
    let record_version = args.record_version;
    let mut changes = changes(args)?;
    let version = match record_version {
        Some(version) => version.into(),
        None => record(id, remote).await?["version"].clone(),
    };
    changes.insert("version".to_owned(), version);
    remote.patch(&format!("/records/{id}"), changes.into()).await
}

fn changes(args: RecordsEditArgs) -> Result<Map<String, Value>> {
    let mut changes = Map::new();
    let mut set = |field: &str, value: Option<Value>| {
        changes.extend(value.map(|value| (field.to_owned(), value)));
    };
    set("title", args.title.map(Value::from));
    let content = args.content_file.map(|file| input::text(&file)).transpose()?;
    set("content", content.map(Value::from));
    set("kind", args.kind.map(|kind| kind.as_str().into()));
    set("scope", replacement(&args.scope));
    set("tags", replacement(&args.tags));
    set("owner", args.owner.map(Value::from));
    set("ttl", args.ttl.map(Value::from));
    ensure!(!changes.is_empty(), "nothing to change; name a field, such as --title");
    Ok(changes)
}

fn done(verb: &str, record: &Value) -> String {
    format!("{verb}: {} version {}", text(record, "id"), number(record, "version"))
}

fn table(page: &Value) -> String {
    output::page_table(page, ["id", "kind", "trust", "state", "changed", "title"], |record| {
        let state = match (text(record, "visibility"), text(record, "state")) {
            ("team", state) => state.to_owned(),
            (visibility, "active") => visibility.to_owned(),
            (visibility, state) => format!("{visibility}, {state}"),
        };
        [
            text(record, "id").to_owned(),
            text(record, "kind").to_owned(),
            text(record, "trust").to_owned(),
            state,
            time(record, "updated_at", 10),
            title(record),
        ]
    })
}

/// Returns the title, or the beginning of the content.
fn title(record: &Value) -> String {
    match text(record, "title") {
        "" => excerpt(record, "content"),
        _ => one_line(record, "title"),
    }
}

fn details(record: &Value) -> String {
    let cites: Vec<_> = list(record, "citations").iter().map(citation).collect();
    let usage = format!(
        "recalled {}, used {}",
        number(record, "recall_count"),
        number(record, "use_count")
    );
    output::fields(&[
        ("id", text(record, "id").to_owned()),
        ("title", one_line(record, "title")),
        ("kind", text(record, "kind").to_owned()),
        ("state", text(record, "state").to_owned()),
        ("visibility", text(record, "visibility").to_owned()),
        ("trust", text(record, "trust").to_owned()),
        ("version", number(record, "version").to_string()),
        ("scope", joined(record, "scope")),
        ("tags", joined(record, "tags")),
        ("owner", one_line(record, "owner")),
        ("task", one_line(record, "task_external_id")),
        ("expires", expiry(record)),
        ("saved", time(record, "created_at", 19)),
        ("changed", time(record, "updated_at", 19)),
        ("usage", usage),
        ("cites", cites.join("\n")),
        ("superseded by", text(record, "superseded_by").to_owned()),
        ("content", text(record, "content").to_owned()),
    ])
}

fn expiry(record: &Value) -> String {
    if record["ttl"].is_null() { "never".to_owned() } else { time(record, "ttl", 10) }
}

fn citation(citation: &Value) -> String {
    let symbol = citation["symbol"].as_str().map(|_| format!("#{}", one_line(citation, "symbol")));
    let lines = citation["line_start"]
        .as_i64()
        .map(|start| format!(":{start}-{}", citation["line_end"].as_i64().unwrap_or(start)));
    format!(
        "{}{}{} ({})",
        one_line(citation, "file"),
        symbol.unwrap_or_default(),
        lines.unwrap_or_default(),
        text(citation, "verdict")
    )
}

fn versions(history: &Value) -> String {
    let present = format!(
        "Version {} is the present one: {}",
        number(history, "version"),
        one_line(history, "title")
    );
    let earlier = list(history, "versions").iter().map(|version| {
        format!(
            "Version {}, until {}{}: {}\n  {}\n  {}",
            number(version, "version"),
            time(version, "changed_at", 19),
            by(version, "changed_by"),
            one_line(version, "reason"),
            one_line(version, "title"),
            output::indented(version, "content", 2)
        )
    });
    let contributions = list(history, "contributions").iter().map(|contribution| {
        let source = match text(contribution, "source") {
            "" => String::new(),
            _ => format!(", from {}", one_line(contribution, "source")),
        };
        format!(
            "  version {}: {}{}{source}",
            number(contribution, "version"),
            time(contribution, "saved_at", 19),
            by(contribution, "saved_by"),
        )
    });
    let contributions: Vec<_> = contributions.collect();
    let sections = std::iter::once(present)
        .chain(earlier)
        .chain([format!("Contributions\n{}", contributions.join("\n"))]);
    sections.collect::<Vec<_>>().join("\n\n")
}

fn by(item: &Value, field: &str) -> String {
    item[field].as_str().map(|_| format!(" by {}", one_line(item, field))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn edit_args(args: &[&str]) -> RecordsEditArgs {
        let id = "019a0000-0000-7000-8000-000000000002";
        let args = [&["memory-copilot", "records", "edit", id], args].concat();
        match Cli::try_parse_from(args).expect("a command").command {
            Command::Records(RecordsCommand::Edit(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn edit_sends_only_what_is_named() {
        let sent = changes(edit_args(&["--title", "T", "--tag", "a", "--tag", "b", "--scope", ""]));
        let expected = json!({"title": "T", "tags": ["a", "b"], "scope": []});
        assert_eq!(Value::from(sent.expect("changes")), expected);
        let error = changes(edit_args(&[])).expect_err("nothing").to_string();
        assert!(error.contains("--title"), "{error}");
    }

    #[test]
    fn text_of_a_record_adds_no_line_to_a_list() {
        let record = json!({
            "id": "1", "kind": "fact", "visibility": "private", "state": "stale",
            "title": "a\nforged", "updated_at": "2026-11-20T10:00:00Z", "trust": "team",
        });
        let table = table(&json!({ "items": [record] }));
        assert!(table.contains(r"a\nforged") && table.contains("private, stale"), "{table}");
        assert_eq!(table.lines().count(), 2, "{table}");
    }

    #[test]
    fn history_names_each_version_and_contributor() {
        let history = json!({
            "version": 2, "title": "Units must match",
            "versions": [{"version": 1, "changed_at": "2026-11-20T10:00:00Z", "changed_by": "vera",
                          "reason": "merged", "title": "Units", "content": "one\ntwo"}],
            "contributions": [{"version": 1, "saved_at": "2026-11-19T10:00:00Z",
                               "saved_by": "vera", "source": "wiki"}],
        });
        let shown = versions(&history);
        for part in [
            "Version 2 is the present one: Units must match",
            "Version 1, until 2026-11-20T10:00:00 by vera: merged",
            "  one\n  two",
            "  version 1: 2026-11-19T10:00:00 by vera, from wiki",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }
}
