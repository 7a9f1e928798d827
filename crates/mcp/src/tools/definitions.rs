//! What a model reads about each tool. Every word here is paid for in every conversation: the
//! whole list stays under 1,800 tokens, and a test counts them. The descriptions say *when* to
//! call, in the words of the moment, since a memory that is never called is no use.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::{Value, json};

use super::Tool;

pub(super) fn listed(tool: Tool) -> Listed {
    let Words { title, description } = words(tool);
    Listed::new(tool.as_str(), description, object(input(tool)))
        .with_title(title)
        .with_raw_output_schema(object(output(tool)))
        .with_annotations(annotations(tool))
}

/// Kinds of memory record.
const KINDS: [&str; 6] = ["fact", "fewshot", "pattern", "adr_link", "gotcha", "rule"];

struct Words {
    title: &'static str,
    description: &'static str,
}

fn words(tool: Tool) -> Words {
    let (title, description) = match tool {
        Tool::Recall => (
            "Recall team memory",
            "Call FIRST, before answering about or changing existing code: facts, gotchas, rules, \
             worked fixes and links the team knows about this task, path or symbol.",
        ),
        Tool::Save => (
            "Save to team memory",
            "Call after a fix, a decision or a surprise, with what the next person must know and \
             can't read off the code. One thing per call, with citations. Says whether it was \
             created, merged, superseded or rejected, and why.",
        ),
        Tool::Search => (
            "Search everything",
            "Search memory, docs, code and dialogs by words and meaning, when recall was not \
             enough or you need a decision, an ADR or past work.",
        ),
        Tool::SearchCode => (
            "Search code",
            "Find where something is in the indexed repositories, by exact symbol, path or a \
             description of what it does, instead of guessing or grepping file by file.",
        ),
        Tool::LinkIssue => (
            "Link to issue",
            "Call once the tracker issue being worked on is known (e.g. CS-214), to tie this \
             dialog and saved records to it.",
        ),
        Tool::OpenDoc => (
            "Open document",
            "Read an ADR, wiki page or doc that recall or search named. Give id, url or title.",
        ),
        Tool::Feedback => (
            "Report what helped",
            "Call after using a recall: ids of the items that were used (none: empty list).",
        ),
    };
    Words { title, description }
}

/// Every hint is set, since the protocol's defaults are the pessimistic ones.
fn annotations(tool: Tool) -> ToolAnnotations {
    let read_only = matches!(tool, Tool::Recall | Tool::Search | Tool::SearchCode | Tool::OpenDoc);
    // Only a save can replace what was there (a contradiction supersedes).
    let destructive = tool == Tool::Save;
    ToolAnnotations::new()
        .read_only(read_only)
        .destructive(destructive)
        .idempotent(true)
        .open_world(false)
}

fn input(tool: Tool) -> Value {
    match tool {
        Tool::Recall => inputs(
            &[],
            json!({
                "query": text("What you are about to do"),
                "task_external_id": text("Issue, e.g. CS-214"),
                "repo_path": text("File or folder"),
                "symbols": list("Qualified names"),
                "signals": list("Error words"),
                "limit_tokens": {
                "type": "integer", "minimum": 96, "maximum": 32000,
                "description": "Default 2000",
            },
            }),
        ),
        Tool::Save => inputs(
            &["kind", "content"],
            json!({
                "kind": {
                "enum": KINDS,
                "description": "gotcha: trap; rule: agreed; fewshot: worked fix",
            },
                "content": text("The cause and the rule, self-contained"),
                "title": string(),
                "scope": list("Modules or paths it holds for"),
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
                "ttl": text("Expiry, YYYY-MM-DD; default 180 days"),
                "contradicts": {"type": "boolean", "description": "True if the old record is wrong"},
                "supersedes": id("Record it replaces"),
                "dialog_id": id(""),
                "visibility": {"enum": ["team", "private"]},
                "source": text("What it was taken from"),
            "quality": {"type": "object", "description": "novelty, dup, usefulness, 0 to 1"},
                "meta": {"type": "object", "description": "Kept as given, e.g. patch_sha"},
            }),
        ),
        Tool::Search => inputs(
            &["query"],
            json!({
                "query": string(),
                "sources": {"type": "array", "items": {"enum": ["memory", "doc", "code", "dialog"]}},
                "kinds": {"type": "array", "items": {"enum": KINDS}},
                "scope": strings(),
                "tags": strings(),
                "path": text("Glob"),
                "language": string(),
                "limit": limit(),
                "explain": {"type": "boolean"},
            }),
        ),
        Tool::SearchCode => inputs(
            &["query"],
            json!({
                "query": text("Symbol, path or description"),
                "path": text("Glob"),
                "language": string(),
                "limit": limit(),
            }),
        ),
        Tool::LinkIssue => inputs(
            &["issue_id"],
            json!({
                "issue_id": string(),
                "dialog_id": id(""),
                "record_ids": ids(),
            }),
        ),
        Tool::OpenDoc => inputs(
            &[],
            json!({
                "id": id(""),
                "url": string(),
                "title": string(),
                "offset": {"type": "integer", "minimum": 0, "description": "Where to read on"},
            }),
        ),
        // A bundle knows its project.
        Tool::Feedback => closed(
            &["bundle_id", "used"],
            json!({
                "bundle_id": id(""),
                "used": ids(),
            }),
        ),
    }
}

/// Only what callers lean on is named; the Core's additions pass through.
fn output(tool: Tool) -> Value {
    let array = json!({"type": "array"});
    let number = json!({"type": "number"});
    match tool {
        Tool::Recall => open(
            &["facts", "few_shots", "links", "confidence"],
            json!({
                "facts": array,
                "few_shots": array,
                "links": array,
                "gotchas": array,
                "dialogs": array,
                "code": array,
                "confidence": number,
                "bundle_id": string(),
            }),
        ),
        Tool::Save => open(
            &["outcome"],
            json!({
                "outcome": {"enum": ["created", "merged", "superseded", "rejected"]},
                "id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "reason": string(),
            }),
        ),
        Tool::Search | Tool::SearchCode => open(&["results"], json!({"results": array})),
        Tool::LinkIssue => open(&["task"], json!({"task": {"type": "object"}})),
        Tool::OpenDoc => open(
            &["title", "content"],
            json!({
                "title": string(),
                "content": string(),
                "next_offset": {"type": "integer"},
            }),
        ),
        Tool::Feedback => {
            open(&["recorded"], json!({"recorded": {"type": "integer"}, "unknown": array}))
        }
    }
}

/// An input that takes `project_key` besides its own properties.
fn inputs(required: &[&str], mut properties: Value) -> Value {
    properties["project_key"] = string();
    closed(required, properties)
}

fn closed(required: &[&str], properties: Value) -> Value {
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

fn id(description: &str) -> Value {
    let mut schema = json!({"type": "string", "format": "uuid"});
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}

fn ids() -> Value {
    json!({"type": "array", "items": id("")})
}

fn limit() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": 100})
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(map) => Arc::new(map),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ListToolsResult;

    use super::*;
    use crate::settings::Toolset;

    /// DESIGN: `memory` and `repo` together, the default, cost at most this much of a context.
    const BUDGET: usize = 1_800;

    /// Tokens of a list as it is sent, and of what a client shows its model of it.
    fn tokens(toolsets: &[Toolset]) -> (usize, usize) {
        let vocabulary = tiktoken_rs::o200k_base_singleton();
        let count = |text: String| vocabulary.encode_ordinary(&text).len();
        let tools = Tool::ALL.iter().filter(|tool| tool.is_in(toolsets)).copied().map(listed);
        let tools: Vec<_> = tools.collect();
        let shown: Vec<_> = tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description,
                    "parameters": tool.input_schema})
            })
            .collect();
        let sent = serde_json::to_string(&ListToolsResult::with_all_items(tools)).expect("JSON");
        (count(sent), count(json!(shown).to_string()))
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "what each toolset costs, for --no-capture")]
    fn the_default_list_costs_at_most_1800_tokens() {
        for toolsets in [&[Toolset::Memory][..], &[Toolset::Repo], Toolset::ALL] {
            let names: Vec<_> = toolsets.iter().map(|toolset| toolset.as_str()).collect();
            let (sent, shown) = tokens(toolsets);
            println!("{}: {sent} tokens sent, {shown} shown to the model", names.join(" + "));
        }
        let (sent, _) = tokens(Toolset::ALL);
        assert!(sent <= BUDGET, "the tool list costs {sent} tokens, {BUDGET} are allowed");
        // A list this cheap would have lost its words; it also shows that the count is real.
        assert!(sent > BUDGET / 2, "the tool list costs only {sent} tokens");
    }

    #[test]
    fn every_tool_has_a_title_all_annotations_and_both_schemas() {
        for tool in Tool::ALL {
            let listed = listed(*tool);
            let hints = listed.annotations.expect("annotations");
            assert!(listed.title.is_some_and(|title| !title.is_empty()), "{tool:?}");
            assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some());
            assert!(hints.idempotent_hint.is_some() && hints.open_world_hint.is_some());
            assert_eq!(listed.input_schema["type"], "object", "{tool:?}");
            assert_eq!(listed.output_schema.expect("output schema")["type"], "object", "{tool:?}");
        }
    }

    #[test]
    fn inputs_refuse_unknown_fields() {
        for tool in Tool::ALL {
            assert_eq!(listed(*tool).input_schema["additionalProperties"], false, "{tool:?}");
        }
    }

    #[test]
    fn the_list_is_as_reviewed() {
        let tools: Vec<_> = Tool::ALL.iter().copied().map(listed).collect();
        insta::with_settings!({ sort_maps => true }, {
            insta::assert_json_snapshot!("tools_list", tools);
        });
    }
}
