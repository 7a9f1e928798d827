//! Starting, stopping, and refusing to start.

use serde_json::json;

use crate::harness::{Service, direct_client};

#[tokio::test]
async fn what_was_saved_is_there_after_a_clean_stop() {
    let mut service = Service::embedded().await;
    service.project("restart").await;
    service
        .post(
            "/save",
            &json!({
        "project_key": "restart", "kind": "rule",
        "content": "Money is kept in cents, never in floating point." }),
        )
        .await;
    let status = service.stop();
    assert!(status.success(), "{}", service.log());
    service.launch().await;
    let log = service.log();
    assert!(!log.contains("already exists, skipping") && !log.contains('\u{1b}'), "{log}");
    let found = service
        .post(
            "/search",
            &json!({
        "project_key": "restart", "query": "how is money stored?", "time_budget_ms": 5000 }),
        )
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
}

#[tokio::test]
async fn a_second_service_on_one_data_folder_says_who_holds_it() {
    let service = Service::embedded().await;
    let output = service
        .command(&["serve"])
        .env("MEMORY_COPILOT__SERVER__LISTEN", "127.0.0.1:0")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("another memory-copilot (process "), "{said}");
}

#[tokio::test]
async fn without_the_token_nothing_is_told() {
    let service = Service::embedded().await;
    let client = direct_client();
    for path in ["/projects", "/status", "/records?project_key=x"] {
        let answer = client.get(format!("{}{path}", service.url)).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(service.data_dir.join("token")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert!(!service.log().contains(&service.token()), "the token is never logged");
}
