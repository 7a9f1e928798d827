//! `memory-copilot search`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::SearchArgs;
use crate::output::{Format, list, number, text};
use crate::remote::Remote;

/// How much of a result's text is shown.
const SHOWN_LINES: usize = 6;

/// Searches and prints the results.
pub async fn run(args: SearchArgs, remote: &Remote, format: Format) -> Result<()> {
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
        let lines = match number(result, "line_start") {
            0 => String::new(),
            first => format!(":{first}-{}", number(result, "line_end")),
        };
        let title = match text(result, "title") {
            "" => String::new(),
            title => format!("  {title}"),
        };
        out.push_str(&format!(
            "{}. {}{}{lines}{title}  [{:.3}]\n",
            rank + 1,
            text(result, "source"),
            match text(result, "place") {
                "" => String::new(),
                place => format!(" {place}"),
            },
            result["score"].as_f64().unwrap_or_default()
        ));
        for line in text(result, "text").lines().take(SHOWN_LINES) {
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
