//! What a model reads about each tool. Every word here is paid for in every conversation: the
//! whole list stays under 2,000 tokens, and a test counts them. The descriptions say *when* to
//! call, in the words of the moment, since a memory that is never called is no use.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::Value;

use super::Tool;
use super::schemas::{input, output};

pub(super) fn definition(tool: Tool) -> Listed {
    let Words { title, description } = words(tool);
    Listed::new(tool.as_str(), description, object(input(tool)))
        .with_title(title)
        .with_raw_output_schema(object(output(tool)))
        .with_annotations(annotations(tool))
}

struct Words {
    title: &'static str,
    description: &'static str,
}

fn words(tool: Tool) -> Words {
    let (title, description) = match tool {
        Tool::Recall => (
            "Recall team memory",
            "Call FIRST, before answering about or changing existing code: facts, gotchas, rules, \
             worked fixes and links the team knows about this task, path or symbol. Each has a handle (m1).",
        ),
        Tool::Save => (
            "Save to team memory",
            "Call after a fix, a decision or a surprise, with what the next person must know and \
             can't see in the code. One thing per call, with citations. The outcome says whether it was \
             stored, merged, proposed or rejected, and why.",
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
            "Read in full",
            "Read whole what recall or search showed in part: by handle (m1, d1) or id, a document by title, \
             path or url too. A long document comes as an outline; then name a section.",
        ),
        Tool::Feedback => (
            "Report what helped",
            "Call after using a recall: pass the handles of the items you used (an empty list if none).",
        ),
        Tool::Forget => (
            "Forget a record",
            "Take back a memory record, or your own proposal, that should not exist. To correct one, \
             save with supersedes.",
        ),
    };
    Words { title, description }
}

/// Every hint is set, since the protocol's defaults are the pessimistic ones.
fn annotations(tool: Tool) -> ToolAnnotations {
    let read_only = matches!(tool, Tool::Recall | Tool::Search | Tool::SearchCode | Tool::OpenDoc);
    // A save can replace what was there (a contradiction supersedes).
    let destructive = matches!(tool, Tool::Save | Tool::Forget);
    ToolAnnotations::new()
        .read_only(read_only)
        .destructive(destructive)
        .idempotent(true)
        .open_world(false)
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
    use serde_json::json;

    use super::*;
    use crate::settings::Toolset;

    /// DESIGN: `memory` and `repo` together, the default, cost at most this much of a context.
    const BUDGET: usize = 2_000;

    /// Tokens of a list as it is sent, and of what a client shows its model of it.
    fn tokens(toolsets: &[Toolset]) -> (usize, usize) {
        let vocabulary = tiktoken_rs::o200k_base_singleton();
        let count = |text: String| vocabulary.encode_ordinary(&text).len();
        let tools = Tool::ALL.iter().filter(|tool| tool.is_in(toolsets)).copied().map(definition);
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
    fn the_default_list_costs_at_most_2000_tokens() {
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
            let listed = definition(*tool);
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
            assert_eq!(definition(*tool).input_schema["additionalProperties"], false, "{tool:?}");
        }
    }

    /// Gemini refuses a list in which one enum has no type, and formats of strings that it does not know.
    #[test]
    fn every_enum_has_a_type_and_no_string_a_format() {
        fn walk(path: &str, schema: &Value, enums: &mut usize) {
            if let Some(words) = schema.get("enum") {
                assert_eq!(schema["type"], "string", "{path}: {words}");
                assert!(words.as_array().is_some_and(|words| !words.is_empty()), "{path}");
                *enums += 1;
            }
            assert!(schema.get("format").is_none(), "{path}");
            if schema.get("type").is_some_and(|of| of == "array") && path.contains("input") {
                assert!(schema["items"]["type"].is_string(), "{path} has items without a type");
            }
            match schema {
                Value::Object(fields) => {
                    fields
                        .iter()
                        .for_each(|(name, field)| walk(&format!("{path}.{name}"), field, enums));
                }
                Value::Array(items) => items.iter().for_each(|item| walk(path, item, enums)),
                _ => {}
            }
        }
        let mut enums = 0;
        for tool in Tool::ALL {
            let listed = json!(definition(*tool));
            walk(&format!("{} input", tool.as_str()), &listed["inputSchema"], &mut enums);
            walk(&format!("{} output", tool.as_str()), &listed["outputSchema"], &mut enums);
        }
        assert!(enums >= 5, "only {enums} enums were seen");
    }

    #[test]
    fn the_list_is_as_reviewed() {
        let tools: Vec<_> = Tool::ALL.iter().copied().map(definition).collect();
        insta::with_settings!({ sort_maps => true }, {
            insta::assert_json_snapshot!("tools_list", tools);
        });
    }
}
