//! Rerank by a cross-encoder on a server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Json;
use axum::http::StatusCode;
use axum::routing::post;
use mc_contract::operations::rag::RagSearchResponse;
use mc_rag::{CrossEncoder, RagContext, RagSettings};
use serde_json::{Value, json};

use crate::fixture::{Fixture, has, paths, request, warned};

/// Question whose best match is not the test.
const QUESTION: &str = "assert payment is retried retry_payment";

/// Requests of a server.
type Requests = Arc<Mutex<Vec<Value>>>;

/// Starts a server that replies by a script. Returns its base URL and its requests.
async fn server(reply: fn(&Value) -> (StatusCode, Value), wait: Duration) -> (String, Requests) {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let handler = async move |Json(body): Json<Value>| {
        tokio::time::sleep(wait).await;
        let (status, reply) = reply(&body);
        seen.lock().unwrap().push(body);
        (status, Json(reply))
    };
    let router = Router::new().route("/v1/rerank", post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, requests)
}

/// Scores the test highest.
fn prefer_tests(request: &Value) -> (StatusCode, Value) {
    let documents = request["documents"].as_array().unwrap();
    let score = |(index, document): (usize, &Value)| {
        let is_test = document.as_str().unwrap().starts_with("tests/");
        json!({"index": index, "relevance_score": if is_test { 0.9 } else { 0.1 }})
    };
    let results: Vec<_> = documents.iter().enumerate().map(score).collect();
    (StatusCode::OK, json!({"model": "small", "results": results}))
}

fn fail(_: &Value) -> (StatusCode, Value) {
    (StatusCode::INTERNAL_SERVER_ERROR, json!({"error": {"message": "out of memory"}}))
}

fn nonsense(_: &Value) -> (StatusCode, Value) {
    (StatusCode::OK, json!({"scores": [1, 2]}))
}

fn settings(base_url: &str, timeout_ms: u64) -> RagSettings {
    let settings = json!({"base_url": base_url, "model": "small", "timeout_ms": timeout_ms});
    let cross_encoder = Some(serde_json::from_value(settings).unwrap());
    RagSettings { cross_encoder, time_budget_ms: 30_000, ..RagSettings::default() }
}

async fn ask(context: &RagContext, settings: &RagSettings, profile: &str) -> RagSearchResponse {
    let fields = json!({
        "rawQuery": QUESTION, "neighborStrategy": "OFF", "profile": profile,
        "filters": {"languages": ["rs"]},
    });
    mc_rag::search(context, settings, &request(&fields)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_encoder_orders_the_best_matches() {
    let fixture = Fixture::new().await;
    let (url, requests) = server(prefer_tests, Duration::ZERO).await;
    let settings = settings(&url, 15_000);
    settings.check().unwrap();
    let encoder = CrossEncoder::open(settings.cross_encoder.as_ref().unwrap()).unwrap();
    let context = RagContext { cross_encoder: Some(encoder), ..fixture.context() };
    let without = ask(&fixture.context(), &RagSettings::default(), "default").await;
    assert_ne!(paths(&without)[0], "tests/retry_test.rs");

    let response = ask(&context, &settings, "default").await;
    assert_eq!(paths(&response)[0], "tests/retry_test.rs");
    assert!(has(&response, "post.cross-encoder"), "{:?}", response.applied_modules);
    let sent = requests.lock().unwrap().remove(0);
    assert_eq!((&sent["model"], &sent["query"]), (&json!("small"), &json!(QUESTION)));
    let documents = sent["documents"].as_array().unwrap();
    assert_eq!(sent["top_n"], documents.len());
    let is_test = |text: &Value| text.as_str().unwrap().starts_with("tests/retry_test.rs:1-");
    assert!(documents.iter().any(is_test), "{documents:?}");

    // No model is asked in this profile.
    let fast = ask(&context, &settings, "fast").await;
    assert!(!has(&fast, "post.cross-encoder") && requests.lock().unwrap().is_empty());
    // As if the policy of the project forbade it.
    let forbidden = ask(&fixture.context(), &settings, "default").await;
    assert!(warned(&forbidden, "a project's policy forbids it"), "{:?}", forbidden.warnings);
    assert!(requests.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_encoder_that_fails_is_left_out_with_a_warning() {
    let fixture = Fixture::new().await;
    let late = Duration::from_mins(1);
    for (reply, wait, timeout_ms, expected) in [
        (fail as fn(&Value) -> _, Duration::ZERO, 15_000, "answered 500"),
        (nonsense, Duration::ZERO, 15_000, "sent no scores"),
        (prefer_tests, late, 50, "did not answer in time"),
    ] {
        let (url, _) = server(reply, wait).await;
        let settings = settings(&url, timeout_ms);
        let encoder = CrossEncoder::open(settings.cross_encoder.as_ref().unwrap()).unwrap();
        let context = RagContext { cross_encoder: Some(encoder), ..fixture.context() };
        let response = ask(&context, &settings, "default").await;
        assert!(warned(&response, expected), "{:?}", response.warnings);
        assert!(!has(&response, "post.cross-encoder") && !response.matches.is_empty());
    }
}
