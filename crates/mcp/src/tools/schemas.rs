//! The tools' schemas. Inputs are enforced as they are listed; of outputs only what every outcome has, and what
//! callers lean on, is named. Clients hand them on to models' makers, who know different parts of JSON Schema:
//! every enum has a type, and no string a format.

use serde_json::{Value, json};

use super::Tool;

/// Kinds of memory record.
const KINDS: [&str; 6] = ["fact", "fewshot", "pattern", "adr_link", "gotcha", "rule"];
/// Everything that can become of a save.
const OUTCOMES: [&str; 7] =
    ["created", "merged", "superseded", "proposed", "duplicate", "quarantined", "rejected"];

/// What `tool` takes.
pub fn input(tool: Tool) -> Value {
    match tool {
        Tool::Recall => inputs(&[], recall()),
        Tool::Save => inputs(&["kind", "content"], save()),
        Tool::Search => inputs(
            &[],
            json!({
                "query": string(),
                "task_external_id": text("Issue"),
                "sources": list_of(&["memory", "doc", "code", "dialog"]),
                "kinds": list_of(&KINDS),
                "scope": strings(),
                "tags": strings(),
                "path": text("File, folder or glob"),
                "language": string(),
                "limit": number(1, 100, ""),
                "limit_tokens": tokens(),
                "explain": {"type": "boolean"},
            }),
        ),
        Tool::SearchCode => inputs(
            &["query"],
            json!({
                "query": text("Symbol, path or description"),
                "path": text("File, folder or glob"),
                "language": string(),
                "limit": number(1, 100, ""),
                "limit_tokens": tokens(),
            }),
        ),
        Tool::LinkIssue => inputs(
            &["issue_id"],
            json!({
                "issue_id": string(),
                "dialog_id": string(),
                "record_ids": strings(),
                "bundle_id": string(),
            }),
        ),
        Tool::OpenDoc => inputs(
            &[],
            json!({
                "id": text("Handle or id"),
                "title": text("Title or path"),
                "url": string(),
                "section": text("Heading"),
                "offset": {"type": "integer", "minimum": 0, "description": "Offset to continue from"},
                "limit_tokens": tokens(),
                "bundle_id": text("Bundle of the handle; default: newest"),
            }),
        ),
        Tool::Feedback => {
            inputs(&["used"], json!({ "bundle_id": string(), "used": list("Handles or ids") }))
        }
        Tool::Forget => {
            inputs(&["id"], json!({ "id": text("Handle or id"), "bundle_id": string() }))
        }
    }
}

fn recall() -> Value {
    json!({
        "query": text("What you are about to do"),
        "task_external_id": text("Issue, e.g. CS-214"),
        "repo_path": text("File or folder"),
        "symbols": list("Qualified names"),
        "signals": list("Error words or lines"),
        "limit_tokens": number(96, 32_000, "Default 2000"),
        "include": list_of(&["changes"]),
    })
}

fn save() -> Value {
    json!({
        "kind": {
            "type": "string", "enum": KINDS,
            "description": "gotcha: pitfall; rule: agreed; fewshot: worked fix",
        },
        "content": text("The cause and the rule, self-contained"),
        "title": string(),
        "scope": list("Modules or paths it applies to"),
        "tags": strings(),
        "task_external_id": string(),
        "citations": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "file": string(),
                "symbol": string(),
                "line_start": {"type": "integer", "minimum": 1},
                "line_end": {"type": "integer", "minimum": 1},
                "commit": string(),
            },
            "required": ["file"],
        }},
        "steps": list("fewshot: what was done"),
        "patch_ref": string(),
        "url": string(),
        "ttl": text("Expiry: YYYY-MM-DD or 30d"),
        "contradicts": {"type": "boolean", "description": "True if the old record is wrong"},
        "supersedes": text("Handle or id it replaces"),
        "dialog_id": string(),
        "visibility": {"type": "string", "enum": ["team", "private"]},
        "source": text("What it was taken from"),
        "quality": {"type": "object", "description": "usefulness, 0 to 1"},
        "meta": {"type": "object", "description": "Kept as given, e.g. patch_sha"},
        "bundle_id": string(),
    })
}

/// What every answer of `tool` has; the rest passes through.
pub fn output(tool: Tool) -> Value {
    let array = json!({"type": "array"});
    match tool {
        Tool::Recall => open(
            &["facts", "few_shots", "links", "confidence"],
            json!({
                "facts": array,
                "few_shots": array,
                "links": array,
                "confidence": {"type": "number"},
                "bundle_id": string(),
            }),
        ),
        Tool::Save => open(
            &["outcome"],
            json!({"outcome": {"type": "string", "enum": OUTCOMES}, "id": string()}),
        ),
        Tool::Search | Tool::SearchCode => open(&["results"], json!({ "results": array })),
        Tool::LinkIssue => open(&["task"], json!({"task": {"type": "object"}})),
        Tool::OpenDoc => open(
            &["title", "content"],
            json!({ "title": string(), "content": string(), "next_offset": {"type": "integer"} }),
        ),
        Tool::Feedback => open(&["recorded"], json!({"recorded": {"type": "integer"}})),
        Tool::Forget => open(&["forgotten"], json!({ "forgotten": string() })),
    }
}

/// An input that takes `project_key` besides its own properties.
fn inputs(required: &[&str], mut properties: Value) -> Value {
    properties["project_key"] = string();
    let mut schema = open(required, properties);
    schema["additionalProperties"] = json!(false);
    schema
}

fn open(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn string() -> Value {
    json!({"type": "string"})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn strings() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn list(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn list_of(words: &[&str]) -> Value {
    json!({"type": "array", "items": {"type": "string", "enum": words}})
}

/// Most tokens of an answer. Any number will do: what is shown has at least one result or line.
fn tokens() -> Value {
    json!({"type": "integer", "description": "Default 1200"})
}

fn number(least: u32, most: u32, description: &str) -> Value {
    let mut schema = json!({"type": "integer", "minimum": least, "maximum": most});
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}
