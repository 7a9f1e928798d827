//! `memory-copilot teams`.

use anyhow::Result;
use mc_contract::text::TeamKey;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::TeamsCommand;
use crate::output::{self, Format, list, one_line, text, time};
use crate::prompt;

pub async fn run(command: TeamsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        TeamsCommand::List => format.print(&remote.get("/teams", &[]).await?, table),
        TeamsCommand::Create { key, name } => {
            let team = remote.post("/teams", json!({ "key": key, "name": name })).await?;
            format.print(&team, |team| {
                format!("Created: {}. You are its administrator.", text(team, "key"))
            });
        }
        TeamsCommand::Members { team } => {
            let members = remote.get(&format!("{}/members", path(&team)), &[]).await?;
            format.print(&members, members_table);
        }
        TeamsCommand::SetMember { team, login, role } => {
            let path = format!("{}/members/{}", path(&team), login.as_str());
            remote.put(&path, json!({ "role": role })).await?;
            let (login, team) = (login.as_str(), team.as_str());
            output::line(&format!("{login} has the role {role} in {team}."));
        }
        TeamsCommand::RemoveMember { team, login } => {
            remote.delete(&format!("{}/members/{}", path(&team), login.as_str())).await?;
            let (login, team) = (login.as_str(), team.as_str());
            output::line(&format!("{login} is no longer in {team}."));
        }
        TeamsCommand::Delete { team, consent } => {
            let consequence =
                format!("This deletes the team {}, and the roles that it gave.", team.as_str());
            prompt::require_consent(consent.yes, &consequence, team.as_str())?;
            remote.delete(&path(&team)).await?;
            output::line("Deleted.");
        }
    }
    Ok(())
}

fn path(team: &TeamKey) -> String {
    format!("/teams/{}", team.as_str())
}

fn table(page: &Value) -> String {
    output::page_table(page, ["key", "name", "created"], |team| {
        [text(team, "key").to_owned(), one_line(team, "name"), time(team, "created_at", 10)]
    })
}

fn members_table(members: &Value) -> String {
    let page = json!({ "items": list(members, "users") });
    output::page_table(&page, ["login", "role", "since"], |member| {
        [one_line(member, "name"), text(member, "role").to_owned(), time(member, "added_at", 10)]
    })
}
