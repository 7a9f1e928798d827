//! The tools and resources of the MCP server: each is a call of the API, and must be refused as
//! that is.

use serde_json::{Value, json};

use super::{Draw, documents, memory, tasks};
use crate::attempt::{Answer, Attempt};
use crate::world::World;

const REVISION: &str = "2026-07-28";

pub fn recall(d: &mut Draw<'_>) -> Attempt {
    let call = memory::recall(d);
    tool("recall", call, &["project_key", "query", "task_external_id", "repo_path", "symbols"])
}

pub fn save(d: &mut Draw<'_>) -> Attempt {
    let call = memory::save(d);
    tool(
        "save",
        call,
        &[
            "project_key",
            "kind",
            "content",
            "tags",
            "citations",
            "dialog_id",
            "supersedes",
            "contradicts",
            "visibility",
            "source",
        ],
    )
}

pub fn search(d: &mut Draw<'_>) -> Attempt {
    let mut call = memory::search(d);
    let mut body = call.sent();
    // As much of each as the API shows.
    body["limit_tokens"] = 32_000.into();
    call.body = Some(body.to_string());
    tool(
        "search",
        call,
        &[
            "project_key",
            "query",
            "task_external_id",
            "sources",
            "limit",
            "limit_tokens",
            "tags",
            "path",
        ],
    )
}

pub fn search_code(d: &mut Draw<'_>) -> Attempt {
    let mut call = memory::search(d);
    // Only code is found by it, which the positive control of the search does not know.
    call.checks.clear();
    tool("search_code", call, &["project_key", "query", "limit", "path"])
}

pub fn link_issue(d: &mut Draw<'_>) -> Attempt {
    let mut call = tasks::link(d);
    let mut body = call.sent();
    body["issue_id"] = body["task_external_id"].take();
    call.body = Some(body.to_string());
    tool("link_issue", call, &["project_key", "issue_id", "dialog_id", "record_ids"])
}

pub fn open_doc(d: &mut Draw<'_>) -> Attempt {
    let mut call = documents::open(d);
    let query = call.target.split_once('?').map_or("", |(_, query)| query).to_owned();
    let arguments: Value = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), json!(value)))
        .collect();
    call.body = Some(arguments.to_string());
    tool("open_doc", call, &["project_key", "id", "title"])
}

pub fn feedback(d: &mut Draw<'_>) -> Attempt {
    let call = memory::feedback(d);
    tool("feedback", call, &["bundle_id", "used"])
}

pub fn forget(d: &mut Draw<'_>) -> Attempt {
    let mut call = memory::forget(d);
    let id = call.target.rsplit('/').next().unwrap_or_default().to_owned();
    call.body = Some(json!({ "id": id }).to_string());
    call.checks.clear();
    tool("forget", call, &["id"])
}

pub fn resources(d: &mut Draw<'_>) -> Attempt {
    let of_documents = d.one_in(3);
    let mut call = if of_documents { documents::list(d) } else { memory::records(d) };
    if ["&visibility=", "&saved_by=", "&source="].iter().any(|by| call.target.contains(by)) {
        // The tool has no such argument, so the results are not filtered.
        call.checks.clear();
        call.twin = call.twin.filter(|_| !call.expected.contains(&200));
    }
    let query: Vec<(String, String)> = url::form_urlencoded::parse(
        call.target.split_once('?').map_or("", |(_, query)| query).as_bytes(),
    )
    .into_owned()
    .collect();
    let of = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let after = of("after").unwrap_or_default();
    let mut params = json!({});
    if of_documents || !after.is_empty() {
        params["cursor"] =
            format!("{}:{after}", if of_documents { "documents" } else { "records" }).into();
    }
    let project = of("project_key").unwrap_or_default();
    through("resources/list", &params, call).header("x-memory-copilot-project", project)
}

pub fn resource(d: &mut Draw<'_>) -> Attempt {
    let (call, uri) = if d.one_in(2) {
        let call = memory::record(d);
        let uri = format!("memory:/{}", call.target);
        (call, uri)
    } else {
        let call = documents::open(d);
        let query: Vec<(String, String)> = url::form_urlencoded::parse(
            call.target.split_once('?').map_or("", |(_, query)| query).as_bytes(),
        )
        .into_owned()
        .collect();
        // By its title a document is no resource.
        let uri = format!("memory://docs/{}?project={}", query[1].1.replace(' ', "-"), query[0].1);
        let is_id = query[1].0 == "id";
        let is_stranger = call.expected.contains(&401);
        (
            if is_id || is_stranger {
                call
            } else {
                Attempt { checks: Vec::new(), twin: None, ..call.expect(404) }
            },
            uri,
        )
    };
    through("resources/read", &json!({"uri": uri}), call).header("mcp-name", uri)
}

/// The call as the tool makes it, with the fields that the tool has.
fn tool(name: &'static str, call: Attempt, fields: &[&str]) -> Attempt {
    let arguments: Value = match call.sent() {
        Value::Object(body) => {
            body.into_iter().filter(|(field, _)| fields.contains(&field.as_str())).collect()
        }
        _ => json!({}),
    };
    // The tool has no such argument, so it can't have been rejected.
    let params = json!({"name": name, "arguments": arguments});
    through("tools/call", &params, call).header("mcp-name", name)
}

/// A call of the method that must be let through or refused as `call` is.
pub fn through(method: &'static str, params: &Value, call: Attempt) -> Attempt {
    let authorization = call.headers.iter().find(|(name, _)| *name == "authorization").cloned();
    let is_stranger = call.expected == [401];
    let allowed = call.is_allowed();
    let mut attempt = request(method, params.clone()).places(call.places);
    attempt.headers.extend(authorization);
    attempt.before = call.before;
    attempt.twin = call.twin;
    attempt.ids = call.ids;
    attempt.reached = call.reached;
    if is_stranger {
        return attempt.expect(401);
    }
    // Refusals of tools are results, those of resources errors.
    let only_refused = !allowed;
    // By concurrent attempts.
    let may_be_refused = call.expected.iter().any(|status| !(200..300).contains(status));
    attempt = attempt.expect(200).or(400).or(404).check(move |answer| {
        let is_refusal = is_refusal(&message(answer));
        let must_be = if only_refused { "refused" } else { "let through" };
        (is_refusal == only_refused || is_refusal && may_be_refused)
            .then_some(())
            .ok_or_else(|| format!("the oracle says {must_be}"))
    });
    for check in call.checks {
        attempt = attempt.check(move |answer| {
            let inner = inner(answer);
            // The time budget of a tool is short on a busy machine; late retrievers are skipped.
            let is_whole = inner.body.get("degraded").is_none_or(|degraded| *degraded == json!([]));
            if inner.is_success() && is_whole { check(&inner) } else { Ok(()) }
        });
    }
    attempt
}

/// A request of the method without a credential.
fn request(method: &'static str, mut params: Value) -> Attempt {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Attempt::post("/mcp", &body)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", method)
}

/// The tools that the server lists.
pub async fn listed(world: &World) -> Vec<Value> {
    let token = world.people[0].credentials.iter().find(|one| one.is_valid).expect("a token");
    let attempt = request("tools/list", json!({}))
        .header("authorization", format!("Bearer {}", token.bearer));
    let message = message(&Answer::to(&attempt, world).await);
    message["result"]["tools"].as_array().unwrap_or_else(|| panic!("{message}")).clone()
}

/// Returns the JSON-RPC message, from a JSON body or the last event of a stream.
fn message(answer: &Answer) -> Value {
    let text = answer.text();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let last = data.rfind(|data| data.starts_with('{'));
    last.map_or_else(|| answer.body.clone(), |text| serde_json::from_str(text).unwrap_or_default())
}

/// Whether it is an error of the protocol, or the result of a tool that failed.
fn is_refusal(message: &Value) -> bool {
    message.get("error").is_some() || message["result"]["isError"] == true
}

/// Why the call was refused, if it was.
pub fn refusal(answer: &Answer) -> Option<String> {
    let message = message(answer);
    is_refusal(&message).then(|| message.to_string())
}

/// The answer of the API inside.
fn inner(answer: &Answer) -> Answer {
    let message = message(answer);
    let status = if is_refusal(&message) { http::StatusCode::BAD_REQUEST } else { answer.status };
    Answer {
        status,
        bytes: answer.bytes.clone(),
        body: message["result"]["structuredContent"].clone(),
    }
}
