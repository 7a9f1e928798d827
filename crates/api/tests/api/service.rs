//! Probes, status, the docs page.

use axum::body::{Body, to_bytes};
use http::Request;
use serde_json::json;
use tower::ServiceExt as _;

use crate::accounts::newcomer;
use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_docs_and_the_openapi_document_need_no_token() {
    let api = TestApi::start().await;
    for (path, expected) in [
        ("/healthz", r#"{"status":"ok"}"#),
        ("/readyz", r#"{"status":"ok"}"#),
        ("/openapi.json", r#""openapi":"3.1"#),
        ("/docs/", "swagger-ui"),
        ("/docs/swagger-ui-bundle.js", "Swagger"),
    ] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = api.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(expected), "{path}: {text:.300}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_root_redirects_to_the_docs() {
    let api = TestApi::start().await;
    let request = Request::get("/").body(Body::empty()).unwrap();
    let response = api.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 307);
    assert_eq!(response.headers()["location"], "/docs/");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_names_versions_model_and_index() {
    let api = TestApi::start().await;
    let status = api.get("/status").await.ok();
    assert_eq!(status["model"]["dimensions"], 384);
    assert_eq!(status["index"]["phase"], "live");
    assert!(status["pgvector"].as_str().unwrap().starts_with("0."), "{status}");
    assert_eq!(status["pending_vectors"], 0);
    assert!(status["version"].is_string() && status["postgres"].is_string(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_service_administrators_see_versions() {
    let api = TestApi::start().await;
    let ann = newcomer(&api, "ann").await;
    let scopes = json!({"name": "reader", "scopes": ["memory:read"]});
    let reader = api.post("/tokens", scopes).await.ok();
    for token in [ann.as_str(), reader["token"].as_str().unwrap()] {
        let status = api.with(token).get("/status").await.ok();
        assert_eq!(status["index"]["phase"], "live");
        for field in ["version", "postgres", "pgvector", "pending_vectors"] {
            assert_eq!(status.get(field), None, "{field}: {status}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(api.get(path).await.ok(), json!({"status": "ok"}), "{path}");
    }
    let document = api.get("/openapi.json").await.ok();
    assert_eq!(document["info"]["version"], "1", "the version of the interface");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_without_its_database_is_alive_and_not_ready() {
    let api = TestApi::start().await;
    api.database.service().close().await;
    assert_eq!(api.get("/healthz").await.status, 200);
    let ready = api.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert_eq!(ready.body["detail"], "the database does not respond");
    let search = api.get("/projects").await;
    assert_eq!(search.status, 503);
    assert_eq!(search.body["type"], "urn:memory-copilot:problem:service-unavailable");
}
