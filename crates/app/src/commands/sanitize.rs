//! `memory-copilot sanitize`: what of a file would be masked.

use anyhow::Result;
use mc_sanitizer::{Policy, find, mask_with};
use serde_json::{Value, json};

use crate::cli::SanitizeArgs;
use crate::input;
use crate::output::{Format, list, text};

/// Looks through a file. What is found is named by its place and never shown.
pub fn run(args: &SanitizeArgs, format: Format) -> Result<()> {
    let bytes = input::bytes(&args.file)?;
    let content = String::from_utf8_lossy(&bytes);
    // As the file of a repository would be.
    let policy = Policy::default().with_comments(true);
    if args.masked {
        crate::output::line(mask_with(&content, &policy).text.as_str());
        return Ok(());
    }
    let finds: Vec<Value> = find(&content, &policy)
        .iter()
        .map(|found| {
            let before = &content[..found.span.start];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            json!({
                "line": before.matches('\n').count() + 1,
                "column": before[line_start..].chars().count() + 1,
                "characters": content[found.span.clone()].chars().count(),
                "category": found.category,
                "confidence": (found.confidence * 100.0).round() / 100.0,
            })
        })
        .collect();
    format.print(&json!({ "file": args.file, "finds": finds }), readable);
    Ok(())
}

fn readable(found: &Value) -> String {
    let finds = list(found, "finds");
    if finds.is_empty() {
        return "nothing would be masked".to_owned();
    }
    let lines: Vec<_> = finds
        .iter()
        .map(|found| {
            format!(
                "{}:{}  {} ({} characters, confidence {})",
                found["line"],
                found["column"],
                text(found, "category"),
                found["characters"],
                found["confidence"]
            )
        })
        .collect();
    lines.join("\n")
}
