//! Requests of callers, with and without an account, and the rendering of responses to models.

use std::hint::black_box;

use http::{HeaderName, header};
use mc_api::Authority;
use mc_api::testing::{forwarded_client, is_within_json_limits, record_diff};
use mc_auth::login::Callback;
use mc_contract::operations::save::SaveRequest;
use mc_contract::{read, rules};
use mc_mcp::testing::open_document;
use mc_mcp::{TOOLS, Tool};
use mc_memory::CONTENT_MAX_CHARS;
use serde_json::{Map, Value};

use super::{MAX_DOCUMENT, Parser, json_string};
use crate::growth::families::sequence;
use crate::growth::special;

/// Longest line that a rule of a request accepts, in characters; longer than each of them.
const LINE: usize = 8_000;
/// Longest target of a request, in bytes.
const MAX_TARGET: usize = 8 << 10;
/// Longest header of a request, in bytes.
const MAX_HEADER: usize = 64 << 10;
/// Tokens of a document for a model.
const TOKENS: usize = 1_200;
/// Largest message to `/mcp`, in bytes.
const MAX_MESSAGE: usize = 16 << 20;

/// Returns the parsers.
pub fn parsers() -> Vec<Parser> {
    let mut parsers = headers();
    parsers.extend(bodies_and_responses());
    parsers
}

fn headers() -> Vec<Parser> {
    let any = |name: &str, parse: fn(&str)| Parser::new(name, parse).with_max_bytes(MAX_HEADER);
    vec![
        any("Host", |value| drop(black_box(value.parse::<Authority>())))
            .with(vec![sequence(&[("a.b", 1), (".", 1)])]),
        any("Forwarded", |value| _ = black_box(forwarded_client(header::FORWARDED, value)))
            .with(vec![sequence(&[("for=10.0.0.2;", 1), ("proto=https,", 1)])]),
        any("X-Forwarded-For", |value| {
            let name = HeaderName::from_static("x-forwarded-for");
            black_box(forwarded_client(name, value));
        })
        .with(vec![sequence(&[("10.0.0.2", 1), (", ", 1)])]),
    ]
}

fn bodies_and_responses() -> Vec<Parser> {
    let rule = |name: &str, check: fn(&str)| Parser::new(name, check).with_max_bytes(LINE);
    vec![
        Parser::new("limits of JSON", |body| {
            black_box(is_within_json_limits(body.as_bytes()));
        })
        .with_max_bytes(MAX_MESSAGE),
        Parser::new("request to save", |body| {
            let request = object(body).map(read::from_object::<SaveRequest>);
            drop(black_box(request));
        })
        .with_wrapper(save_request),
        Parser::new("arguments of a tool", |arguments| {
            let request = object(arguments).map(|arguments| {
                let tool = tool("search");
                tool.read(arguments).and_then(|arguments| tool.core_call(&arguments))
            });
            drop(black_box(request));
        })
        .with_wrapper(tool_arguments),
        Parser::new("search result for a model", |response| render("search", response))
            .with_wrapper(search_response),
        Parser::new("bundle for a model", |response| render("recall", response))
            .with_wrapper(recall_response),
        Parser::new("document for a model", |content| {
            black_box(open_document(content, "a > b", TOKENS));
        })
        .with_max_bytes(MAX_DOCUMENT)
        .with(special::markdown()),
        Parser::new("diff of a proposal", |text| {
            // Every line differs.
            let after = text.replace('\n', "b\n").replace('\r', "b\r") + "b";
            black_box(record_diff(text, &after));
        })
        .with_max_bytes(CONTENT_MAX_CHARS),
        Parser::new("callback of a login", |query| drop(black_box(Callback::from_query(query))))
            .with_max_bytes(MAX_TARGET)
            .with_wrapper(|text| format!("code={text}&state={text}")),
        rule("rule: prose", |text| drop(black_box(rules::prose(text, LINE)))),
        rule("rule: path", |text| drop(black_box(rules::relative_path(text, LINE)))),
        rule("rule: URL", |text| drop(black_box(rules::web_url(text, LINE)))),
        rule("rule: masked line", |text| drop(black_box(rules::masked_line(text, LINE)))),
    ]
}

/// Returns the object that a JSON text has.
fn object(json: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(json).ok()
}

fn tool(name: &str) -> &'static Tool {
    TOOLS.iter().find(|tool| tool.name() == name).expect("a tool of this name")
}

/// Renders a response of the service for a model.
fn render(name: &str, response: &str) {
    let response = object(response).map_or(Value::Null, Value::Object);
    drop(black_box(tool(name).result(&Map::new(), response)));
}

fn save_request(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"project_key":"shop","kind":"fact","content":{text},"title":{text},"tags":[{text}],
        "meta":{{"source":{text}}},"citations":[{{"file":{text},"symbol":{text}}}]}}"#
    )
}

fn tool_arguments(text: &str) -> String {
    let text = json_string(text);
    format!(r#"{{"query":{text},"path":{text},"tags":{text},"limit":{text}}}"#)
}

fn search_response(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"results":[{{"source":"code","location":{text},"title":{text},"line_start":1,
        "line_end":9,"text":{text}}}]}}"#
    )
}

fn recall_response(text: &str) -> String {
    let text = json_string(text);
    format!(
        r#"{{"confidence":0.5,"facts":[{{"handle":"m1","kind":"fact","trust":"team",
        "state":"active","text":{text}}}],"links":[],"few_shots":[]}}"#
    )
}
