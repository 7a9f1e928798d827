//! Conversion of the Core's responses to tool results: text for models, and structured content for
//! programs with the same information, at about the same cost.

use http::StatusCode;
use mc_domain::ProjectKey;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Map, Value, json};

use super::sections::{NoSection, Piece};
use crate::core::CoreError;
use crate::render::{self, ModelText};
use crate::resources;

/// Default token limit of a result.
const BUDGET: usize = 1_200;
/// Default token limit of search results with explanations, which are longer than the results.
const BUDGET_TO_EXPLAIN: usize = 4_800;
/// Maximum token limit of a result.
const BUDGET_MAX: usize = 32_000;
/// Tokens of a result in addition to its content: delimiters, source and how to continue.
const OVERHEAD: usize = 150;
/// Minimum tokens of content.
const CONTENT_MIN: usize = 50;
/// Fields of a record that only its maintainers need.
const FOR_MAINTAINERS: [&str; 10] = [
    "versions",
    "contributions",
    "quality",
    "recall_count",
    "use_count",
    "is_ttl_explicit",
    "owner",
    "created_at",
    "dialog_id",
    "version",
];

/// Fields of the response of a tool of workspaces.
pub(super) const TOOL_RESPONSE: &[&str] =
    &["handle", "output", "error", "error_code", "cwd", "phase"];

/// Checks that the Core's response is an object.
pub(super) fn object(response: Value) -> Result<Value, CoreError> {
    if response.is_object() {
        Ok(response)
    } else {
        Err(CoreError::BadAnswer { status: StatusCode::OK })
    }
}

/// Creates the result of a tool, all of whose response the model gets.
pub(super) fn tool_response(
    response: Value,
    text: impl FnOnce(&Value) -> ModelText,
) -> Result<CallToolResult, CoreError> {
    let response = object(response)?;
    Ok(complete(vec![text(&response)], response))
}

/// Returns the token limit of a result.
pub(super) fn budget(arguments: &JsonObject) -> usize {
    let explains = arguments.get("explain").is_some_and(|explain| *explain == json!(true));
    budget_or(if explains { BUDGET_TO_EXPLAIN } else { BUDGET }, arguments)
}

/// Returns the token limit of a result of a tool with its own default.
pub(super) fn budget_or(default: usize, arguments: &JsonObject) -> usize {
    let limit = arguments.get("limit_tokens").and_then(Value::as_i64);
    // A negative limit counts as 0.
    limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(0).min(BUDGET_MAX))
}

/// Returns the token limit of the content.
fn content_budget(arguments: &JsonObject) -> usize {
    budget(arguments).saturating_sub(OVERHEAD).max(CONTENT_MIN)
}

/// Creates the result of `open_doc` for a record, document or passage. `line` selects the section
/// to show.
pub fn opened(
    arguments: &JsonObject,
    default_project: Option<&ProjectKey>,
    mut answer: Value,
    line: Option<usize>,
) -> Result<CallToolResult, NoSection> {
    if answer["what"] == "record" {
        return Ok(record(arguments, answer));
    }
    let content = answer["content"].as_str().unwrap_or_default();
    let shown = piece(arguments, content, line)?;
    let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let text = if offset > 0 && shown.text.is_empty() {
        render::past_the_end(offset, content.chars().count())
    } else {
        render::piece(&answer, &shown)
    };
    shown.put_into(&mut answer);
    let project = other_project(arguments, default_project);
    let resource =
        (answer["what"] == "document").then(|| resources::document_link(&answer, project));
    let mut result = complete(vec![text], text_fields(&answer));
    result.content.extend(resource.flatten().map(ContentBlock::resource_link));
    Ok(result)
}

fn piece(arguments: &JsonObject, content: &str, line: Option<usize>) -> Result<Piece, NoSection> {
    let budget = content_budget(arguments);
    let section = arguments.get("section").and_then(Value::as_str);
    let offset = arguments.get("offset").and_then(Value::as_u64).filter(|offset| *offset > 0);
    Ok(match (offset, section, line) {
        (Some(offset), _, _) => Piece::at(content, offset, budget),
        (None, Some(section), _) => Piece::of_section(content, section, budget)?,
        (None, None, Some(line)) => Piece::around(content, line, budget),
        (None, None, None) => Piece::first(content, budget),
    })
}

/// Returns the project of a call, if it is not the default one.
fn other_project<'a>(
    arguments: &'a JsonObject,
    default_project: Option<&ProjectKey>,
) -> Option<&'a str> {
    let project = arguments.get("project_key").and_then(Value::as_str)?;
    let is_default =
        default_project.is_some_and(|default| default.as_str().eq_ignore_ascii_case(project));
    (!is_default).then_some(project)
}

/// Returns the structured content of a text.
fn text_fields(answer: &Value) -> Value {
    let names = [
        "what",
        "id",
        "title",
        "url",
        "location",
        "line_start",
        "line_end",
        "trust",
        "visibility",
        "section",
        "outline",
        "content",
        "next_offset",
    ];
    let fields = names.into_iter().filter_map(|name| {
        let value = answer.get(name).filter(|value| !value.is_null() && **value != json!(""))?;
        Some((name.to_owned(), value.clone()))
    });
    let mut fields: Map<_, _> = fields.collect();
    // Required by the schema, even if they are empty.
    for name in ["title", "content"] {
        fields.entry(name).or_insert_with(|| json!(""));
    }
    Value::Object(fields)
}

fn record(arguments: &JsonObject, mut answer: Value) -> CallToolResult {
    let content = answer["content"].as_str().unwrap_or_default().to_owned();
    let piece = Piece::at(&content, offset(arguments), content_budget(arguments));
    piece.put_into(&mut answer);
    let mut text = render::record(&answer);
    render::add_next(&mut text, piece.next);
    if let Value::Object(fields) = &mut answer {
        fields.retain(|name, value| {
            let is_empty = value.is_null() || *value == json!([]) || *value == json!({});
            let is_for_all = !is_empty && !FOR_MAINTAINERS.contains(&name.as_str());
            is_for_all || name == "title"
        });
    }
    complete(vec![text], answer)
}

fn offset(arguments: &JsonObject) -> u64 {
    arguments.get("offset").and_then(Value::as_u64).unwrap_or(0)
}

/// Creates a result with text for models and structured content for programs.
pub(super) fn complete(texts: Vec<ModelText>, mut structured: Value) -> CallToolResult {
    render::structured(&mut structured);
    let mut result =
        CallToolResult::success(texts.into_iter().map(ModelText::into_block).collect());
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> JsonObject {
        let Value::Object(arguments) = value else { panic!("arguments are an object") };
        arguments
    }

    fn text(result: &CallToolResult) -> &str {
        &result.content[0].as_text().expect("a text").text
    }

    #[test]
    fn offset_after_the_end_is_explained() {
        let answer = json!({"what": "document", "title": "T", "content": "abc"});
        let opened = opened(&arguments(json!({"title": "T", "offset": 3})), None, answer, None);
        let opened = opened.expect("a result");
        let text = text(&opened);
        assert!(
            text.starts_with("The document has 3 characters, so nothing stands at offset 3"),
            "{text}"
        );
    }

    #[test]
    fn document_of_any_length_is_opened_within_the_budget() {
        let long: String = (0..400)
            .map(|n| format!("## Part {n}\n\n{}\n\n", "Words of it. ".repeat(40)))
            .collect();
        let plain = long.replace('#', "");
        for (content, limit) in [(&long, 1_200), (&plain, 1_200), (&long, 3_000)] {
            let answer = json!({"what": "document", "id": "d", "title": "T", "content": content});
            let arguments = arguments(json!({"title": "T", "limit_tokens": limit}));
            let opened = opened(&arguments, None, answer, None).expect("a result");
            let shown = mc_tokens::count(text(&opened));
            let structured = opened.structured_content.expect("structured content");
            assert!(shown <= limit && shown * 2 > limit, "{shown} tokens of {limit}");
            assert!(mc_tokens::count(&structured.to_string()) * 10 <= shown * 12, "{structured}");
        }
    }
}
