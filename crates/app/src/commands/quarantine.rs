//! `memory-copilot quarantine`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::QuarantineCommand;
use crate::output::{self, Format, excerpt, joined, one_line, text, time};

pub async fn run(command: QuarantineCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        QuarantineCommand::List { project, state, page } => {
            let query = [("project_key", project.project.as_str()), ("state", state.as_str())];
            format.print(&remote.page("/quarantine", &query, &page).await?, table);
        }
        QuarantineCommand::Show { id } => {
            let item = remote.get(&format!("/quarantine/{id}"), &[]).await?;
            format.print(&item, details);
        }
        QuarantineCommand::Release { id } => {
            let released = remote.post(&format!("/quarantine/{id}/release"), json!({})).await?;
            format.print(&released, |released| {
                let (outcome, id) = (text(released, "outcome"), text(released, "id"));
                format!("Released: {outcome} {id} ({})", one_line(released, "reason"))
            });
        }
        QuarantineCommand::Delete { id } => {
            remote.delete(&format!("/quarantine/{id}")).await?;
            output::line("Deleted.");
        }
    }
    Ok(())
}

fn table(page: &Value) -> String {
    let header = ["id", "kind", "state", "reasons", "by", "submitted", "expires", "text"];
    output::page_table(page, header, |item| {
        [
            text(item, "id").to_owned(),
            text(item, "kind").to_owned(),
            text(item, "state").to_owned(),
            joined(item, "reasons"),
            one_line(item, "submitted_by"),
            time(item, "created_at", 10),
            time(item, "expires_at", 10),
            excerpt(item, "excerpt"),
        ]
    })
}

fn details(item: &Value) -> String {
    output::fields(&[
        ("id", text(item, "id").to_owned()),
        ("kind", text(item, "kind").to_owned()),
        ("state", text(item, "state").to_owned()),
        ("reasons", joined(item, "reasons")),
        ("submitted by", one_line(item, "submitted_by")),
        ("submitted", time(item, "created_at", 19)),
        ("expires", time(item, "expires_at", 19)),
        ("decided by", one_line(item, "decided_by")),
        ("content", content(item)),
    ])
}

/// Returns the request with the line breaks of its texts shown as such.
fn content(item: &Value) -> String {
    let request = serde_json::from_str::<Value>(text(item, "content"));
    let Ok(Value::Object(request)) = request else { return text(item, "content").to_owned() };
    let fields = request.iter().filter(|(_, value)| !value.is_null());
    let lines = fields.map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_an_item_is_shown_by_fields() {
        let content = json!({"kind": "fact", "content": "one\ntwo", "tags": ["a"], "url": null});
        let item = json!({"id": "1", "state": "pending", "content": content.to_string()});
        let shown = details(&item);
        for part in ["content: one\n", "  two\n", "kind: fact", r#"tags: ["a"]"#] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
        assert!(!shown.contains("url"), "{shown}");
    }
}
