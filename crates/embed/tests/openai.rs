//! The OpenAI-compatible provider against a scripted server.

mod support;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use mc_domain::{Classified, ErrorKind, ProjectId};
use mc_embed::{Embedder, Error, ProviderSettings, Purpose, RuntimeSettings, open, open_known};
use mc_sanitizer::{Sanitized, mask};
use serde_json::json;
use support::{Server, failure, letters, vectors};

fn settings(server: &Server, dimensions: Option<usize>) -> ProviderSettings {
    ProviderSettings::OpenAi {
        base_url: server.base_url(),
        model: "scripted".into(),
        api_key_env: None,
        api_key_file: None,
        dimensions,
    }
}

fn runtime() -> RuntimeSettings {
    RuntimeSettings {
        max_batch: 4,
        retry_delay: Duration::from_millis(1),
        max_retries: 3,
        ..RuntimeSettings::default()
    }
}

async fn opened(server: &Server) -> Arc<dyn Embedder> {
    open(&settings(server, Some(3)), &runtime()).await.expect("opens without a request")
}

/// For a question of the one project there is.
fn asking() -> Purpose {
    Purpose::Query("00000000-0000-0000-0000-000000000001".parse().expect("an id"))
}

fn texts(texts: &[&str]) -> Vec<Sanitized> {
    texts.iter().map(|text| mask(text).text).collect()
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn assert_close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    let close = left.iter().zip(right).all(|(l, r)| (l - r).abs() < 1e-5);
    assert!(close, "{left:?} is not {right:?}");
}

#[tokio::test]
async fn vectors_have_unit_length_and_the_order_of_the_texts() {
    let server = Server::start(|_, body| vectors(body)).await;
    let embedder = opened(&server).await;
    let given = ["bb", "a longer text with abc", "c", "", "aa", "bbbb ccc", "Ящик 📦 abc"];
    let answer = embedder.embed(texts(&given), Purpose::Passage).await.expect("vectors");
    assert_eq!(answer.len(), given.len());
    for (text, vector) in given.iter().zip(&answer).filter(|(text, _)| !text.is_empty()) {
        assert_close(vector, &unit(&letters(text)));
    }
    let sent: Vec<usize> = server.seen().iter().map(|seen| seen.inputs().len()).collect();
    assert_eq!(sent.iter().sum::<usize>(), given.len());
    assert!(sent.iter().all(|&n| n <= 4), "max_batch is kept: {sent:?}");
}

#[tokio::test]
async fn dimensions_are_measured_unless_they_are_configured() {
    let server = Server::start(|_, body| vectors(body)).await;
    let learnt = open(&settings(&server, None), &runtime()).await.expect("learns");
    assert_eq!(learnt.model().dimensions, 3);
    assert!(server.seen()[0].body.get("dimensions").is_none());
    let configured = opened(&server).await;
    configured.embed(texts(&["a"]), Purpose::Passage).await.expect("a vector");
    assert_eq!(server.seen()[1].body["dimensions"], 3);
}

#[tokio::test]
async fn a_repeated_query_is_cached_and_a_passage_is_not() {
    let server = Server::start(|_, body| vectors(body)).await;
    let embedder = opened(&server).await;
    let first = embedder.embed(texts(&["abc"]), asking()).await.expect("a vector");
    let again = embedder.embed(texts(&["abc"]), asking()).await.expect("a vector");
    assert_eq!(first, again);
    assert_eq!(server.seen().len(), 1);
    embedder.embed(texts(&["abd"]), asking()).await.expect("a vector");
    embedder.embed(texts(&["abc"]), Purpose::Passage).await.expect("a vector");
    assert_eq!(server.seen().len(), 3);
    // The cache is separate for each project.
    let elsewhere = Purpose::Query(ProjectId::generate());
    embedder.embed(texts(&["abc"]), elsewhere).await.expect("a vector");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn many_callers_with_one_query_make_one_request() {
    let server = Server::start(|_, body| vectors(body)).await;
    let embedder = opened(&server).await;
    let calls = (0..50).map(|_| embedder.embed(texts(&["abc"]), asking()));
    futures::future::try_join_all(calls).await.expect("vectors");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn rate_limited_request_is_retried_after_retry_after() {
    let server = Server::start(|number, body| match number {
        0 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "1")]).into_response(),
        _ => vectors(body),
    })
    .await;
    let embedder = opened(&server).await;
    let started = std::time::Instant::now();
    embedder.embed(texts(&["a"]), asking()).await.expect("the second try succeeds");
    assert_eq!(server.seen().len(), 2);
    assert!(started.elapsed() >= Duration::from_secs(1), "Retry-After is honoured");
}

#[tokio::test]
async fn repeated_failures_result_in_unavailable() {
    let server = Server::start(|_, _| failure(StatusCode::INTERNAL_SERVER_ERROR)).await;
    let embedder = opened(&server).await;
    let error = embedder.embed(texts(&["a"]), Purpose::Passage).await.expect_err("it never works");
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(server.seen().len(), 4, "one try and three retries");
}

#[tokio::test]
async fn queries_and_saves_do_not_wait_for_retried_passages() {
    let server = Server::start(|_, body| {
        let is_of_backlog = body.to_string().contains("backlog");
        if is_of_backlog { failure(StatusCode::BAD_GATEWAY) } else { vectors(body) }
    })
    .await;
    let slow = RuntimeSettings { retry_delay: Duration::from_secs(20), ..runtime() };
    let embedder = open(&settings(&server, Some(3)), &slow).await.expect("opens");
    for purpose in [asking(), Purpose::Save] {
        let backlog = (0..3).map(|_| embedder.embed(texts(&["backlog"]), Purpose::Passage));
        let backlog = futures::future::join_all(backlog);
        let text = embedder.embed(texts(&["a"]), purpose);
        tokio::select! {
            // Polled first, so that its requests have their places before the other comes.
            biased;
            _ = backlog => panic!("{purpose:?} waited for the backlog"),
            answer = text => assert_eq!(answer.expect("a vector").len(), 1),
        }
    }
}

#[tokio::test]
async fn failed_query_is_not_cached() {
    let server = Server::start(|number, body| match number {
        0..4 => failure(StatusCode::BAD_GATEWAY),
        _ => vectors(body),
    })
    .await;
    let embedder = opened(&server).await;
    embedder.embed(texts(&["a"]), asking()).await.expect_err("four failures");
    embedder.embed(texts(&["a"]), asking()).await.expect("the server is back");
}

#[tokio::test]
async fn rejected_key_is_not_retried_and_its_source_is_named() {
    let server = Server::start(|_, _| failure(StatusCode::UNAUTHORIZED)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("embedding.key");
    std::fs::write(&file, "open-sesame\n").expect("a file");
    let mut settings = settings(&server, Some(3));
    if let ProviderSettings::OpenAi { api_key_file, .. } = &mut settings {
        *api_key_file = Some(file);
    }
    let embedder = open(&settings, &runtime()).await.expect("opens");
    let error = embedder.embed(texts(&["a"]), asking()).await.expect_err("refused");
    assert!(error.to_string().contains("embedding.key"), "{error}");
    assert!(!error.to_string().contains("open-sesame"), "{error}");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(server.seen()[0].authorization.as_deref(), Some("Bearer open-sesame"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Server::start(|_, _| {
        (StatusCode::TEMPORARY_REDIRECT, [("location", "/v1/embeddings")]).into_response()
    })
    .await;
    let error = opened(&server).await.embed(texts(&["a"]), asking()).await.expect_err("no vectors");
    assert!(matches!(error, Error::Refused { status: 307, .. }), "{error:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn malformed_responses_are_errors() {
    for (body, words) in [
        (json!({"data": []}), "0 vectors for 1 texts"),
        (json!({"data": [{"index": 0, "embedding": [1.0]}]}), "1 dimensions where 3 are expected"),
        (json!({"data": [{"index": 7, "embedding": [1.0, 0.0, 0.0]}]}), "index 7"),
        (json!({"data": [{"index": 0, "embedding": [0.0, 0.0, 0.0]}]}), "zeros"),
        (json!({"data": [{"index": 0, "embedding": [null, 0.0, 0.0]}]}), "no list of embeddings"),
        (json!({"hello": "world"}), "no list of embeddings"),
    ] {
        let server = Server::start(move |_, _| axum::Json(body.clone()).into_response()).await;
        let answer = opened(&server).await.embed(texts(&["a"]), Purpose::Passage).await;
        let error = answer.expect_err(words);
        assert!(matches!(error, Error::BadAnswer { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(server.seen().len(), 1, "it would be as wrong a second time");
    }
}

#[tokio::test]
async fn huge_text_is_truncated_before_it_is_sent() {
    let server = Server::start(|_, body| vectors(body)).await;
    let huge = "слово ".repeat(100_000);
    let embedder = opened(&server).await;
    let answer = embedder.embed(texts(&[&huge, "a"]), Purpose::Passage).await.expect("vectors");
    assert_eq!(answer.len(), 2);
    for seen in server.seen() {
        assert!(seen.inputs().iter().all(|text| text.len() <= 16 * 1024));
    }
}

#[tokio::test]
async fn unreachable_server_is_unavailable() {
    // Bound and closed again: no server listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let settings = ProviderSettings::OpenAi {
        base_url: format!("http://{address}/v1").parse().expect("a URL"),
        model: "m".into(),
        api_key_env: None,
        api_key_file: None,
        dimensions: None,
    };
    let error = open(&settings, &runtime()).await.err().expect("nobody answers");
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("base_url"), "{error}");

    // A model that was used before opens; the first query reports the unreachable server.
    let embedder =
        open_known(&settings, Some(3), &runtime()).await.expect("opens without a request");
    assert_eq!(embedder.model().dimensions, 3);
    let error = embedder.embed(vec![mask("a").text], asking()).await.expect_err("nobody");
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn parallel_callers_get_their_own_vectors() {
    let server = Server::start(|_, body| vectors(body)).await;
    let embedder = opened(&server).await;
    let calls = (0..100).map(|n| {
        let embedder = Arc::clone(&embedder);
        tokio::spawn(async move {
            let text = format!("{} {}", "b".repeat(n % 7), "c".repeat(n % 11));
            let vectors =
                embedder.embed(texts(&[&text]), Purpose::Passage).await.expect("a vector");
            assert_close(&vectors[0], &unit(&letters(&text)));
        })
    });
    for call in futures::future::join_all(calls).await {
        call.expect("no caller fails");
    }
}

#[test]
fn settings_have_the_key_source_and_no_unknown_field() {
    let text = r#"{"provider":"openai","base_url":"http://localhost:11434/v1","model":"bge-m3","api_key_env":"KEY"}"#;
    let settings: ProviderSettings = serde_json::from_str(text).expect("valid settings");
    let written = serde_json::to_string(&settings).expect("settings can be written");
    assert_eq!(serde_json::from_str::<ProviderSettings>(&written).expect("and read"), settings);
    let unknown = text.replace("api_key_env", "api_key");
    assert!(serde_json::from_str::<ProviderSettings>(&unknown).is_err());
}
