#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::growth::{assert_linear, special};

#[test]
fn document_becomes_markdown() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let paragraph = |text: Value| json!({ "type": "paragraph", "content": [text] });
    let cell = |kind: &str, word: &str| json!({ "type": kind, "content": [paragraph(text(word))] });
    let document = json!({ "type": "doc", "version": 1, "content": [
        { "type": "heading", "attrs": { "level": 2 }, "content": [text("Steps")] },
        { "type": "orderedList", "attrs": { "order": 3 }, "content": [
            { "type": "listItem", "content": [paragraph(text("one")),
                { "type": "bulletList", "content": [
                    { "type": "listItem", "content": [paragraph(text("inner"))] }] }] },
            { "type": "listItem", "content": [paragraph(text("two"))] }] },
        { "type": "codeBlock", "attrs": { "language": "rust" },
            "content": [text("let a = \"```\";")] },
        { "type": "table", "content": [
            { "type": "tableRow", "content": [cell("tableHeader", "a|b"), cell("tableHeader",
            "c")] },
            { "type": "tableRow", "content": [cell("tableCell", "1"), cell("tableCell", "2")] }] },
        { "type": "panel", "content": [paragraph(json!({ "type": "mention",
        "attrs": { "text": "@vera" } }))] },
        { "type": "taskList", "content": [
            { "type": "taskItem", "attrs": { "state": "DONE" }, "content": [text("done")] }] },
        paragraph(json!({ "type": "text", "text": "here",
            "marks": [{ "type": "link", "attrs": { "href": "https://example.org" } }] })),
    ]});
    let expected = "## Steps\n\n3. one\n\n   - inner\n4. two\n\n\
        ````rust\nlet a = \"```\";\n````\n\n\
                    | a\\|b | c |\n| --- | --- |\n| 1 | 2 |\n\n> @vera\n\n- [x] done\n\n\
                    [here](https://example.org)";
    assert_eq!(to_markdown(&document), expected);
}

fn text(json: Value) -> Text {
    serde_json::from_value(json).unwrap()
}

#[test]
fn text_stays_as_it_is() {
    assert_eq!(text(json!("h1. As it is")).to_markdown(), "h1. As it is");
    assert_eq!(text(Value::Null).to_markdown(), "");
}

#[tokio::test]
async fn document_is_converted_in_both_ways() {
    for (json, expected) in [(json!("*a*"), "*a*"), (from_text("*b*"), "*b*"), (Value::Null, "")] {
        let text = text(json);
        assert_eq!(text.to_markdown(), expected);
        assert_eq!(text.into_markdown().await, expected);
    }
}

#[test]
fn document_that_cannot_be_converted_is_replaced_by_a_note() {
    assert_eq!(markdown_or_note(Ok("*a*".to_owned())), "*a*");
    assert_eq!(markdown_or_note(Err(CallError::Stopped)), NOT_CONVERTED);
}

#[test]
fn result_survives_the_way_between_processes() {
    let document = from_text("One\nline\n\nAnother").to_string();
    assert_eq!(AdfParser::parse_serialized(&document).unwrap(), AdfParser::parse(&document));
    assert_eq!(AdfParser::parse("{"), "");
}

#[test]
fn nodes_that_are_too_deep_are_left_out() {
    let mut node = json!({ "type": "text", "text": "deep" });
    for _ in 0..100 {
        node = json!({ "type": "blockquote", "content": [node] });
    }
    assert_eq!(to_markdown(&node), "");
}

#[test]
fn text_survives_the_conversion_to_a_document() {
    let text = "One\nline\n\nAnother";
    assert_eq!(to_markdown(&from_text(text)), text);
}

#[test]
fn document_is_converted_in_linear_time() {
    assert_linear("adf", 32 * 1024, &special::adf(), |text| {
        let document = serde_json::from_str(text).expect("JSON");
        drop(to_markdown(&document));
    });
}
