//! `memory-copilot audit`.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::pin::pin;

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::cli::{AuditCommand, AuditTarget};
use crate::output::{self, Format, text, time};
use crate::private_file::directory;

pub async fn run(command: AuditCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        AuditCommand::List { of, actor, action, page } => {
            let mut query = target(&of);
            query.extend(actor.as_deref().map(|actor| ("actor", actor)));
            query.extend(action.as_deref().map(|action| ("action", action)));
            format.print(&remote.page("/audit", &query, &page).await?, table);
            Ok(())
        }
        AuditCommand::Export { of, output: Some(path) } => to_file(remote, &of, &path).await,
        AuditCommand::Export { of, output: None } => {
            export(remote, &of, &mut output::json_lines()).await
        }
        AuditCommand::Verify(of) => verify(remote, &of, format).await,
    }
}

fn target(of: &AuditTarget) -> Vec<(&'static str, &str)> {
    let live = of.project.as_deref().map(|key| ("project_key", key));
    live.or(of.project_id.as_deref().map(|id| ("project_id", id))).into_iter().collect()
}

async fn verify(remote: &ApiClient, of: &AuditTarget, format: Format) -> Result<()> {
    let found = remote.get("/audit/verification", &target(of)).await?;
    if found["is_valid"] != true {
        format.print(&found, |found: &Value| {
            format!("{} valid events before the first fault", found["events"])
        });
        bail!("the audit is not valid: {}", text(&found, "error"));
    }
    format.print(&found, |found: &Value| match found["last_seq"].as_i64() {
        Some(last) => format!("{} events, up to {last}: all valid", found["events"]),
        None => "There are no events yet.".to_owned(),
    });
    Ok(())
}

/// Writes a file that only its owner can read; it appears once it is complete. Writes directly to a
/// pipe or device.
async fn to_file(remote: &ApiClient, of: &AuditTarget, path: &Path) -> Result<()> {
    let unwritable = || format!("{} can't be written", path.display());
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut file = File::options().write(true).open(path).with_context(unwritable)?;
        return export(remote, of, &mut file).await;
    }
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = tempfile::NamedTempFile::new_in(directory(path)).with_context(unwritable)?;
    export(remote, of, &mut file).await?;
    file.as_file().sync_all().with_context(unwritable)?;
    file.persist(path).with_context(unwritable)?;
    Ok(())
}

async fn export(remote: &ApiClient, of: &AuditTarget, out: &mut impl Write) -> Result<()> {
    let mut events = pin!(remote.stream("/audit/export", &target(of)).await?);
    while let Some(part) = events.try_next().await? {
        out.write_all(&part)?;
    }
    Ok(out.flush()?)
}

fn table(page: &Value) -> String {
    output::page_table(page, ["event", "time", "actor", "action", "target", "details"], |event| {
        [
            event["seq"].to_string(),
            time(event, "occurred_at", 19),
            event["actor"].as_str().unwrap_or("-").to_owned(),
            text(event, "action").to_owned(),
            text(event, "target").to_owned(),
            event["details"].to_string(),
        ]
    })
}
