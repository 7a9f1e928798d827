//! `memory-copilot sanitize`: reports the parts of a file that would be masked.

use anyhow::Result;
use mc_sanitizer::{Policy, find, mask_with};
use serde_json::{Value, json};

use crate::cli::SanitizeArgs;
use crate::input;
use crate::output::{Format, list, text};

/// Scans a file. Prints the position of each find, never its text.
pub fn run(args: &SanitizeArgs, format: Format) -> Result<()> {
    let bytes = input::bytes(&args.file)?;
    let content = String::from_utf8_lossy(&bytes);
    // The policy for files of a repository.
    let policy = Policy::default().with_comments(true);
    if args.masked {
        crate::output::document(mask_with(&content, &policy).text.as_str());
        return Ok(());
    }
    let finds: Vec<Value> = find(&content, &policy)
        .iter()
        .map(|find| {
            let before = &content[..find.span.start];
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            json!({
                "line": before.matches('\n').count() + 1,
                "column": before[line_start..].chars().count() + 1,
                "characters": content[find.span.clone()].chars().count(),
                "category": find.category,
                "confidence": (find.confidence * 100.0).round() / 100.0,
            })
        })
        .collect();
    format.print(&json!({ "file": args.file, "finds": finds }), readable);
    Ok(())
}

fn readable(result: &Value) -> String {
    let finds = list(result, "finds");
    if finds.is_empty() {
        return "nothing would be masked".to_owned();
    }
    let lines: Vec<_> = finds
        .iter()
        .map(|find| {
            format!(
                "{}:{}  {} ({} characters, confidence {})",
                find["line"],
                find["column"],
                text(find, "category"),
                find["characters"],
                find["confidence"]
            )
        })
        .collect();
    lines.join("\n")
}
