//! `memory-copilot duplicates`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::DuplicatesCommand;
use crate::output::{self, Format, excerpt, list, text};

pub async fn run(command: DuplicatesCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        DuplicatesCommand::List { project, page } => {
            let open = remote.page(&project.path("duplicates")?, &[], &page).await?;
            format.print(&open, clusters);
        }
        DuplicatesCommand::Merge { id, project, keep } => {
            let path = project.path(&format!("duplicates/{id}/merge"))?;
            let record = remote.post(&path, json!({ "keep": keep })).await?;
            format.print(&record, |record: &Value| format!("Merged into {}.", text(record, "id")));
        }
        DuplicatesCommand::Dismiss { id, project } => {
            let path = project.path(&format!("duplicates/{id}/dismiss"))?;
            remote.post(&path, json!({})).await?;
            output::line("Dismissed.");
        }
    }
    Ok(())
}

fn clusters(page: &Value) -> String {
    output::page_blocks(page, |cluster| {
        let records = list(cluster, "records").iter().enumerate().map(|(at, record)| {
            let mark = if at == 0 { "keep " } else { "merge" };
            format!("  {mark} {}  {}", text(record, "id"), excerpt(record, "content"))
        });
        let records: Vec<_> = records.collect();
        format!("{}\n{}", text(cluster, "id"), records.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_record_of_a_cluster_is_kept() {
        let record = |id: &str| json!({"id": id, "content": "said\ntwice"});
        let cluster = json!({"id": "c", "records": [record("a"), record("b")]});
        let shown = clusters(&json!({ "items": [cluster] }));
        assert_eq!(shown, "c\n  keep  a  said twice\n  merge b  said twice");
    }
}
