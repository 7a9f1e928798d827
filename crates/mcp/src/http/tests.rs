//! Tests of `/mcp` with plain HTTP requests of old and new protocol revisions.

use axum::Json;
use axum::body::Body;
use axum::response::Response;
use axum::routing::post;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use mc_domain::{Caller, TokenId, UserId};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::sessions::MAX_SESSIONS;
use super::*;
use crate::{CoreClient, MemoryServer, ServerSettings, Toolset};

const TOKEN: &str = "Bearer secret";

/// Creates an API that responds with the token and the project of the request.
fn fake_api() -> Router {
    async fn recall(headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
        let token = headers[header::AUTHORIZATION].to_str().expect("text");
        let session = headers.get("x-memory-copilot-session").map(|id| id.to_str().expect("text"));
        let received = json!({"token": token, "project": body["project_key"], "session": session});
        Json(json!({"facts": [received], "few_shots": [], "links": [], "confidence": 0.0}))
    }
    Router::new().route("/recall", post(recall))
}

fn mounted() -> Router {
    let server = MemoryServer::new(CoreClient::in_process(fake_api()), ServerSettings::default());
    let mcp = http_router(move || server.for_session(), CancellationToken::new());
    Router::new().nest("/mcp", mcp)
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    /// Returns the JSON-RPC message of a JSON body, or of the last event of a stream.
    fn message(&self) -> Value {
        let mut data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let text = data.rfind(|data| data.starts_with('{')).unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|_| panic!("no message in {}", self.body))
    }
}

async fn send(app: &Router, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut request = http::Request::post("/mcp")
        .header(header::HOST, "127.0.0.1:7717")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string())).expect("a request");
    let response = app.clone().oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn stateless_recall(arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "recall", "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}})
}

const STATELESS: [(&str, &str); 4] = [
    ("authorization", TOKEN),
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "recall"),
];

#[tokio::test]
async fn call_without_a_token_is_rejected_without_outer_layers() {
    let answer = send(
        &mounted(),
        &STATELESS[1..],
        &stateless_recall(&json!({"query": "x", "project_key": "shop"})),
    )
    .await;
    let result = &answer.message()["result"];
    assert_eq!(result["isError"], true, "{}", answer.body);
    assert!(result["content"][0]["text"].to_string().contains("no bearer token"), "{result}");
}

#[tokio::test]
async fn stateless_call_forwards_the_callers_token() {
    let answer = send(
        &mounted(),
        &STATELESS,
        &stateless_recall(&json!({"query": "x", "project_key": "shop"})),
    )
    .await;
    let received = &answer.message()["result"]["structuredContent"]["facts"][0];
    assert_eq!(received["token"], TOKEN, "{}", answer.body);
    assert_eq!(received["project"], "shop");
}

#[tokio::test]
async fn header_sets_the_default_project() {
    let with = |project| [STATELESS.as_slice(), &[("x-memory-copilot-project", project)]].concat();
    let answer = send(&mounted(), &with("Shop"), &stateless_recall(&json!({"query": "x"}))).await;
    let received = &answer.message()["result"]["structuredContent"]["facts"][0];
    assert_eq!(received["project"], "shop");
    let answer = send(&mounted(), &with("../etc"), &stateless_recall(&json!({"query": "x"}))).await;
    assert_eq!(answer.message()["result"]["isError"], true, "{}", answer.body);
}

#[tokio::test]
async fn session_of_older_revisions_spans_several_requests() {
    let app = mounted();
    let session = open(&app).await;
    let headers = [("authorization", TOKEN), ("mcp-session-id", session.as_str())];
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = send(&app, &headers, &list).await;
    let tools = listed.message()["result"]["tools"].as_array().map(Vec::len);
    let enabled = crate::tools::TOOLS.iter().filter(|tool| tool.is_in(Toolset::DEFAULT)).count();
    assert_eq!(tools, Some(enabled), "{}", listed.body);
}

/// Returns the client session that the API receives with a call in a session.
async fn client_session(app: &Router, session: &str) -> String {
    let headers = [("authorization", TOKEN), ("mcp-session-id", session)];
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "recall", "arguments": {"query": "x", "project_key": "shop"}}});
    let answer = send(app, &headers, &call).await;
    let received = &answer.message()["result"]["structuredContent"]["facts"][0];
    received["session"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
}

#[tokio::test]
async fn calls_in_a_session_name_one_client_session() {
    let app = mounted();
    let (one, other) = (open(&app).await, open(&app).await);
    let named = client_session(&app, &one).await;
    assert_eq!(client_session(&app, &one).await, named);
    assert_ne!(client_session(&app, &other).await, named);
    assert_ne!(named, one, "the id of the protocol is a secret");
}

#[tokio::test]
async fn stateless_call_forwards_the_session_of_its_client() {
    let call = stateless_recall(&json!({"query": "x", "project_key": "shop"}));
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    let named = [STATELESS.as_slice(), &[("x-memory-copilot-session", id)]].concat();
    for (headers, expected) in [(&STATELESS[..], Value::Null), (&named, json!(id))] {
        let answer = send(&mounted(), headers, &call).await;
        let received = &answer.message()["result"]["structuredContent"]["facts"][0];
        assert_eq!(received["session"], expected, "{}", answer.body);
    }
}

/// Returns the router as one caller sees it.
fn as_caller(app: &Router, user: UserId) -> Router {
    let caller = Caller { user, credential: TokenId::generate() };
    app.clone().layer(axum::Extension(caller))
}

/// Opens a session and returns its id.
async fn open(app: &Router) -> String {
    let opened = send(app, &[("authorization", TOKEN)], &initialize()).await;
    assert_eq!(opened.message()["result"]["protocolVersion"], "2025-06-18", "{}", opened.body);
    let session = opened.headers["mcp-session-id"].to_str().expect("text").to_owned();
    let headers = [("authorization", TOKEN), ("mcp-session-id", session.as_str())];
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(app, &headers, &initialized).await.status, StatusCode::ACCEPTED);
    session
}

/// Sends a request of a session: a `POST` lists the tools.
async fn in_session(app: &Router, method: &str, session: &str) -> StatusCode {
    if method == "POST" {
        let headers = [("authorization", TOKEN), ("mcp-session-id", session)];
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        return send(app, &headers, &list).await.status;
    }
    without_body(app, method, session).await.status()
}

/// Sends a request without a body in a session: a `GET` opens a stream.
async fn without_body(app: &Router, method: &str, session: &str) -> Response {
    let request = http::Request::builder()
        .method(method)
        .uri("/mcp")
        .header(header::HOST, "127.0.0.1:7717")
        .header(header::ACCEPT, "text/event-stream")
        .header("mcp-session-id", session)
        .body(Body::empty())
        .expect("a request");
    app.clone().oneshot(request).await.expect("an answer")
}

#[tokio::test]
async fn session_of_another_caller_is_unknown() {
    let app = mounted();
    let user = UserId::generate();
    let ann = as_caller(&app, user);
    let session = open(&ann).await;
    let other_token = as_caller(&app, user);
    for stranger in [&other_token, &as_caller(&app, UserId::generate()), &app] {
        for method in ["POST", "GET", "DELETE"] {
            for session in [session.as_str(), "5c8a4f0e-made-up"] {
                let status = in_session(stranger, method, session).await;
                assert_eq!(status, StatusCode::NOT_FOUND, "{method} {session}");
            }
        }
    }
    for method in ["POST", "GET"] {
        assert_eq!(in_session(&ann, method, &session).await, StatusCode::OK, "{method}");
    }
    assert_eq!(in_session(&ann, "DELETE", &session).await, StatusCode::ACCEPTED);
    for method in ["POST", "GET", "DELETE"] {
        let status = in_session(&ann, method, &session).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} after the end");
    }
}

#[tokio::test]
async fn caller_keeps_the_sessions_used_last() {
    let app = mounted();
    let user = UserId::generate();
    let (ann, bob) = (as_caller(&app, user), as_caller(&app, UserId::generate()));
    let of_bob = open(&bob).await;
    let (first, second) = (open(&ann).await, open(&ann).await);
    // Sessions with other tokens of the user count, too.
    for _ in 2..MAX_SESSIONS {
        open(&as_caller(&app, user)).await;
    }
    assert_eq!(in_session(&ann, "POST", &first).await, StatusCode::OK);
    let newest = open(&ann).await;
    assert_eq!(in_session(&ann, "POST", &second).await, StatusCode::NOT_FOUND);
    for (caller, session) in [(&ann, &first), (&ann, &newest), (&bob, &of_bob)] {
        assert_eq!(in_session(caller, "POST", session).await, StatusCode::OK);
    }
}

#[tokio::test]
async fn session_with_an_open_stream_is_not_ended_for_a_new_one() {
    let app = mounted();
    let ann = as_caller(&app, UserId::generate());
    let first = open(&ann).await;
    let stream = without_body(&ann, "GET", &first).await;
    assert_eq!(stream.status(), StatusCode::OK);
    let second = open(&ann).await;
    for _ in 2..=MAX_SESSIONS {
        open(&ann).await;
    }
    assert_eq!(in_session(&ann, "POST", &second).await, StatusCode::NOT_FOUND);
    assert_eq!(in_session(&ann, "POST", &first).await, StatusCode::OK);
}

#[tokio::test]
async fn session_is_refused_while_all_others_have_an_open_stream() {
    let app = mounted();
    let (ann, bob) = (as_caller(&app, UserId::generate()), as_caller(&app, UserId::generate()));
    let mut streams = Vec::new();
    for _ in 0..MAX_SESSIONS {
        let session = open(&ann).await;
        let stream = without_body(&ann, "GET", &session).await;
        streams.push((session, stream));
    }
    let refused = send(&ann, &[("authorization", TOKEN)], &initialize()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.body);
    assert!(refused.body.contains("close one of the clients"), "{}", refused.body);
    open(&bob).await;
    let (idle, stream) = streams.remove(1);
    drop(stream);
    open(&ann).await;
    assert_eq!(in_session(&ann, "POST", &idle).await, StatusCode::NOT_FOUND);
    for (session, _stream) in &streams {
        assert_eq!(in_session(&ann, "POST", session).await, StatusCode::OK);
    }
}

#[tokio::test]
async fn error_of_a_huge_argument_has_its_field() {
    let huge = stateless_recall(&json!({"query": "x".repeat(10_000_000), "project_key": "shop"}));
    let answer = send(&mounted(), &STATELESS, &huge).await;
    let text = answer.message()["result"]["content"][0]["text"].to_string();
    assert!(text.contains("query: holds 10000000 characters"), "{text}");
}
