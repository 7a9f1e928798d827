//! `memory-copilot projects` and `members`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::{GranteeArgs, MembersCommand, ProjectsCommand};
use crate::output::{self, Format, list, number, one_line, text, time};
use crate::prompt;

pub async fn run(command: ProjectsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        ProjectsCommand::List => format.print(&remote.get("/projects", &[]).await?, table),
        ProjectsCommand::Show { project } => {
            let path = format!("/projects/{}", project.key()?);
            format.print(&remote.get(&path, &[]).await?, details);
        }
        ProjectsCommand::Create { key, name } => {
            let project = remote.post("/projects", json!({ "key": key, "name": name })).await?;
            format.print(&project, |project| {
                format!("{}: you are its {}.", text(project, "key"), text(project, "role"))
            });
        }
        ProjectsCommand::ChatUsage { project, days } => {
            let days = days.to_string();
            let usage = remote.get(&project.path("chat-usage")?, &[("days", &days)]).await?;
            format.print(&usage, chat_usage);
        }
        ProjectsCommand::Rename { project, name } => {
            let path = format!("/projects/{}", project.key()?);
            let project = remote.patch(&path, json!({ "name": name })).await?;
            format.print(&project, |project| {
                format!("Renamed: {} ({})", one_line(project, "name"), text(project, "key"))
            });
        }
        ProjectsCommand::Delete { project, consent } => {
            let key = project.key()?;
            let consequence = format!("This permanently deletes the project {key} with its data.");
            prompt::require_consent(consent.yes, &consequence, key.as_str())?;
            remote.delete(&format!("/projects/{key}")).await?;
            output::line("Deleted. Its audit log stays: memory-copilot audit list shows its id.");
        }
    }
    Ok(())
}

fn table(page: &Value) -> String {
    output::page_table(page, ["key", "name", "your role", "created"], |project| {
        [
            text(project, "key").to_owned(),
            one_line(project, "name"),
            text(project, "role").to_owned(),
            time(project, "created_at", 10),
        ]
    })
}

fn details(project: &Value) -> String {
    let count = |name: &'static str, field| (name, number(project, field).to_string());
    output::fields(&[
        ("key", text(project, "key").to_owned()),
        ("name", one_line(project, "name")),
        ("your role", text(project, "role").to_owned()),
        ("created", time(project, "created_at", 10)),
        count("records", "records"),
        count("stale records", "stale_records"),
        count("documents", "docs"),
        count("dialogs", "dialogs"),
        count("tasks", "tasks"),
        count("repositories", "repositories"),
        count("files", "files"),
        count("passages", "passages"),
        count("without vector", "pending_vectors"),
    ])
}

fn chat_usage(usage: &Value) -> String {
    let header = ["day", "model", "role", "requests", "failed", "tokens", "cost"];
    let table = output::page_table(usage, header, |day| {
        let tokens = number(day, "prompt_tokens") + number(day, "completion_tokens");
        [
            text(day, "day").to_owned(),
            one_line(day, "model"),
            text(day, "role").to_owned(),
            number(day, "request_count").to_string(),
            number(day, "failed_count").to_string(),
            tokens.to_string(),
            format!("{:.4}", day["cost"].as_f64().unwrap_or_default()),
        ]
    });
    let (used, budget) = (number(usage, "used_tokens"), number(usage, "budget_tokens"));
    format!("{table}\n{used} of {budget} tokens of today (UTC) are used or reserved.")
}

pub async fn members(command: MembersCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        MembersCommand::List { project } => {
            format.print(&remote.get(&project.path("members")?, &[]).await?, members_table);
        }
        MembersCommand::Set { grantee, role, project } => {
            remote.put(&project.path(&resource(&grantee))?, json!({ "role": role })).await?;
            let name = grantee.name.as_str();
            output::line(&format!("{name} has the role {role} on {}.", project.key()?));
        }
        MembersCommand::Remove { grantee, project } => {
            remote.delete(&project.path(&resource(&grantee))?).await?;
            let name = grantee.name.as_str();
            output::line(&format!("{name} has lost the role on {}.", project.key()?));
        }
    }
    Ok(())
}

fn resource(grantee: &GranteeArgs) -> String {
    let name = grantee.name.as_str();
    if grantee.team { format!("teams/{name}") } else { format!("members/{name}") }
}

fn members_table(members: &Value) -> String {
    let named = |field: &str, kind: &str| {
        let grantees = list(members, field).iter().cloned();
        let named = grantees.map(|mut grantee| {
            grantee["kind"] = kind.into();
            grantee
        });
        named.collect::<Vec<_>>()
    };
    let all = [named("users", "user"), named("teams", "team")].concat();
    output::page_table(&json!({ "items": all }), ["name", "kind", "role", "since"], |grantee| {
        [
            one_line(grantee, "name"),
            text(grantee, "kind").to_owned(),
            text(grantee, "role").to_owned(),
            time(grantee, "added_at", 10),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_users_and_teams() {
        let grantee = |name| json!({"name": name, "role": "member", "added_at": "2026-11-20T10"});
        let shown =
            members_table(&json!({"users": [grantee("vera")], "teams": [grantee("platform")]}));
        assert!(shown.contains("vera") && shown.contains("team"), "{shown}");
        assert_eq!(shown.lines().count(), 3, "{shown}");
    }
}
