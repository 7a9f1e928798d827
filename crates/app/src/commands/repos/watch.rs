//! `memory-copilot repos watch`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use notify::{Event, RecursiveMode, Watcher as _};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::cli::ProjectArg;
use crate::commands::ingest;
use crate::output::{self, Format};

/// How long a directory must be unchanged before it is indexed. An editor or git changes many files
/// at once.
const QUIET: Duration = Duration::from_secs(2);

/// Indexes a directory of the service's machine, and again whenever it changes, until `stop` is
/// cancelled. A failed run is reported and does not end it.
pub async fn run(
    dir: &Path,
    project: &ProjectArg,
    remote: &ApiClient,
    format: Format,
    stop: CancellationToken,
) -> Result<()> {
    let dir = std::fs::canonicalize(dir)
        .with_context(|| format!("the directory {} can't be found", dir.display()))?;
    // One waiting change is enough: a run reads all of them.
    let (notify_change, changes) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if is_change(&event) {
            // A full channel has a waiting change already.
            let _ = notify_change.try_send(());
        }
    })
    .context("the system can't report changes of files")?;
    watcher.watch(&dir, RecursiveMode::Recursive).with_context(|| {
        format!(
            "{} can't be watched; if it has very many directories, raise the limit: sysctl \
             fs.inotify.max_user_watches=1048576",
            dir.display()
        )
    })?;
    output::line(&format!("Watching {}. Ctrl-C ends it.", dir.display()));
    let watching = index_on_changes(&dir, project, remote, format, changes);
    stop.run_until_cancelled(watching).await.unwrap_or(Ok(()))
}

async fn index_on_changes(
    dir: &Path,
    project: &ProjectArg,
    remote: &ApiClient,
    format: Format,
    mut changes: mpsc::Receiver<()>,
) -> Result<()> {
    loop {
        if let Err(error) = index(dir, project, remote, format).await {
            output::error_line(&format!("not indexed: {error:#}"));
        }
        if changes.recv().await.is_none() {
            return Ok(());
        }
        while tokio::time::timeout(QUIET, changes.recv()).await.is_ok_and(|change| change.is_some())
        {
        }
    }
}

async fn index(dir: &Path, project: &ProjectArg, remote: &ApiClient, format: Format) -> Result<()> {
    let request = json!({ "project_key": project.key()?.as_str(), "location": dir });
    let queued = remote.post("/ingest/git", request).await?;
    let status = ingest::follow(remote, queued, false, true).await?;
    format.print(&status, ingest::readable);
    Ok(())
}

/// Whether the content of the directory changed, or may have: reading a file is no change.
fn is_change(event: &notify::Result<Event>) -> bool {
    event.as_ref().is_ok_and(|event| !event.kind.is_access()) || event.is_err()
}

#[cfg(test)]
mod tests {
    use notify::EventKind;
    use notify::event::{AccessKind, CreateKind};

    use super::*;

    #[test]
    fn reading_a_file_is_no_change() {
        let event = |kind| Ok(Event::new(kind));
        assert!(!is_change(&event(EventKind::Access(AccessKind::Read))));
        assert!(is_change(&event(EventKind::Create(CreateKind::File))));
        assert!(is_change(&Err(notify::Error::generic("lost events"))));
    }
}
