//! `memory-copilot hygiene noise|keep|drop`: records that hygiene set aside, for a reviewer to decide about.

use anyhow::Result;
use mc_domain::RecordId;
use serde_json::{Value, json};

use crate::cli::ProjectArg;
use crate::output::{Format, line, list, number, text};
use crate::remote::Remote;

/// Proposals asked for in one go.
const PAGE: &str = "200";
/// Characters that are shown of what a record says.
const SHOWN: usize = 100;

/// Shows those that wait, each with what speaks against it.
pub async fn show(project: &ProjectArg, remote: &Remote, format: Format) -> Result<()> {
    let waiting = waiting(&project.project, remote).await?;
    format.print(&json!({ "proposals": waiting }), shown);
    Ok(())
}

/// Has one found again, as it was looked at.
pub async fn keep(id: RecordId, seen: u32, remote: &Remote, format: Format) -> Result<()> {
    let path = format!("/proposals/{id}/accept");
    let record = remote.post(&path, json!({ "version": seen })).await?;
    format.print(&record, |record: &Value| format!("It is found again: {}", text(record, "id")));
    Ok(())
}

/// Lets one go.
pub async fn let_go(id: RecordId, reason: &str, remote: &Remote) -> Result<()> {
    remote.post(&format!("/proposals/{id}/reject"), json!({ "reason": reason })).await?;
    line("It is taken out.");
    Ok(())
}

/// Of all proposals those that hygiene made.
async fn waiting(key: &str, remote: &Remote) -> Result<Vec<Value>> {
    let (mut waiting, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut query = vec![("project_key", key), ("limit", PAGE)];
        query.extend(after.as_deref().map(|after| ("after", after)));
        let page = remote.get("/proposals", &query).await?;
        waiting.extend(list(&page, "proposals").iter().filter(|one| is_set_aside(one)).cloned());
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            return Ok(waiting);
        }
    }
}

fn is_set_aside(proposal: &Value) -> bool {
    proposal["set_aside"].is_object()
}

fn shown(page: &Value) -> String {
    let proposals = list(page, "proposals");
    if proposals.is_empty() {
        return "There are none.".to_owned();
    }
    let proposal = |proposal: &Value| {
        let said: String = text(proposal, "content").chars().take(SHOWN).collect();
        let why = &proposal["set_aside"];
        let reasons = list(why, "reasons").iter().filter_map(Value::as_str).collect::<Vec<_>>();
        let standing = why["standing"].as_f64().map(|standing| format!(" (stands at {standing})"));
        format!(
            "{}  version {}\n  {}\n  {}{}",
            text(proposal, "id"),
            number(proposal, "version"),
            said.replace('\n', " "),
            reasons.join("; "),
            standing.unwrap_or_default()
        )
    };
    proposals.iter().map(proposal).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_shown_with_what_speaks_against_it() {
        let why = json!({"standing": 0.84, "factors": {"recency": 0.84}, "reasons": ["unused", "passed over"]});
        let aside = json!({"id": "a", "version": 2, "content": "said\nonce", "set_aside": why});
        assert!(is_set_aside(&aside) && !is_set_aside(&json!({"id": "b", "version": 1})));
        let page = json!({ "proposals": [aside] });
        assert_eq!(
            shown(&page),
            "a  version 2\n  said once\n  unused; passed over (stands at 0.84)"
        );
        assert_eq!(shown(&json!({ "proposals": [] })), "There are none.");
    }
}
