//! `memory-copilot repos`.

mod watch;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::cli::{PatternArgs, ReposCommand, RepositoryName};
use crate::output::{self, Format, joined, number, one_line, replacement, text, time};

pub async fn run(
    command: ReposCommand,
    remote: &ApiClient,
    format: Format,
    on_signals: impl FnOnce() -> Result<CancellationToken>,
) -> Result<()> {
    match command {
        ReposCommand::List { project } => {
            let query = [("project_key", project.project.as_str())];
            format.print(&remote.get("/repos", &query).await?, table);
        }
        ReposCommand::Remove { repository, project } => {
            let query = [("project_key", project.project.as_str())];
            remote.delete_with(&path(&repository.repository), &query).await?;
            output::line("Removed. Records that cite its files stay.");
        }
        ReposCommand::Rename { repository, new_name, project } => {
            let request = json!({
                "project_key": project.key()?.as_str(), "owner": new_name.owner,
                "name": new_name.name,
            });
            let renamed = remote.patch(&path(&repository.repository), request).await?;
            format.print(&renamed, |renamed| format!("Renamed: {}", text(renamed, "namespace")));
        }
        ReposCommand::Patterns { repository, patterns, project } => {
            let request = new_patterns(&patterns, project.key()?.as_str())?;
            let changed = remote.patch(&path(&repository.repository), request).await?;
            format.print(&changed, patterns_text);
        }
        ReposCommand::Cancel { run } => {
            let run = remote.post(&format!("/ingest/runs/{run}/cancel"), json!({})).await?;
            format.print(&run, |run| {
                format!(
                    "Cancelled: {}, {} of {} files done.",
                    text(run, "namespace"),
                    number(run, "files_done"),
                    number(run, "files_total")
                )
            });
        }
        ReposCommand::Watch { dir, project } => {
            watch::run(&dir, &project, remote, format, on_signals()?).await?;
        }
    }
    Ok(())
}

fn path(RepositoryName { owner, name }: &RepositoryName) -> String {
    format!("/repos/{}/{}", owner.as_str(), name.as_str())
}

fn new_patterns(patterns: &PatternArgs, project_key: &str) -> Result<Value> {
    let mut request = Map::new();
    let lists = [("include", &patterns.include), ("exclude", &patterns.exclude)];
    for (field, values) in lists {
        request.extend(replacement(values).map(|values| (field.to_owned(), values)));
    }
    ensure!(!request.is_empty(), "nothing to change; name --include or --exclude");
    request.insert("project_key".to_owned(), project_key.into());
    Ok(request.into())
}

fn patterns_text(repository: &Value) -> String {
    let all = |field, none: &str| match joined(repository, field).as_str() {
        "" => none.to_owned(),
        patterns => patterns.to_owned(),
    };
    format!(
        "{}: indexes {}, without {}. A run is queued if this is a change.",
        text(repository, "namespace"),
        all("include", "all files"),
        all("exclude", "exceptions")
    )
}

fn table(page: &Value) -> String {
    let header = ["repository", "files", "indexed", "commit", "newest run", "status", "location"];
    output::page_table(page, header, |repository| {
        [
            format!("{}/{}", one_line(repository, "owner"), one_line(repository, "name")),
            number(repository, "files").to_string(),
            time(repository, "indexed_at", 19),
            text(repository, "source_ref").chars().take(12).collect(),
            text(repository, "newest_run_id").to_owned(),
            text(repository, "newest_run_status").to_owned(),
            one_line(repository, "location"),
        ]
    })
}
