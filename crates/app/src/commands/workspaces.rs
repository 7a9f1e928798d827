//! `memory-copilot workspaces`.

use anyhow::Result;
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::cli::WorkspacesCommand;
use crate::output::{self, Format, number, one_line, text, time};
use crate::prompt;

pub async fn run(command: WorkspacesCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        WorkspacesCommand::List { project, all, page } => {
            let mut query = vec![("project_key", project.project.as_str())];
            query.extend(all.then_some(("all", "true")));
            format.print(&remote.page("/workspaces", &query, &page).await?, table);
        }
        WorkspacesCommand::Delete { id, consent } => {
            let consequence = "This deletes the files of the workspace, and all changes of them.";
            let id = id.to_string();
            prompt::require_consent(consent.yes, consequence, &id)?;
            remote.delete(&format!("/workspaces/{id}")).await?;
            output::line("Deleted.");
        }
    }
    Ok(())
}

fn table(page: &Value) -> String {
    let header = ["id", "repository", "ref", "state", "user", "MiB", "used", "expires"];
    output::page_table(page, header, |workspace| {
        [
            text(workspace, "workspaceId").to_owned(),
            format!("{}/{}", one_line(workspace, "owner"), one_line(workspace, "name")),
            one_line(workspace, "ref"),
            text(workspace, "state").to_owned(),
            one_line(workspace, "user"),
            (number(workspace, "sizeBytes") >> 20).to_string(),
            time(workspace, "usedAt", 16),
            time(workspace, "expiresAt", 16),
        ]
    })
}
