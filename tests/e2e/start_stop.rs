//! Starting, stopping, and refusing to start.

use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus};

use serde_json::json;

use crate::harness::{Service, binary, direct_client};

#[tokio::test]
async fn saved_records_survive_a_clean_stop() {
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
async fn second_service_reports_the_owner_of_the_data_directory() {
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
async fn requests_without_a_token_are_rejected() {
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

#[test]
fn signal_ends_a_start_that_waits_for_the_database() {
    let (silent, directory) = (silent_server(), tempfile::tempdir().unwrap());
    let service = Command::new(binary())
        .arg("serve")
        .env(
            "DATABASE_URL",
            format!("postgres://me:secret@{}/memory", silent.local_addr().unwrap()),
        )
        .env("MEMORY_COPILOT__DATA_DIR", directory.path())
        .env("MEMORY_COPILOT__SERVER__LISTEN", "127.0.0.1:0")
        .spawn()
        .unwrap();
    let _connection = silent.accept().unwrap();
    let status = interrupted(service);
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn signal_ends_a_start_that_waits_for_the_model() {
    let mut service = Service::embedded().await;
    assert!(service.stop().success(), "{}", service.log());
    let silent = silent_server();
    let model = format!("http://{}/v1", silent.local_addr().unwrap());
    let starting = service
        .command(&["serve"])
        .env("MEMORY_COPILOT__EMBEDDING__PROVIDER", "openai")
        .env("MEMORY_COPILOT__EMBEDDING__MODEL", "silent")
        .env("MEMORY_COPILOT__EMBEDDING__BASE_URL", model)
        .spawn()
        .unwrap();
    let _connection = silent.accept().unwrap();
    let postmaster = service.data_dir.join("postgresql/cluster/postmaster.pid");
    assert!(postmaster.exists(), "the database runs by now");
    let status = interrupted(starting);
    assert!(status.success(), "{status}");
    assert!(!postmaster.exists(), "the database was stopped in order");
}

/// Starts a server that accepts connections and never responds.
fn silent_server() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Returns the exit status of a process after an interrupt, as by Ctrl-C.
fn interrupted(mut process: Child) -> ExitStatus {
    let pid = process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    process.wait().unwrap()
}
