//! `memory-copilot jobs`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::JobsCommand;
use crate::output::{self, Format, number, text, time};

pub async fn run(command: JobsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        JobsCommand::List { all, state, kind, page } => {
            let mut query = Vec::new();
            if !all && state.is_none() && kind.is_none() {
                query.push(("hide_housekeeping", "true"));
            }
            query.extend(state.map(|state| ("state", state.as_str())));
            query.extend(kind.as_deref().map(|kind| ("kind", kind)));
            format.print(&remote.page("/jobs", &query, &page).await?, table);
        }
        JobsCommand::Show { id } => {
            let job = remote.get(&format!("/jobs/{id}"), &[]).await?;
            format.print(&job, output::json);
        }
        JobsCommand::Retry { id } => {
            let job = remote.post(&format!("/jobs/{id}/retry"), json!({})).await?;
            format.print(&job, |job: &Value| {
                format!("Queued again: {} {}", text(job, "kind"), text(job, "id"))
            });
        }
        JobsCommand::Delete { id } => {
            remote.delete(&format!("/jobs/{id}")).await?;
            output::line("Deleted.");
        }
    }
    Ok(())
}

fn table(page: &Value) -> String {
    let header = ["id", "kind", "state", "attempts", "scheduled", "completed", "error"];
    output::page_table(page, header, |job| {
        [
            text(job, "id").to_owned(),
            text(job, "kind").to_owned(),
            text(job, "state").to_owned(),
            format!("{} of {}", number(job, "attempts"), number(job, "max_attempts")),
            time(job, "scheduled_at", 19),
            time(job, "completed_at", 19),
            text(job, "last_error").to_owned(),
        ]
    })
}
