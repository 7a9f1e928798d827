//! `memory-copilot proposals`.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::ProposalsCommand;
use crate::output::{self, Format, excerpt, joined, list, number, one_line, text};

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
        ProposalsCommand::Show { id, project } => {
            let id = id.to_string();
            let items = all(&project.project, remote).await?;
            let proposal = items.into_iter().find(|item| text(item, "id") == id);
            let proposal = proposal.with_context(|| {
                format!("{id} is no open proposal of the project; `proposals list` shows those")
            })?;
            format.print(&proposal, details);
        }
        ProposalsCommand::Accept { id, record_version, amends_version } => {
            let path = format!("/proposals/{id}/accept");
            let reviewed = json!({ "version": record_version, "amends_version": amends_version });
            let record = remote.post(&path, reviewed).await?;
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
        let lines = [
            format!("{}  version {}", text(proposal, "id"), number(proposal, "version")),
            excerpt(proposal, "content"),
            origin(proposal),
            amendment(proposal),
            demotion(proposal),
        ];
        let filled = lines.into_iter().filter(|line| !line.is_empty());
        filled.collect::<Vec<_>>().join("\n  ")
    })
}

/// Returns the kind of a proposal, and who made it from which source.
fn origin(proposal: &Value) -> String {
    let contributions = list(proposal, "contributions").iter().map(|contribution| {
        match (text(contribution, "saved_by"), text(contribution, "source")) {
            (by, "") => by.to_owned(),
            (by, _) => format!("{by} from {}", one_line(contribution, "source")),
        }
    });
    let mut by = contributions.collect::<Vec<_>>().join(", ");
    let imported_from = one_line(&proposal["meta"], "imported_from");
    if !imported_from.is_empty() {
        by.push_str(&format!(", imported from {imported_from}"));
    }
    match (text(proposal, "kind"), by.as_str()) {
        (kind, "") => kind.to_owned(),
        (kind, by) => format!("{kind} by {by}"),
    }
}

/// Returns the record that the proposal would change, if there is one.
fn amendment(proposal: &Value) -> String {
    let amended = &proposal["amends"];
    if amended.is_null() {
        return String::new();
    }
    format!("changes {} version {}", text(amended, "id"), number(amended, "version"))
}

/// Returns why hygiene demoted the record, if it did.
fn demotion(proposal: &Value) -> String {
    let why = &proposal["demotion"];
    let reasons = list(why, "reasons").iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let factor = why["rank_factor"].as_f64().map(|factor| format!(" (rank factor {factor})"));
    format!("{}{}", reasons.join("; "), factor.unwrap_or_default())
}

fn details(proposal: &Value) -> String {
    let mut accept = format!(
        "memory-copilot proposals accept {} --record-version {}",
        text(proposal, "id"),
        number(proposal, "version")
    );
    if let Some(version) = proposal["amends"]["version"].as_i64() {
        accept.push_str(&format!(" --amends-version {version}"));
    }
    output::fields(&[
        ("id", text(proposal, "id").to_owned()),
        ("title", one_line(proposal, "title")),
        ("proposed", origin(proposal)),
        ("changes", amendment(proposal)),
        ("demoted", demotion(proposal)),
        ("scope", joined(proposal, "scope")),
        ("tags", joined(proposal, "tags")),
        ("content", text(proposal, "content").to_owned()),
        ("diff", text(proposal, "diff").to_owned()),
        ("accept", accept),
    ])
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

    #[test]
    fn proposal_shows_its_source_and_the_command_that_accepts_it() {
        let proposal = json!({
            "id": "a", "version": 2, "kind": "rule", "content": "x", "diff": "-old\n+new",
            "contributions": [{"saved_by": "ci-bot", "source": "CLAUDE.md"}],
            "amends": {"id": "b", "version": 3},
        });
        let shown = details(&proposal);
        for part in [
            "rule by ci-bot from CLAUDE.md",
            "changes b version 3",
            "  +new",
            "memory-copilot proposals accept a --record-version 2 --amends-version 3",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }
}
