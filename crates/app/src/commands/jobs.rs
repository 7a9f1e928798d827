//! `memory-copilot jobs`.

use anyhow::Result;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use crate::cli::JobsCommand;
use crate::output::{self, Format, list, number, text, time};
use crate::remote::Remote;

/// Shows the background work, and decides about what was given up.
pub async fn run(command: JobsCommand, remote: &Remote, format: Format) -> Result<()> {
    match command {
        JobsCommand::List { state, kind, limit } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(state.map(|state| ("state", state.as_str())));
            query.extend(kind.as_deref().map(|kind| ("kind", kind)));
            format.print(&remote.get("/jobs", &query).await?, table);
        }
        JobsCommand::Show { id } => {
            let job = remote.get(&format!("/jobs/{id}"), &[]).await?;
            format.print(&job, |job: &Value| serde_json::to_string_pretty(job).unwrap_or_default());
        }
        JobsCommand::Retry { id } => {
            let job = remote.post(&format!("/jobs/{id}/retry"), json!({})).await?;
            format.print(&job, |job: &Value| {
                format!("It begins anew: {} {}", text(job, "kind"), text(job, "id"))
            });
        }
        JobsCommand::Discard { id } => {
            remote.delete(&format!("/jobs/{id}")).await?;
            output::line("Discarded.");
        }
    }
    Ok(())
}

fn table(page: &Value) -> String {
    let jobs = list(page, "jobs");
    if jobs.is_empty() {
        return "There are none.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "kind", "state", "starts", "due", "ended", "error"]);
    for job in jobs {
        table.add_row([
            text(job, "id").to_owned(),
            text(job, "kind").to_owned(),
            text(job, "state").to_owned(),
            format!("{} of {}", number(job, "starts"), number(job, "starts_max")),
            time(job, "due_at", 19),
            time(job, "ended_at", 19),
            text(job, "error").to_owned(),
        ]);
    }
    table.to_string()
}
