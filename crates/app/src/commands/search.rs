//! `memory-copilot search`.

use anyhow::Result;
use mc_mcp::Excerpt;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::SearchArgs;
use crate::output::{Format, list, number, one_line, text};

/// Maximum number of lines printed of a result.
const SHOWN_LINES: usize = 6;

pub async fn run(args: SearchArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let request = json!({
        "project_key": args.project.project,
        "query": args.query,
        "sources": args.sources,
        "limit": args.limit,
        "explain": args.explain,
        "path": args.path,
        "language": args.language,
    });
    let response = remote.post("/search", request).await?;
    format.print(&response, readable);
    Ok(())
}

pub fn readable(response: &Value) -> String {
    let results = list(response, "results");
    let mut out = String::new();
    if results.is_empty() {
        out.push_str("Nothing found.\n");
    }
    for (rank, result) in results.iter().enumerate() {
        // The definition named in the query, not the whole passage around it.
        let matched = Some(&result["matched_symbol"]).filter(|matched| matched.is_object());
        let shown = matched.unwrap_or(result);
        let lines = match number(shown, "line_start") {
            0 => String::new(),
            first => format!(":{first}-{}", number(shown, "line_end")),
        };
        let title = matched.map_or(one_line(result, "title"), |m| one_line(m, "symbol"));
        let title = if title.is_empty() { title } else { format!("  {title}") };
        let location = one_line(result, "location");
        let location = if location.is_empty() { location } else { format!(" {location}") };
        out.push_str(&format!(
            "{}. {}{location}{lines}{title}  [{:.3}]\n",
            rank + 1,
            text(result, "source"),
            result["score"].as_f64().unwrap_or_default()
        ));
        for line in Excerpt::new(result, SHOWN_LINES).lines {
            out.push_str(&format!("   | {line}\n"));
        }
        if result["explain"].is_object() {
            out.push_str(&format!("   why: {}\n", result["explain"]));
        }
    }
    for step in list(response, "degraded").iter().filter_map(Value::as_str) {
        out.push_str(&format!("Skipped: {step}\n"));
    }
    let pending = number(response, "pending_vectors");
    if pending > 0 {
        out.push_str(&format!("{pending} passages have no vector yet.\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_named_in_the_query_is_printed() {
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

    #[test]
    fn title_cannot_forge_a_result() {
        let shown = readable(&json!({"results": [{"source": "doc", "location": "a\n2. b",
            "title": "c\u{1b}[2J\n3. d", "text": "e\n4. f", "score": 0.5}]}));
        let expected = "1. doc a\\n2. b  c\\u{1b}[2J\\n3. d  [0.500]\n   | e\n   | 4. f\n";
        assert_eq!(shown, expected);
    }
}
