//! Rate and concurrency limits, which do not apply to probes.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use mc_api::{ApiSettings, Ingress, IngressConfig, Serving};
use mc_store::testing;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::wire::{Answer, Service};
use crate::accounts::newcomer;
use crate::client::{SECRET, TestApi};

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost";

#[track_caller]
fn assert_refused_for_now(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{answer:?}");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    let problem = answer.problem();
    assert!(problem["detail"].as_str().unwrap().contains(&format!("try again in {wait} s")));
    assert!(problem["hint"].is_string(), "{answer:?}");
    assert!((1..=60).contains(&wait), "{answer:?}");
}

#[tokio::test]
async fn a_rate_limit_by_address_does_not_apply_to_probes() {
    let ingress = IngressConfig { requests_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = Service::behind(ingress).await;
    for _ in 0..2 {
        assert_eq!(service.get("/").await.status, 200);
    }
    assert_refused_for_now(&service.get("/").await, 429);
    let mcp = service.ask("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0").await;
    assert_refused_for_now(&mcp, 429);
    assert_eq!(service.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_limit_of_zero_is_no_limit() {
    let ingress = IngressConfig {
        requests_per_minute_per_address: 0,
        auth_failures_per_minute_per_address: 0,
        ..IngressConfig::default()
    };
    let service = Service::behind(ingress).await;
    for _ in 0..100 {
        assert_eq!(service.ask(&with_token("/closed", "wrong")).await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_without_a_token_block_no_address() {
    let api = TestApi::start().await;
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    for _ in 0..5 {
        for path in ["/status", "/mcp", "/records"] {
            assert_eq!(service.get(path).await.status, 401, "{path}");
        }
    }
    assert_eq!(service.ask(&with_token("/status", SECRET)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_sites_take_nothing_from_an_address() {
    let api = TestApi::start().await;
    let ingress = IngressConfig {
        requests_per_minute_per_address: 1,
        auth_failures_per_minute_per_address: 1,
        ..IngressConfig::default()
    };
    let service = served(&api, ApiSettings::default(), ingress).await;
    let image = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image";
    for path in ["/status", "/mcp", "/auth/oauth/any/start", "/auth/token"] {
        for _ in 0..3 {
            let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{image}");
            assert_eq!(service.ask(&head).await.status, 403, "{path}");
        }
    }
    assert_eq!(service.ask(&with_token("/status", SECRET)).await.status, 200);
}

#[tokio::test]
async fn clients_of_a_trusted_proxy_are_limited_separately() {
    let limited = |trusted: &[&str]| IngressConfig {
        requests_per_minute_per_address: 1,
        trusted_proxies: trusted.iter().map(|network| network.parse().unwrap()).collect(),
        ..IngressConfig::default()
    };
    let as_client = |address| format!("{GET}\r\nX-Forwarded-For: {address}");

    let trusting = Service::behind(limited(&["127.0.0.0/8"])).await;
    assert_eq!(trusting.ask(&as_client("192.0.2.1")).await.status, 200);
    assert_eq!(trusting.ask(&as_client("192.0.2.1")).await.status, 429);
    assert_eq!(trusting.ask(&as_client("192.0.2.2")).await.status, 200);
    assert_eq!(trusting.ask(&as_client("2001:db8::1")).await.status, 200);
    assert_eq!(trusting.ask(&as_client("2001:db8::2")).await.status, 429, "one /64");

    let wary = Service::behind(limited(&[])).await;
    assert_eq!(wary.ask(&as_client("192.0.2.1")).await.status, 200);
    assert_eq!(wary.ask(&as_client("192.0.2.2")).await.status, 429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_address_does_not_learn_that_a_token_is_valid() {
    let api = TestApi::start().await;
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    for path in ["/status", "/mcp", "/status"] {
        let answer = service.ask(&with_token(path, "wrong")).await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
    }
    for (path, token) in [("/status", "wrong"), ("/status", SECRET), ("/mcp", SECRET)] {
        assert_refused_for_now(&service.ask(&with_token(path, token)).await, 429);
    }
    assert_eq!(service.get("/healthz").await.status, 200);
    assert_eq!(service.get("/readyz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_grant_counts_as_a_failed_authentication() {
    let api = TestApi::start().await;
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    let wrong = "grant_type=refresh_token&refresh_token=wrong";
    for _ in 0..3 {
        let answer = service.ask(&form("/auth/token", wrong)).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    assert_refused_for_now(&service.ask(&form("/auth/token", wrong)).await, 429);
    assert_refused_for_now(&service.ask(&with_token("/status", SECRET)).await, 429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_exchange_counts_for_its_caller() {
    let api = TestApi::start().await;
    let made = api.post("/tokens", json!({"name": "ci", "scopes": ["memory:read"]})).await.ok();
    let token = made["token"].as_str().unwrap();
    let settings = ApiSettings { units_per_minute_per_caller: 1, ..ApiSettings::default() };
    let service = served(&api, settings, IngressConfig::default()).await;
    let exchange = form(
        "/auth/token",
        &format!(
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={token}\
             &subject_token_type=urn:ietf:params:oauth:token-type:access_token"
        ),
    );
    let events = "select count(*)::text from audit_events where action = 'session.created'";
    let before = api.text(events).await;
    assert_eq!(service.ask(&exchange).await.status, 200);
    let counted = api.text(events).await;
    assert_ne!(counted, before);
    for _ in 0..3 {
        assert_refused_for_now(&service.ask(&exchange).await, 429);
    }
    assert_refused_for_now(&service.ask(&with_token("/status", token)).await, 429);
    assert_eq!(api.text(events).await, counted, "a rejected exchange has no event");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn started_logins_are_limited_by_address() {
    let api = TestApi::start().await;
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    for _ in 0..2 {
        assert_eq!(service.ask(&form("/auth/device", "")).await.status, 200);
    }
    assert_refused_for_now(&service.ask(&form("/auth/device", "")).await, 429);
    assert_refused_for_now(&service.get("/auth/oauth/any/start").await, 429);
    assert_eq!(service.ask(&with_token("/status", SECRET)).await.status, 200);
    assert_eq!(api.text("select count(*)::text from device_grants").await, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_deliveries_block_no_address() {
    let api = TestApi::start().await;
    let webhook =
        api.post("/projects/shop/webhooks", json!({ "provider": "confluence" })).await.ok();
    let (path, secret) =
        (webhook["url_path"].as_str().unwrap(), webhook["secret"].as_str().unwrap());
    let ingress =
        IngressConfig { auth_failures_per_minute_per_address: 2, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    let body = r#"{"event":"page_updated","timestamp":1,"page":{"id":1}}"#;
    let deliver = |token: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \
             {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for _ in 0..5 {
        let answer = service.ask(&deliver("wrong")).await;
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    // Nor do failed authentications of others at that address.
    for _ in 0..4 {
        service.ask(&with_token("/status", "wrong")).await;
    }
    assert_refused_for_now(&service.ask(&with_token("/status", SECRET)).await, 429);
    let answer = service.ask(&deliver(secret)).await;
    assert_eq!(answer.status, 202, "{answer:?}");

    // Some providers disable a webhook permanently after a 4xx.
    let ingress = IngressConfig { requests_per_minute_per_address: 1, ..IngressConfig::default() };
    let service = served(&api, ApiSettings::default(), ingress).await;
    service.ask(&deliver(secret)).await;
    assert_refused_for_now(&service.ask(&deliver(secret)).await, 503);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_of_routes_without_authentication_is_limited_by_address() {
    let api = TestApi::start().await;
    let ingress = IngressConfig {
        processor_time_per_minute_per_address: Duration::from_micros(1),
        ..IngressConfig::default()
    };
    let service = served(&api, ApiSettings::default(), ingress).await;
    assert_eq!(service.get("/openapi.json").await.status, 200);
    for path in ["/openapi.json", "/auth/device"] {
        for token in ["", "invalid"] {
            assert_used_up(&service.ask(&with_token(path, token)).await, 429);
        }
    }
    for path in ["/healthz", "/status"] {
        assert_eq!(service.ask(&with_token(path, SECRET)).await.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_of_deliveries_is_limited_by_webhook() {
    let api = TestApi::start().await;
    let mut webhooks = Vec::new();
    for _ in 0..2 {
        let made = json!({ "provider": "confluence" });
        let made = api.post("/projects/shop/webhooks", made).await.ok();
        let [path, secret] = ["url_path", "secret"].map(|key| made[key].as_str().unwrap());
        webhooks.push((path.to_owned(), secret.to_owned()));
    }
    let settings = ApiSettings {
        processor_time_per_minute_per_caller: Duration::from_micros(1),
        ..ApiSettings::default()
    };
    let service = served(&api, settings, IngressConfig::default()).await;
    let event = json!({ "event": "page_updated", "timestamp": 1, "page": { "id": 1 } });
    for (path, secret) in &webhooks {
        assert_eq!(service.ask(&with_json(path, secret, &event)).await.status, 202);
        // Some providers disable a webhook permanently after a 4xx.
        assert_used_up(&service.ask(&with_json(path, secret, &event)).await, 503);
    }
}

/// A request with a form as its body.
fn form(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_has_one_rate_limit_for_rest_and_mcp() {
    let api = TestApi::start().await;
    let settings = ApiSettings { units_per_minute_per_caller: 2, ..ApiSettings::default() };
    let service = served(&api, settings, IngressConfig::default()).await;
    assert_eq!(service.ask(&with_token("/status", SECRET)).await.status, 200);
    assert_eq!(service.ask(&with_token("/mcp", SECRET)).await.status, 200);
    for path in ["/status", "/mcp"] {
        assert_refused_for_now(&service.ask(&with_token(path, SECRET)).await, 429);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_of_a_token_affects_no_other_of_its_owner() {
    let api = TestApi::start().await;
    let mut tokens = Vec::new();
    for name in ["runaway", "b", "c", "d", "e"] {
        let made = json!({"name": name, "scopes": ["memory:read"]});
        let made = api.post("/tokens", made).await.ok();
        tokens.push(made["token"].as_str().unwrap().to_owned());
    }
    let ann = newcomer(&api, "ann").await;
    let settings = ApiSettings { units_per_minute_per_caller: 1, ..ApiSettings::default() };
    let service = served(&api, settings, IngressConfig::default()).await;
    let [runaway, others @ .., last] = tokens.as_slice() else { unreachable!("five") };
    assert_eq!(service.ask(&with_token("/whoami", runaway)).await.status, 200);
    for _ in 0..8 {
        assert_refused_for_now(&service.ask(&with_token("/whoami", runaway)).await, 429);
    }
    for token in others {
        assert_eq!(service.ask(&with_token("/whoami", token)).await.status, 200);
    }
    // All tokens of one user together have four times as much.
    assert_refused_for_now(&service.ask(&with_token("/whoami", last)).await, 429);
    assert_eq!(service.ask(&with_token("/whoami", &ann)).await.status, 200, "somebody else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_of_documents_and_long_notes_is_limited_by_caller() {
    // Each takes more than two milliseconds.
    const MOST_REQUESTS: usize = 100;
    let api = TestApi::start().await;
    let settings = ApiSettings {
        processor_time_per_minute_per_caller: Duration::from_millis(200),
        ..ApiSettings::default()
    };
    let service = served(&api, settings, IngressConfig::default()).await;
    let text = "The cart keeps the unit of the delay that the trigger reads. ".repeat(500);
    let document = json!({ "doc_id": "a", "title": "Carts", "content": text });
    let documents = json!({ "project_key": "shop", "source": "wiki", "documents": [document] });
    let note = json!({ "project_key": "shop", "kind": "fact", "content": text });
    for (name, path, body) in [("a", "/ingest/docs", documents), ("b", "/save", note)] {
        let token = json!({ "name": name, "scopes": ["memory:read", "memory:write", "ingest"] });
        let token = api.post("/tokens", token).await.ok();
        let token = token["token"].as_str().unwrap();
        assert_eq!(service.ask(&with_token("/whoami", token)).await.status, 200, "{path}");
        let mut refused = service.ask(&with_json(path, token, &body)).await;
        for _ in 0..MOST_REQUESTS {
            if refused.status != 200 {
                break;
            }
            refused = service.ask(&with_json(path, token, &body)).await;
        }
        assert_used_up(&refused, 429);
        assert_eq!(service.ask(&with_token("/whoami", token)).await.status, 200, "it reads");
    }
    let note = json!({ "project_key": "shop", "kind": "fact", "content": "Carts close at six." });
    let other = service.ask(&with_json("/save", SECRET, &note)).await;
    assert_eq!(other.status, 200, "another caller: {other:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processor_time_of_searches_is_limited_by_caller() {
    let api = TestApi::start().await;
    let settings = ApiSettings {
        processor_time_per_minute_per_caller: Duration::from_micros(1),
        ..ApiSettings::default()
    };
    let service = served(&api, settings, IngressConfig::default()).await;
    let question = json!({ "project_key": "shop", "query": "When do carts close?" });
    let search = with_json("/search", SECRET, &question);
    assert_eq!(service.ask(&search).await.status, 200);
    assert_used_up(&service.ask(&search).await, 429);
    let note = json!({ "project_key": "shop", "kind": "fact", "content": "Carts close at six." });
    let saved = service.ask(&with_json("/save", SECRET, &note)).await;
    assert_eq!(saved.status, 200, "writes are counted separately: {saved:?}");
    assert_eq!(service.ask(&with_token("/mcp", SECRET)).await.status, 200, "its calls are counted");
    let ann = newcomer(&api, "ann").await;
    assert_eq!(service.ask(&with_token("/whoami", &ann)).await.status, 200, "somebody else");
}

/// Asserts that a response rejects a request because of the used processor time.
#[track_caller]
fn assert_used_up(response: &Answer, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert!(response.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    let detail = response.problem()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("processor time"), "{detail}");
}

/// A `POST` of JSON with a bearer token.
fn with_json(path: &str, token: &str, body: &serde_json::Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n\
         {body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_service_rejects_requests_and_not_probes() {
    let api = TestApi::start().await;
    let settings = ApiSettings { max_concurrent_requests: 1, ..ApiSettings::default() };
    let service = served(&api, settings, IngressConfig::default()).await;
    // It waits for a lock. That it has the permit shows when another is rejected.
    let lock_guard = testing::hold(api.database.url(), "lock table teams").await.unwrap();
    let mut slow = service.connect().await;
    let head = format!("{}\r\n\r\n", with_token("/teams", SECRET));
    slow.write_all(head.as_bytes()).await.unwrap();
    let refused = loop {
        let answer = service.ask(&with_token("/projects", SECRET)).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_refused_for_now(&refused, 503);
    for probe in ["/healthz", "/readyz"] {
        assert_eq!(service.get(probe).await.status, 200, "{probe}");
    }
    assert_eq!(service.ask(&with_token("/mcp", SECRET)).await.status, 200, "its own places");
    drop(lock_guard);
    let mut status = [0; 12];
    slow.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    assert_eq!(service.ask(&with_token("/projects", SECRET)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_stream_holds_its_permit_until_it_ends() {
    let api = TestApi::start().await;
    let settings = ApiSettings { max_mcp_streams: 1, ..ApiSettings::default() };
    let service = served(&api, settings, IngressConfig::default()).await;
    let mut stream = service.connect().await;
    let head = format!("{}\r\n\r\n", with_token("/mcp/stream", SECRET));
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    assert_refused_for_now(&service.ask(&with_token("/mcp", SECRET)).await, 503);
    assert_eq!(service.ask(&with_token("/projects", SECRET)).await.status, 200, "its own places");
    drop(stream);
    while service.ask(&with_token("/mcp", SECRET)).await.status != 200 {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_bodies_without_a_token_hold_no_permit() {
    const PERMITS: usize = 8;
    let api = TestApi::start().await;
    let settings = ApiSettings { max_concurrent_requests: PERMITS, ..ApiSettings::default() };
    let ingress = IngressConfig {
        requests_per_minute_per_address: 0,
        auth_failures_per_minute_per_address: 0,
        ..IngressConfig::default()
    };
    let service = served(&api, settings, ingress).await;
    let head = "POST /auth/token HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n";
    let finished = format!("{head}Connection: close\r\nContent-Length: 1\r\n\r\nx");
    let unfinished = format!("{head}Content-Length: 100\r\n\r\ngrant_type=");
    let mut open = Vec::new();
    let refused = loop {
        let mut stream = service.connect().await;
        stream.write_all(unfinished.as_bytes()).await.unwrap();
        open.push(stream);
        assert!(open.len() < 200, "an address has no limit of unfinished bodies");
        let others = service.ask(&with_token("/projects", SECRET)).await;
        assert_eq!(others.status, 200, "{} bodies: {others:?}", open.len());
        let mut stream = service.connect().await;
        stream.write_all(finished.as_bytes()).await.unwrap();
        let answer = Answer::read(&mut stream).await;
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 400, "{answer:?}");
    };
    assert!(refused.problem()["detail"].as_str().unwrap().contains("unfinished"));
    assert!(open.len() > PERMITS, "{}", open.len());
}

/// Serves `api` for the network, with a stand-in for `/mcp`.
pub async fn served(api: &TestApi, settings: ApiSettings, ingress: IngressConfig) -> Service {
    let endless =
        async || Body::from_stream(futures::stream::pending::<Result<&str, axum::Error>>());
    let mcp = Router::new()
        .route("/", get(async || "listed").post(async |body: String| body))
        .route("/stream", get(endless));
    let state = api.state.clone().with_settings(settings);
    let router = mc_api::public_router(state, mcp, &Ingress::new(ingress));
    Service::of(router, Serving::default()).await
}

/// A `GET` with a bearer token.
pub fn with_token(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}")
}
