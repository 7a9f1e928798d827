//! `memory-copilot save`.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::SaveArgs;
use crate::input;
use crate::output::{Format, list, one_line, text};
use crate::terminal;

pub async fn run(args: SaveArgs, remote: &ApiClient, format: Format) -> Result<()> {
    let mut content = args.content;
    if content == "-" {
        content = input::text(Path::new("-"))?;
    }
    let citations =
        args.citations.iter().map(|location| citation(location)).collect::<Result<Vec<_>>>()?;
    let request = json!({
        "project_key": args.project.project,
        "kind": args.kind,
        "content": content,
        "scope": args.scope,
        "tags": args.tags,
        "citations": citations,
        "contradicts": args.contradicts,
        "title": args.title,
        "task_external_id": args.task,
        "url": args.url,
    });
    let response = remote.post("/save", request).await?;
    format.print(&response, readable);
    Ok(())
}

pub fn readable(response: &Value) -> String {
    let mut out = format!("{}: {}", text(response, "message"), one_line(response, "reason"));
    for masked in list(response, "redactions") {
        out.push_str(&format!(
            "\nmasked before storing: {} × {}",
            masked["count"],
            text(masked, "category")
        ));
    }
    for citation in list(response, "citations") {
        let file = one_line(citation, "file");
        out.push_str(&format!("\ncites {file}: {}", text(citation, "verdict")));
    }
    let notes = list(response, "notes").iter().filter_map(Value::as_str);
    notes.for_each(|note| out.push_str(&format!("\nnote: {}", terminal::line(note))));
    out
}

/// Parses `path`, `path:12`, `path:12-30` or `path#Symbol`.
fn citation(location: &str) -> Result<Value> {
    if let Some((file, symbol)) = location.split_once('#') {
        return Ok(json!({ "file": file, "symbol": symbol }));
    }
    let Some((file, lines)) = location.rsplit_once(':') else {
        return Ok(json!({ "file": location }));
    };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) => Ok(json!({ "file": file, "line_start": first, "line_end": last })),
        _ => bail!("--cite {location}: write path, path:12, path:12-30 or path#Symbol"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_citation_is_parsed() {
        let read = |location| citation(location).expect("a citation");
        assert_eq!(read("a/b.rb"), json!({"file": "a/b.rb"}));
        assert_eq!(read("a.rb:3-9"), json!({"file": "a.rb", "line_start": 3, "line_end": 9}));
        assert_eq!(read("a.rb:3"), json!({"file": "a.rb", "line_start": 3, "line_end": 3}));
        assert_eq!(read("a.rb#A::B#c"), json!({"file": "a.rb", "symbol": "A::B#c"}));
        assert!(citation("a.rb:x").is_err());
    }

    #[test]
    fn notes_of_a_save_are_printed() {
        let saved = json!({"message": "created 1", "reason": "new", "notes": ["a\nb", "c"]});
        assert_eq!(readable(&saved), "created 1: new\nnote: a\\nb\nnote: c");
    }
}
