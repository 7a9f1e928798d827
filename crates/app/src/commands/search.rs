//! `memory-copilot search`.

use anyhow::Result;
use mc_mcp::Excerpt;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::SearchArgs;
use crate::output::{Format, list, number, text};

/// How much of a result's text is shown.
const SHOWN_LINES: usize = 6;

/// Searches and prints the results.
pub async fn run(args: SearchArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let mut request = json!({
        "project_key": args.project.project,
        "query": args.query,
        "sources": args.sources,
        "limit": args.limit,
        "explain": args.explain,
    });
    for (field, value) in [("path", args.path), ("language", args.language)] {
        if let Some(value) = value {
            request[field] = value.into();
        }
    }
    let answer = remote.post("/search", request).await?;
    format.print(&answer, readable);
    Ok(())
}

/// Results as a person reads them.
pub fn readable(answer: &Value) -> String {
    let results = list(answer, "results");
    let mut out = String::new();
    if results.is_empty() {
        out.push_str("Nothing found.\n");
    }
    for (rank, result) in results.iter().enumerate() {
        // The definition that was asked for, rather than the passage it stands in.
        let matched = Some(&result["matched_symbol"]).filter(|matched| matched.is_object());
        let place = matched.unwrap_or(result);
        let lines = match number(place, "line_start") {
            0 => String::new(),
            first => format!(":{first}-{}", number(place, "line_end")),
        };
        let title = match matched.map_or(text(result, "title"), |m| text(m, "symbol")) {
            "" => String::new(),
            title => format!("  {title}"),
        };
        out.push_str(&format!(
            "{}. {}{}{lines}{title}  [{:.3}]\n",
            rank + 1,
            text(result, "source"),
            match text(result, "location") {
                "" => String::new(),
                place => format!(" {place}"),
            },
            result["score"].as_f64().unwrap_or_default()
        ));
        for line in Excerpt::new(result, SHOWN_LINES).lines {
            out.push_str(&format!("   | {line}\n"));
        }
        if result["explain"].is_object() {
            out.push_str(&format!("   why: {}\n", result["explain"]));
        }
    }
    for leg in list(answer, "degraded").iter().filter_map(Value::as_str) {
        out.push_str(&format!("Left out: {leg}\n"));
    }
    let pending = number(answer, "pending_vectors");
    if pending > 0 {
        out.push_str(&format!("{pending} passages still wait for their vector.\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_was_asked_for_is_shown_and_named() {
        let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let shown = readable(&json!({"results": [{
            "source": "code", "location": "core.rs", "title": "MAX", "line_start": 1,
            "line_end": 40,
            "text": lines, "score": 0.5,
            "matched_symbol": {"symbol": "CoreClient", "line_start": 26, "line_end": 29},
        }]}));
        assert!(shown.starts_with("1. code core.rs:26-29  CoreClient  [0.500]\n"), "{shown}");
        assert!(shown.contains("   | line 26\n") && !shown.contains("| line 1\n"), "{shown}");
    }
}
