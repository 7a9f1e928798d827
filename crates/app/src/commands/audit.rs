//! `memory-copilot audit`.

use anyhow::{Context, Result, bail};
use comfy_table::{Table, presets};
use serde_json::Value;

use crate::cli::{AuditCommand, AuditOf};
use crate::output::{Format, list, text};
use crate::remote::Remote;

/// Events to a page of an export.
const PAGE: &str = "200";

/// Shows, exports or verifies who did what.
pub async fn run(command: AuditCommand, remote: &Remote, format: Format) -> Result<()> {
    match command {
        AuditCommand::List { of, actor, action, limit } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(project(&of));
            query.extend(actor.as_deref().map(|actor| ("actor", actor)));
            query.extend(action.as_deref().map(|action| ("action", action)));
            format.print(&remote.get("/audit", &query).await?, table);
            Ok(())
        }
        AuditCommand::Export { of, output } => match output {
            Some(path) => {
                let file = std::fs::File::create(&path)
                    .with_context(|| format!("{} can't be written", path.display()))?;
                export(remote, &of, std::io::BufWriter::new(file)).await
            }
            None => export(remote, &of, std::io::stdout().lock()).await,
        },
        AuditCommand::Verify(of) => verify(remote, &of, format).await,
    }
}

fn project(of: &AuditOf) -> Option<(&'static str, &str)> {
    of.project.as_deref().map(|key| ("project_key", key))
}

async fn verify(remote: &Remote, of: &AuditOf, format: Format) -> Result<()> {
    let query: Vec<_> = project(of).into_iter().collect();
    let found = remote.get("/audit/verification", &query).await?;
    if found["intact"] != true {
        format.print(&found, |found: &Value| {
            format!("{} events hold, up to where it says otherwise", found["events"])
        });
        bail!("the audit is not as it was written: {}", text(&found, "fault"));
    }
    format.print(&found, |found: &Value| match found["last"].as_i64() {
        Some(last) => format!("{} events, up to {last}: as they were written", found["events"]),
        None => "There are no events yet.".to_owned(),
    });
    Ok(())
}

/// Page by page from the newest event on, then written in their order: nothing is written where the
/// service can't answer.
async fn export(remote: &Remote, of: &AuditOf, mut out: impl std::io::Write) -> Result<()> {
    let mut events: Vec<Value> = Vec::new();
    let mut before = None;
    loop {
        let from: Option<String> = before.map(|seq: i64| seq.to_string());
        let mut query = vec![("limit", PAGE)];
        query.extend(project(of));
        query.extend(from.as_deref().map(|from| ("before", from)));
        let page = remote.get("/audit", &query).await?;
        events.extend(list(&page, "events").iter().cloned());
        before = page["next"].as_i64();
        if before.is_none() {
            break;
        }
    }
    for event in events.iter().rev() {
        writeln!(out, "{event}")?;
    }
    out.flush()?;
    Ok(())
}

fn table(page: &Value) -> String {
    if list(page, "events").is_empty() {
        return "No events.".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "at", "who", "what", "to", "detail"]);
    for event in list(page, "events") {
        let who = event["actor"].as_str().unwrap_or("-");
        table.add_row([
            event["seq"].to_string(),
            text(event, "at").get(..19).unwrap_or_default().replace('T', " "),
            who.to_owned(),
            text(event, "action").to_owned(),
            text(event, "subject").to_owned(),
            event["detail"].to_string(),
        ]);
    }
    table.to_string()
}
