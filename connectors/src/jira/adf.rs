//! Conversion between Markdown and the Atlassian Document Format (ADF), which Jira Cloud uses.

use std::panic::resume_unwind;

use mc_parser_pool::{CallError, Parser};
use serde::Deserialize;
use serde_json::Value;

/// The depth of nested nodes. Deeper ones are left out.
const MAX_DEPTH: usize = 60;
/// Text that replaces a document that the child process could not convert.
const NOT_CONVERTED: &str = "*This text could not be converted. Read it in Jira.*";

/// A description or comment.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Value")]
pub(super) enum Text {
    /// A text of Data Center, in Jira's own markup.
    Plain(String),
    /// A document, as JSON.
    Document(String),
}

impl Default for Text {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl From<Value> for Text {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::default(),
            Value::String(text) => Self::Plain(text),
            document => Self::Document(document.to_string()),
        }
    }
}

impl Text {
    /// Converts a document, in a child process, and blocks the calling thread meanwhile. One that
    /// the child process can't convert is replaced by a note.
    pub(super) fn to_markdown(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Document(document) => {
                markdown_or_note(mc_parser_pool::call::<AdfParser>(document))
            }
        }
    }

    /// Converts a document like [`Text::to_markdown`], but blocks another thread.
    pub(super) async fn into_markdown(self) -> String {
        if let Self::Plain(text) = self {
            return text;
        }
        match tokio::task::spawn_blocking(move || self.to_markdown()).await {
            Ok(markdown) => markdown,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime shuts down. An empty text would count as a deleted comment.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

fn markdown_or_note(converted: Result<String, CallError>) -> String {
    converted.unwrap_or_else(|error| {
        tracing::warn!(%error, "a description or comment of Jira was replaced by a note");
        NOT_CONVERTED.to_owned()
    })
}

/// Converts a document.
pub(crate) struct AdfParser;

impl Parser for AdfParser {
    const NAME: &'static str = "jira-adf";
    type Input<'a> = &'a str;
    type Output = String;

    fn parse(document: &str) -> String {
        // The service sends only JSON; anything else becomes an empty text.
        serde_json::from_str(document).map_or_else(|_| String::new(), |node| to_markdown(&node))
    }
}

/// Converts a document.
fn to_markdown(document: &Value) -> String {
    blocks(document, MAX_DEPTH)
}

/// Converts the blocks in a node, with an empty line between two.
fn blocks(node: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return String::new() };
    let blocks = children(node).map(|child| block(child, depth));
    joined(blocks, "\n\n")
}

fn block(node: &Value, depth: usize) -> String {
    match kind(node) {
        "paragraph" | "caption" => inline(node, depth),
        "heading" => {
            let level = node["attrs"]["level"].as_u64().unwrap_or(1).clamp(1, 6);
            format!("{} {}", "#".repeat(usize::try_from(level).unwrap_or(1)), inline(node, depth))
        }
        "bulletList" => items(node, depth, |_, _| "- ".to_owned()),
        "orderedList" => {
            let first = node["attrs"]["order"].as_u64().unwrap_or(1);
            items(node, depth, |at, _| format!("{}. ", first.saturating_add(at)))
        }
        "taskList" | "decisionList" => items(node, depth, |_, item| {
            format!("- [{}] ", if item["attrs"]["state"] == "DONE" { 'x' } else { ' ' })
        }),
        "codeBlock" => code(node, depth),
        "blockquote" | "panel" => prefixed(&blocks(node, depth), "> "),
        "table" => table(node, depth),
        "rule" => "---".to_owned(),
        "expand" | "nestedExpand" => {
            let title = attribute(node, "title").to_owned();
            joined([title, blocks(node, depth)].into_iter(), "\n\n")
        }
        _ if is_inline(node) => inline_node(node, depth),
        _ => blocks(node, depth),
    }
}

fn items(node: &Value, depth: usize, mark: impl Fn(u64, &Value) -> String) -> String {
    let items = (0..).zip(children(node)).map(|(at, item)| {
        let mark = mark(at, item);
        let is_text = children(item).all(is_inline);
        let text = if is_text { inline(item, depth) } else { blocks(item, depth) };
        let indented = prefixed(&text, &" ".repeat(mark.chars().count()));
        format!("{mark}{}", indented.trim_start())
    });
    joined(items, "\n")
}

fn code(node: &Value, depth: usize) -> String {
    let text = inline(node, depth);
    let fence = fence(&text);
    format!("{fence}{}\n{text}\n{fence}", attribute(node, "language"))
}

/// Returns a fence that is longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

fn table(node: &Value, depth: usize) -> String {
    let mut rows = children(node).map(|row| {
        let cells = children(row).map(|cell| {
            blocks(cell, depth).replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    });
    let Some(head) = rows.next() else { return String::new() };
    let columns = children(node).next().map_or(0, |row| children(row).count());
    let line = format!("|{}", " --- |".repeat(columns));
    joined([head, line].into_iter().chain(rows), "\n")
}

fn inline(node: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return String::new() };
    children(node).map(|child| inline_node(child, depth)).collect()
}

fn inline_node(node: &Value, depth: usize) -> String {
    match kind(node) {
        "text" => marked(node),
        "hardBreak" => "\n".to_owned(),
        "mention" | "status" | "placeholder" => attribute(node, "text").to_owned(),
        "emoji" => match attribute(node, "text") {
            "" => attribute(node, "shortName").to_owned(),
            text => text.to_owned(),
        },
        "inlineCard" => attribute(node, "url").to_owned(),
        "date" => date(attribute(node, "timestamp")),
        _ => inline(node, depth),
    }
}

/// Writes a text between its marks, the first one innermost. The text is copied once, however many
/// marks it has.
fn marked(node: &Value) -> String {
    let text = node["text"].as_str().unwrap_or_default();
    let (mut opening, mut closing) = (Vec::new(), String::new());
    for mark in node["marks"].as_array().into_iter().flatten() {
        let (before, after) = match kind(mark) {
            "code" => ("`", "`"),
            "strong" => ("**", "**"),
            "em" => ("*", "*"),
            "strike" => ("~~", "~~"),
            "link" => ("[", "]("),
            _ => continue,
        };
        opening.push(before);
        closing.push_str(after);
        if before == "[" {
            closing.push_str(attribute(mark, "href"));
            closing.push(')');
        }
    }
    opening.reverse();
    format!("{}{text}{closing}", opening.concat())
}

fn date(millis: &str) -> String {
    let time = millis.parse().ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(String::new, |time| time.date_naive().to_string())
}

fn is_inline(node: &Value) -> bool {
    let kinds = ["text", "hardBreak", "mention", "emoji", "inlineCard", "date", "status"];
    kinds.contains(&kind(node))
}

fn prefixed(text: &str, prefix: &str) -> String {
    let lines = text.lines().map(|line| format!("{prefix}{line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(between)
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node["content"].as_array().into_iter().flatten()
}

fn kind(node: &Value) -> &str {
    node["type"].as_str().unwrap_or_default()
}

fn attribute<'a>(node: &'a Value, name: &str) -> &'a str {
    node["attrs"][name].as_str().unwrap_or_default()
}

/// Converts a plain text to a document.
pub(super) fn from_text(text: &str) -> Value {
    let paragraphs = text.split("\n\n").filter(|text| !text.trim().is_empty());
    let content: Vec<Value> = paragraphs.map(paragraph).collect();
    serde_json::json!({ "type": "doc", "version": 1, "content": content })
}

fn paragraph(text: &str) -> Value {
    let mut content = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if !content.is_empty() {
            content.push(serde_json::json!({ "type": "hardBreak" }));
        }
        content.push(serde_json::json!({ "type": "text", "text": line }));
    }
    serde_json::json!({ "type": "paragraph", "content": content })
}

#[cfg(test)]
mod tests;
