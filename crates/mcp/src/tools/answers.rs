//! From the Core's answer to a tool result: structured content as it came, but for what nobody sees, and
//! the same as text.

use http::StatusCode;
use mc_domain::ProjectKey;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::Tool;
use crate::core::CoreError;
use crate::{render, resources};

/// Longest piece of a document in one answer, in characters; the rest is read with `offset`.
const MAX_PIECE: usize = 16_000;

/// The tool result for the Core's `answer` to a call with `arguments`.
pub fn answer(
    tool: Tool,
    arguments: &JsonObject,
    default_project: Option<&ProjectKey>,
    answer: Value,
) -> Result<CallToolResult, CoreError> {
    if !answer.is_object() {
        return Err(CoreError::BadAnswer { status: StatusCode::OK });
    }
    if tool == Tool::OpenDoc {
        let project = arguments.get("project_key").and_then(Value::as_str);
        let is_default = project.is_none_or(|key| {
            default_project.is_some_and(|default| default.as_str().eq_ignore_ascii_case(key))
        });
        return Ok(open_doc(arguments, project.filter(|_| !is_default), answer));
    }
    let text = match tool {
        Tool::Recall => render::bundle(&answer),
        Tool::Save => render::saved(&answer),
        Tool::Search | Tool::SearchCode => render::results(&answer),
        Tool::LinkIssue => render::linked(&answer),
        Tool::Feedback | Tool::OpenDoc => render::recorded(&answer),
    };
    Ok(complete(vec![ContentBlock::text(text)], answer))
}

fn open_doc(arguments: &JsonObject, project: Option<&str>, mut answer: Value) -> CallToolResult {
    let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let whole = answer["content"].as_str().unwrap_or_default();
    let (piece, length) = (piece(whole, offset), whole.chars().count());
    answer["content"] = json!(piece.text);
    if let Some(next) = piece.next {
        answer["next_offset"] = json!(next);
    }
    let text = if offset > 0 && piece.text.is_empty() {
        render::past_the_end(offset, length)
    } else {
        render::document(&answer, piece.next)
    };
    let mut content = vec![ContentBlock::text(text)];
    content.extend(resources::document_link(&answer, project).map(ContentBlock::resource_link));
    complete(content, answer)
}

struct Piece {
    text: String,
    /// Character at which the next piece starts, if there is one.
    next: Option<u64>,
}

fn piece(content: &str, offset: u64) -> Piece {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut rest = content.chars().skip(start);
    let text: String = rest.by_ref().take(MAX_PIECE).collect();
    let next = rest.next().map(|_| offset + MAX_PIECE as u64);
    Piece { text, next }
}

fn complete(content: Vec<ContentBlock>, mut structured: Value) -> CallToolResult {
    render::structured(&mut structured);
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_document_is_read_piece_by_piece_and_nothing_is_lost() {
        let content: String = "дом ".repeat(MAX_PIECE / 2);
        let (mut read, mut offset) = (String::new(), Some(0));
        while let Some(start) = offset {
            let piece = piece(&content, start);
            read.push_str(&piece.text);
            offset = piece.next;
        }
        assert_eq!(read, content);
    }

    #[test]
    fn an_offset_past_the_end_is_told_as_such() {
        let Value::Object(arguments) = json!({"title": "T", "offset": 3}) else {
            panic!("arguments are an object")
        };
        let opened = open_doc(&arguments, None, json!({"title": "T", "content": "abc"}));
        let text = &opened.content[0].as_text().expect("a text").text;
        assert!(
            text.starts_with("The document has 3 characters, so nothing stands at offset 3"),
            "{text}"
        );
    }

    #[test]
    fn an_offset_past_the_end_is_an_empty_piece() {
        let piece = piece("abc", u64::MAX);
        assert_eq!((piece.text.as_str(), piece.next), ("", None));
    }
}
