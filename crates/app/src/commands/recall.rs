//! `memory-copilot recall`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::RecallArgs;
use crate::output::{Format, list, number, text};

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
        let scope =
            if scope.is_empty() { String::new() } else { format!("  ({})", scope.join(", ")) };
        let warning =
            item["warning"].as_str().map(|w| format!("\n      ! {w}")).unwrap_or_default();
        format!("{kind}{}{scope}{warning}", text(item, "text"))
    };
    section(&mut out, "Mind", list(bundle, "gotchas"), statement);
    section(&mut out, "Facts", list(bundle, "facts"), statement);
    section(&mut out, "Worked examples", list(bundle, "few_shots"), |item| {
        let steps: Vec<_> = list(item, "steps").iter().filter_map(Value::as_str).collect();
        let patch = item["patch_ref"].as_str().map(|p| format!("  ({p})")).unwrap_or_default();
        let steps = steps.iter().map(|step| format!("\n      - {step}")).collect::<String>();
        format!("{}{patch}{steps}", text(item, "title"))
    });
    section(&mut out, "Links", list(bundle, "links"), |item| {
        format!("{}  {}", text(item, "title"), text(item, "url"))
    });
    section(&mut out, "Dialogs", list(bundle, "dialogs"), |item| text(item, "text").to_owned());
    section(&mut out, "Code", list(bundle, "code"), |item| {
        format!(
            "{}:{}-{}  {}",
            text(item, "location"),
            number(item, "line_start"),
            number(item, "line_end"),
            text(item, "summary")
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
