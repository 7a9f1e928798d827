//! `memory-copilot proposals`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::ProposalsCommand;
use crate::output::{self, Format, excerpt, list, number, one_line, text};

/// Proposals in one request.
const PAGE: &str = "200";

pub async fn run(command: ProposalsCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        ProposalsCommand::List { project, demoted } => {
            let mut items = all(&project.project, remote).await?;
            if demoted {
                items.retain(is_demoted);
            }
            format.print(&json!({ "items": items }), shown);
        }
        ProposalsCommand::Accept { id, record_version } => {
            let path = format!("/proposals/{id}/accept");
            let record = remote.post(&path, json!({ "version": record_version })).await?;
            format.print(&record, |record: &Value| format!("Accepted: {}", text(record, "id")));
        }
        ProposalsCommand::Reject { id, reason } => {
            let path = format!("/proposals/{id}/reject");
            remote.post(&path, json!({ "reason": reason })).await?;
            output::line("Rejected.");
        }
    }
    Ok(())
}

/// Reads all pages of a project's proposals.
async fn all(key: &str, remote: &ApiClient) -> Result<Vec<Value>> {
    let (mut items, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut query = vec![("project_key", key), ("limit", PAGE)];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = remote.get("/proposals", &query).await?;
        items.extend_from_slice(list(&page, "items"));
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok(items);
        }
    }
}

fn is_demoted(proposal: &Value) -> bool {
    proposal["demotion"].is_object()
}

fn shown(page: &Value) -> String {
    output::page_blocks(page, |proposal| {
        let why = &proposal["demotion"];
        let reasons = list(why, "reasons").iter().filter_map(Value::as_str).collect::<Vec<_>>();
        let factor = why["rank_factor"].as_f64().map(|factor| format!(" (rank factor {factor})"));
        let source = one_line(&proposal["meta"], "imported_from");
        let source = if source.is_empty() { source } else { format!("\n  from {source}") };
        format!(
            "{}  version {}\n  {}{source}\n  {}{}",
            text(proposal, "id"),
            number(proposal, "version"),
            excerpt(proposal, "content"),
            reasons.join("; "),
            factor.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demoted_record_has_its_reasons() {
        let why = json!({"rank_factor": 0.84, "factors": {"recency": 0.84},
                         "reasons": ["unused", "passed over"]});
        let aside = json!({"id": "a", "version": 2, "content": "said\nonce", "demotion": why});
        assert!(is_demoted(&aside) && !is_demoted(&json!({"id": "b", "version": 1})));
        let page = json!({ "items": [aside] });
        assert_eq!(
            shown(&page),
            "a  version 2\n  said once\n  unused; passed over (rank factor 0.84)"
        );
        assert_eq!(shown(&json!({ "items": [] })), "There are none.");
    }
}
