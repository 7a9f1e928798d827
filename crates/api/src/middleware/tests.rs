//! Tests of the layers around handlers, with small handlers that need no database.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::Response;
use axum::routing::{get, post};
use futures::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode, header};
use mc_accounts::denials::DenialCounter;
use mc_contract::number::SearchLimit;
use mc_contract::text::{ShortText, Title};
use mc_domain::{Classified, ErrorKind, Scopes, TokenId, UserId};
use mc_store::accounts::{CredentialKind, TokenOwner};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::ApiSettings;
use crate::authenticate::{Authenticate, Authenticator, Principal};
use crate::extract::{JsonBody, PathParams, QueryString};
use crate::limits::{
    JSON_DEPTH, JSON_VALUES, MAX_BODIES_PER_CLIENT, MAX_BODY_BYTES, MAX_MESSAGE_BYTES,
};
use crate::middleware::{Admission, common_layers, with_auth, with_auth_streaming};
use crate::problem::{PROBLEM_JSON, Problem};

const SECRET: &str = "a-local-token";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    title: Title,
    #[serde(default)]
    #[expect(dead_code, reason = "its rules are tested")]
    parts: Vec<Part>,
    #[expect(dead_code, reason = "its rule is tested")]
    limit: Option<SearchLimit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "their rules are tested")]
struct Part {
    id: Uuid,
    label: ShortText,
}

impl mc_contract::Request for Note {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ById {
    id: Uuid,
}

impl mc_contract::Request for ById {}

#[derive(Debug, thiserror::Error)]
#[error("connection to postgres://user:hunter2@db failed")]
struct Broken;

impl Classified for Broken {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Internal
    }
}

/// Accepts one token.
#[derive(Default)]
struct OneToken(DenialCounter);

impl Authenticate for OneToken {
    fn principal<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Option<mc_accounts::Principal>, Problem>> {
        let owner = TokenOwner {
            user: UserId::LOCAL,
            login: "local".to_owned(),
            is_admin: true,
            token: TokenId(Uuid::nil()),
            by: CredentialKind::Local,
            scopes: Scopes::ALL,
        };
        let principal = (token == SECRET).then(|| owner.into());
        Box::pin(async move { Ok(principal) })
    }

    fn denials(&self) -> &DenialCounter {
        &self.0
    }
}

fn one_token() -> Authenticator {
    Arc::new(OneToken::default())
}

fn app_within(limit: Duration) -> Router {
    app_with(&ApiSettings { request_timeout: limit, ..ApiSettings::default() })
}

fn app_with(settings: &ApiSettings) -> Router {
    let protected = Router::new()
        .route("/notes", post(async |JsonBody(note): JsonBody<Note>| String::from(note.title)))
        .route("/notes/{id}", get(async |PathParams(by): PathParams<ById>| by.id.to_string()))
        .route("/find", get(async |QueryString(by): QueryString<ById>| by.id.to_string()))
        .route("/who", get(async |principal: Principal| principal.name().to_owned()))
        .route("/never", get(std::future::pending::<()>))
        .route("/broken", get(async || Problem::from(Broken)))
        .route("/panic", get(async || -> () { panic!("hunter2") }));
    let public = Router::new().route("/open", get(async || "open"));
    let admission = Admission::new(settings, None);
    let app = with_auth(protected, one_token(), settings, &admission).merge(public);
    common_layers(app.fallback(async || Problem::unknown_path()))
}

fn app() -> Router {
    app_within(Duration::from_mins(1))
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Reply {
    async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Self { status: parts.status, headers: parts.headers, text }
    }

    /// Returns the problem document, after checking the members that all of them have.
    fn problem(&self) -> Value {
        assert_eq!(self.headers[header::CONTENT_TYPE], PROBLEM_JSON, "{}", self.text);
        let problem: Value = serde_json::from_str(&self.text).unwrap();
        assert_eq!(problem["status"], self.status.as_u16());
        assert_eq!(problem["request_id"], self.headers["x-request-id"].to_str().unwrap());
        assert!(problem["type"].as_str().unwrap().starts_with("urn:memory-copilot:problem:"));
        problem
    }
}

fn request(method: &str, path: &str) -> http::request::Builder {
    let token = format!("Bearer {SECRET}");
    Request::builder().method(method).uri(path).header(header::AUTHORIZATION, token)
}

async fn send(app: Router, request: Request<Body>) -> Reply {
    Reply::of(app.oneshot(request).await.unwrap()).await
}

async fn get_path(path: &str) -> Reply {
    send(app(), request("GET", path).body(Body::empty()).unwrap()).await
}

async fn post_json(body: impl Into<Body>) -> Reply {
    let request = request("POST", "/notes").header(header::CONTENT_TYPE, "application/json");
    send(app(), request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn protected_route_requires_the_right_token() {
    for credential in
        ["", "Bearer", "Bearer ", "Bearer wrong", "Basic a-local-token", "a-local-token"]
    {
        let request = Request::get("/who").header(header::AUTHORIZATION, credential);
        let reply = send(app(), request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{credential}");
        assert_eq!(reply.headers[header::WWW_AUTHENTICATE], "Bearer");
        assert_eq!(reply.problem()["type"], "urn:memory-copilot:problem:unauthorized");
    }
    let without = send(app(), Request::get("/who").body(Body::empty()).unwrap()).await;
    assert_eq!(without.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get_path("/who").await.text, "local");
}

#[tokio::test]
async fn an_unauthenticated_body_is_read_before_the_response() {
    let pieces = futures::stream::iter(["{", "}"].map(Ok::<_, std::convert::Infallible>));
    let (read, was_read) = tokio::sync::oneshot::channel::<()>();
    // Runs when the body is asked for what comes after its last piece.
    let end = futures::stream::once(async move {
        let _ = read.send(());
        Ok("")
    });
    let body = Body::from_stream(futures::StreamExt::chain(pieces, end));
    let reply = send(app(), Request::post("/who").body(body).unwrap()).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert!(was_read.await.is_ok(), "the body was dropped unread");
}

#[tokio::test]
async fn stalled_unauthenticated_body_is_not_awaited() {
    let body = Body::from_stream(futures::stream::pending::<Result<&str, std::io::Error>>());
    let reply = send(app(), Request::post("/who").body(body).unwrap()).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_public_route_needs_no_token() {
    let reply = send(app(), Request::get("/open").body(Body::empty()).unwrap()).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "open"));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let unknown = get_path("/nowhere").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(unknown.problem()["title"], "Not found");
    let method = get_path("/notes").await;
    assert_eq!(method.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(method.headers[header::ALLOW], "POST");
    assert_eq!(method.problem()["type"], "urn:memory-copilot:problem:method-not-allowed");
}

#[tokio::test]
async fn a_valid_request_id_is_kept_and_any_other_replaced() {
    let with = async |id: &str| {
        let request = Request::get("/open").header("x-request-id", id);
        let reply = send(app(), request.body(Body::empty()).unwrap()).await;
        reply.headers["x-request-id"].to_str().unwrap().parse::<Uuid>().unwrap()
    };
    let id = Uuid::now_v7();
    assert_eq!(with(&id.to_string()).await, id);
    assert_eq!(with("not-a-uuid").await.get_version_num(), 7);
    assert_ne!(with("").await, with("").await);
}

#[tokio::test]
async fn every_response_has_security_headers() {
    for path in ["/who", "/open", "/nowhere", "/panic", "/docs/nowhere"] {
        let headers = get_path(path).await.headers;
        assert_eq!(headers[header::CACHE_CONTROL], "no-store", "{path}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert_eq!(headers[header::X_FRAME_OPTIONS], "DENY", "{path}");
        assert_eq!(headers[header::REFERRER_POLICY], "no-referrer", "{path}");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin", "{path}");
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(policy.contains("script-src"), path.starts_with("/docs"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn errors_and_panics_hide_their_cause() {
    for path in ["/broken", "/panic"] {
        let reply = get_path(path).await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reply.problem()["type"], "urn:memory-copilot:problem:internal-server-error");
        assert!(!reply.text.contains("hunter2"), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_times_out() {
    let request = request("GET", "/never").body(Body::empty()).unwrap();
    let reply = send(app_within(Duration::from_millis(1)), request).await;
    assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(reply.problem()["type"], "urn:memory-copilot:problem:gateway-timeout");
}

#[tokio::test]
async fn a_body_above_the_limit_is_rejected_declared_or_not() {
    let large = format!(r#"{{"title":"{}"}}"#, "x".repeat(MAX_BODY_BYTES));
    let declared = request("POST", "/notes")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_LENGTH, large.len());
    let reply = send(app(), declared.body(Body::from("{}")).unwrap()).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    let reply = post_json(large).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(reply.problem()["type"], "urn:memory-copilot:problem:content-too-large");
}

#[tokio::test]
async fn a_body_must_be_declared_as_json() {
    for (declared, expected) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/vnd.note+json", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ] {
        let request = request("POST", "/notes").header(header::CONTENT_TYPE, declared);
        let reply = send(app(), request.body(Body::from(r#"{"title":"x"}"#)).unwrap()).await;
        assert_eq!(reply.status, expected, "{declared:?}");
    }
}

#[tokio::test]
async fn an_invalid_body_error_names_the_field() {
    let id = "019a0000-0000-7000-8000-000000000001";
    let label = json!({"title": "x", "parts": [{"id": id, "label": "x\u{0}"}]}).to_string();
    for (body, field) in [
        ("", "body"),
        ("{", "body"),
        ("[]", "body"),
        ("null", "body"),
        (r#"{"title":"x"} {}"#, "body"),
        (r#"{"title":"\ud800"}"#, "body"),
        ("{}", "title"),
        (r#"{"title":7}"#, "title"),
        (r#"{"title":null}"#, "title"),
        (r#"{"title":" "}"#, "title"),
        (r#"{"title":"x","title":"y"}"#, "title"),
        (r#"{"title":"x","colour":1}"#, "colour"),
        (r#"{"title":"x","limit":-1}"#, "limit"),
        (r#"{"title":"x","limit":1.5}"#, "limit"),
        (r#"{"title":"x","limit":99999999999999999999}"#, "limit"),
        (r#"{"title":"x","parts":[{"id":"7","label":"x"}]}"#, "parts[0].id"),
        (r#"{"title":"x","parts":[{"label":"x"}]}"#, "parts[0].id"),
        (r#"{"title":"x","parts":{}}"#, "parts"),
        (&label, "parts[0].label"),
    ] {
        let reply = post_json(body.to_owned()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(reply.problem()["field"], field, "{body}: {}", reply.text);
    }
}

#[tokio::test]
async fn an_invalid_path_or_query_error_names_the_field() {
    for path in ["/notes/7", "/notes/%00", "/notes/%ff", "/find", "/find?id=7", "/find?id="] {
        let reply = get_path(path).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(reply.problem()["field"], "id", "{path}: {}", reply.text);
    }
    let id = Uuid::now_v7();
    let unknown = get_path(&format!("/find?id={id}&limit=1")).await;
    assert_eq!(unknown.problem()["field"], "limit");
    assert_eq!(get_path(&format!("/find?id={id}")).await.text, id.to_string());
}

/// Returns a route `/mcp` with `limit` as the time for a message.
fn streams_within(limit: Duration) -> Router {
    let settings = ApiSettings { request_timeout: limit, ..ApiSettings::default() };
    let streams = Router::new().route("/mcp", post(async |body: String| body));
    let admission = Admission::new(&settings, None);
    common_layers(with_auth_streaming(streams, one_token(), &admission))
}

#[tokio::test]
async fn the_mcp_route_requires_a_token() {
    let streams = streams_within(Duration::from_mins(1));
    let without = Request::post("/mcp").body(Body::empty()).unwrap();
    assert_eq!(send(streams.clone(), without).await.problem()["status"], 401);
    let with = request("POST", "/mcp").body(Body::from("hello")).unwrap();
    assert_eq!(send(streams, with).await.text, "hello");
}

#[tokio::test]
async fn an_mcp_message_is_limited_in_time_and_size() {
    let never = Body::from_stream(futures::stream::pending::<Result<&str, std::io::Error>>());
    let slow = request("POST", "/mcp").body(never).unwrap();
    let reply = send(streams_within(Duration::from_millis(1)), slow).await;
    assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);

    let streams = streams_within(Duration::from_mins(1));
    let pieces = std::iter::repeat_n("x".repeat(MAX_MESSAGE_BYTES / 2), 3);
    let pieces = futures::stream::iter(pieces.map(Ok::<_, std::convert::Infallible>));
    let undeclared = request("POST", "/mcp").body(Body::from_stream(pieces)).unwrap();
    let reply = send(streams.clone(), undeclared).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE, "{}", reply.text);
    let declared = request("POST", "/mcp").header(header::CONTENT_LENGTH, MAX_MESSAGE_BYTES + 1);
    let reply = send(streams, declared.body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn deeply_nested_json_is_rejected_by_rest_and_mcp() {
    let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
    let rule = format!("deeper than {JSON_DEPTH} levels");
    let note = post_json(format!(r#"{{"title":{}}}"#, nested(JSON_DEPTH))).await;
    assert_eq!(note.status, StatusCode::BAD_REQUEST);
    assert!(note.problem()["detail"].as_str().unwrap().contains(&rule), "{}", note.text);
    let message = |levels| request("POST", "/mcp").body(Body::from(nested(levels))).unwrap();
    let streams = streams_within(Duration::from_mins(1));
    assert_eq!(send(streams.clone(), message(JSON_DEPTH)).await.status, StatusCode::OK);
    let reply = send(streams, message(JSON_DEPTH + 1)).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(reply.problem()["detail"].as_str().unwrap().contains(&rule), "{}", reply.text);
}

/// Sends a request whose body never ends; returns once the service reads it.
async fn send_unfinished(app: &Router) -> tokio::task::JoinHandle<Reply> {
    let (read, is_read) = tokio::sync::oneshot::channel();
    let mut read = Some(read);
    let never = futures::stream::poll_fn(move |_| {
        if let Some(read) = read.take() {
            read.send(()).unwrap();
        }
        std::task::Poll::<Option<Result<&str, std::io::Error>>>::Pending
    });
    let unfinished = request("POST", "/notes").header(header::CONTENT_TYPE, "application/json");
    let unfinished = unfinished.body(Body::from_stream(never)).unwrap();
    let sent = tokio::spawn(send(app.clone(), unfinished));
    is_read.await.unwrap();
    sent
}

#[tokio::test]
async fn an_unfinished_body_gets_no_permit() {
    let settings = ApiSettings { max_concurrent_requests: 1, ..ApiSettings::default() };
    let app = app_with(&settings);
    let unfinished = send_unfinished(&app).await;
    let find = request("GET", &format!("/find?id={}", Uuid::nil())).body(Body::empty()).unwrap();
    assert_eq!(send(app, find).await.status, StatusCode::OK);
    unfinished.abort();
}

#[tokio::test]
async fn a_client_has_a_limit_of_unfinished_bodies() {
    let app = app();
    let mut unfinished = Vec::new();
    for _ in 0..MAX_BODIES_PER_CLIENT {
        unfinished.push(send_unfinished(&app).await);
    }
    let note = || {
        let note = request("POST", "/notes").header(header::CONTENT_TYPE, "application/json");
        note.body(Body::from(r#"{"title":"x"}"#)).unwrap()
    };
    let refused = send(app.clone(), note()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.problem()["detail"].as_str().unwrap().contains("unfinished"));
    let one = unfinished.pop().unwrap();
    one.abort();
    assert!(one.await.is_err());
    assert_eq!(send(app, note()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_message_of_many_short_values_is_rejected() {
    let message = format!("[{}[]]", "[],".repeat(JSON_VALUES));
    let message = request("POST", "/mcp").body(Body::from(message)).unwrap();
    let reply = send(streams_within(Duration::from_mins(1)), message).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    let rule = format!("more than {JSON_VALUES} values");
    assert!(reply.problem()["detail"].as_str().unwrap().contains(&rule), "{}", reply.text);
}

#[tokio::test]
async fn costly_requests_use_up_the_rate_limit_sooner() {
    let settings = ApiSettings { units_per_minute_per_caller: 17, ..ApiSettings::default() };
    let routes = Router::new()
        .route("/ingest/docs", post(async || "done"))
        .route("/recall", post(async || "done"))
        .route("/status", get(async || "done"));
    let admission = Admission::new(&settings, None);
    let app = with_auth(routes, one_token(), &settings, &admission);
    let app = common_layers(app);
    let ask = async |method: &str, path: &str| {
        send(app.clone(), request(method, path).body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask("POST", "/ingest/docs").await.status, StatusCode::OK);
    let refused = ask("POST", "/recall").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.problem()["type"], "urn:memory-copilot:problem:too-many-requests");
    let wait: u64 = refused.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(ask("GET", "/status").await.status, StatusCode::OK, "one unit is left");
    assert_eq!(ask("GET", "/status").await.status, StatusCode::TOO_MANY_REQUESTS);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("title|parts|id|label|limit|.*", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn arbitrary_json_never_causes_a_server_error(body in any_json()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let reply = runtime.block_on(post_json(body.to_string()));
        if !reply.status.is_success() {
            prop_assert_eq!(reply.status, StatusCode::BAD_REQUEST);
            prop_assert!(reply.problem()["field"].is_string());
        }
    }
}
