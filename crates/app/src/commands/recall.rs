//! `memory-copilot recall`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::RecallArgs;
use crate::output::{Format, indented, list, number, one_line, text};
use crate::terminal;

/// Indentation of the further lines of an item, in columns: below its text.
const INDENT: usize = 4;

pub async fn run(args: RecallArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let request = json!({
        "project_key": args.project.project,
        "query": args.query,
        "task_external_id": args.task,
        "repo_path": args.path,
        "symbols": args.symbols,
        "signals": args.signals,
        "limit_tokens": args.limit_tokens,
    });
    let bundle = remote.post("/recall", request).await?;
    format.print(&bundle, readable);
    Ok(())
}

pub fn readable(bundle: &Value) -> String {
    let mut out = String::new();
    if let Some(reason) = bundle["reason"].as_str() {
        out.push_str(&format!("Nothing to recall: {reason}\n"));
    }
    let statement = |item: &Value| {
        let kind = match text(item, "kind") {
            "fact" | "" => String::new(),
            kind => format!("[{kind}] "),
        };
        let scope: Vec<_> = list(item, "scope").iter().filter_map(Value::as_str).collect();
        let scope = terminal::line(scope.join(", "));
        let scope = if scope.is_empty() { String::new() } else { format!("  ({scope})") };
        let warning = one_line(item, "warning");
        let warning = if warning.is_empty() { warning } else { format!("\n      ! {warning}") };
        format!("{kind}{}{scope}{warning}", indented(item, "text", INDENT))
    };
    section(&mut out, "Mind", list(bundle, "gotchas"), statement);
    section(&mut out, "Facts", list(bundle, "facts"), statement);
    section(&mut out, "Worked examples", list(bundle, "few_shots"), |item| {
        let steps: Vec<_> = list(item, "steps").iter().filter_map(Value::as_str).collect();
        let patch = one_line(item, "patch_ref");
        let patch = if patch.is_empty() { patch } else { format!("  ({patch})") };
        let step = |step: &&str| format!("\n      - {}", terminal::line(*step));
        let steps = steps.iter().map(step).collect::<String>();
        format!("{}{patch}{steps}", one_line(item, "title"))
    });
    section(&mut out, "Links", list(bundle, "links"), |item| {
        format!("{}  {}", one_line(item, "title"), one_line(item, "url"))
    });
    section(&mut out, "Dialogs", list(bundle, "dialogs"), |item| indented(item, "text", INDENT));
    section(&mut out, "Code", list(bundle, "code"), |item| {
        format!(
            "{}:{}-{}  {}",
            one_line(item, "location"),
            number(item, "line_start"),
            number(item, "line_end"),
            indented(item, "summary", INDENT)
        )
    });
    for step in list(bundle, "degraded").iter().filter_map(Value::as_str) {
        out.push_str(&format!("Skipped: {step}\n"));
    }
    out.push_str(&format!(
        "confidence {:.2}, {} tokens, bundle {}\n",
        bundle["confidence"].as_f64().unwrap_or_default(),
        number(bundle, "tokens"),
        text(bundle, "bundle_id")
    ));
    out
}

fn section(out: &mut String, title: &str, items: &[Value], show: impl Fn(&Value) -> String) {
    if items.is_empty() {
        return;
    }
    out.push_str(title);
    out.push('\n');
    for item in items {
        out.push_str(&format!("  * {}\n", show(item)));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_cannot_forge_another() {
        let shown = readable(&json!({
            "facts": [{"kind": "fact", "text": "a\n  * b", "scope": ["c\nd"], "warning": "e\nf"}],
            "few_shots": [{"title": "g\n  * h", "steps": ["i\n  * j"], "patch_ref": "k\n  * l"}],
            "links": [{"title": "m\u{1b}[2J", "url": "n\n  * o"}],
            "confidence": 0.5, "tokens": 9, "bundle_id": "p",
        }));
        let expected = "Facts\n  * a\n      * b  (c\\nd)\n      ! e\\nf\n\n\
                        Worked examples\n  * g\\n  * h  (k\\n  * l)\n      - i\\n  * j\n\n\
                        Links\n  * m\\u{1b}[2J  n\\n  * o\n\n\
                        confidence 0.50, 9 tokens, bundle p\n";
        assert_eq!(shown, expected);
    }
}
