//! Integrations, from the operator's configuration to search results.

use std::process::Output;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::harness::Service;

const TOKEN: &str = "t0ken-of-the-tracker-4242";

/// Starts a Redmine with one issue, which requires the token.
async fn redmine() -> String {
    let router = Router::new()
        .route("/users/current.json", get(current))
        .route("/projects/carts/issues.json", get(issues))
        .route("/issues/{file}", get(issue))
        .with_state(Arc::<str>::from(TOKEN));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn told(headers: &HeaderMap, token: &str, body: Value) -> (StatusCode, Json<Value>) {
    let is_known = headers.get("x-redmine-api-key").is_some_and(|key| key == token);
    if is_known {
        (StatusCode::OK, Json(body))
    } else {
        (StatusCode::UNAUTHORIZED, Json(json!({})))
    }
}

async fn current(State(token): State<Arc<str>>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    told(&headers, &token, json!({"user": {"id": 1, "login": "memory-bot"}}))
}

async fn issues(State(token): State<Arc<str>>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    let issue = json!({
        "id": 7, "subject": "Carts hang at night", "status": {"name": "New"},
        "created_on": "2026-11-01T10:00:00Z", "updated_on": "2026-11-01T10:00:00Z"
    });
    told(&headers, &token, json!({"issues": [issue], "total_count": 1, "offset": 0, "limit": 50}))
}

async fn issue(
    State(token): State<Arc<str>>,
    Path(_file): Path<String>,
    headers: HeaderMap,
) -> (StatusCode, Json<Value>) {
    let said = json!({"id": 1, "user": {"name": "Vera"}, "created_on": "2026-11-01T11:00:00Z",
                      "notes": "The gateway drops its quicksilver lease."});
    told(&headers, &token, json!({"issue": {"id": 7, "journals": [said]}}))
}

/// Starts a service with that connector configured in a file.
pub async fn service_with_tracker(directory: &std::path::Path) -> Service {
    let (secret, config) = (directory.join("tracker"), directory.join("memory-copilot.yaml"));
    std::fs::write(&secret, format!("{TOKEN}\n")).expect("a file");
    let text = format!(
        "connectors:\n  ours:\n    provider: redmine\n    base_url: {}\n    token_file: {}\n    \
         allowed_projects: [shop]\n",
        redmine().await,
        secret.display()
    );
    std::fs::write(&config, text).expect("a file");
    let mut service = Service::prepared();
    service.config = Some(config);
    service.launch().await;
    service
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn integration_syncs_a_configured_connector() {
    let directory = tempfile::tempdir().expect("a folder");
    let service = service_with_tracker(directory.path()).await;
    service.project("shop").await;
    service.project("other").await;
    let policy =
        service.put("/projects/shop/policy", &json!({"trackers": {"import_comments": true}})).await;
    assert_eq!(policy["policy"]["trackers"]["import_comments"], true, "{policy}");
    let run = |words: &[&str]| service.command(words).output().expect("it runs");

    let added = run(&["integrations", "create", "--project", "shop", "ours", "carts"]);
    assert!(added.status.success(), "{}", said(&added));
    let refused = run(&["integrations", "create", "--project", "other", "ours", "carts"]);
    assert!(
        !refused.status.success() && said(&refused).contains("there is no connector"),
        "{}",
        said(&refused)
    );
    let task = "/tasks/redmine%237?project_key=shop";
    let listed = "/projects/shop/integrations";
    service.until(listed, |page| page["items"][0]["last_success_at"].is_string()).await;
    assert_eq!(service.get(task).await["title"], "Carts hang at night");
    let question = json!({"project_key": "shop", "query": "quicksilver lease"});
    let found = service.post("/search", &question).await;
    assert!(found.to_string().contains("drops its quicksilver lease"), "{found}");
    let shown = said(&run(&["integrations", "list", "--project", "shop"]));
    assert!(shown.contains("carts") && shown.contains("15 min"), "{shown}");

    let doctor = said(&run(&["doctor"]));
    assert!(
        doctor.contains("ok    ours") && doctor.contains("credential of memory-bot"),
        "{doctor}"
    );
    let config = said(&run(&["config", "show"]));
    for text in [&shown, &doctor, &config, &service.log()] {
        assert!(!text.contains(TOKEN), "{text}");
    }
    std::fs::write(directory.path().join("tracker"), "another").expect("a file");
    let doctor = run(&["doctor"]);
    assert!(!doctor.status.success() && said(&doctor).contains("FAIL  ours"), "{}", said(&doctor));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn integration_of_a_directory_reindexes_it_when_changed() {
    let above = tempfile::tempdir().expect("a folder");
    let directory = above.path().join("notes");
    std::fs::create_dir(&directory).expect("a folder");
    let write = |text: &str| std::fs::write(directory.join("carts.md"), text).expect("a file");
    write("# Carts\n\nThey hang at night.\n");
    let service = Service::embedded().await;
    service.project("shop").await;
    let mut newest = service.index("shop", &directory).await["ingest_id"].clone();
    let run = |words: &[&str]| service.command(words).output().expect("it runs");

    let added = run(&["integrations", "create", "--project", "shop", "git", "local/notes"]);
    assert!(added.status.success(), "{}", said(&added));
    let listed = "/projects/shop/integrations";
    // The state of the directory at its indexing is unknown, so the first sync requests a run as
    // well.
    for (text, changed) in [("", 0), ("# Carts\n\nThey lose their quicksilver lease.\n", 1)] {
        let page = service.until(listed, |page| page["items"][0]["last_run"].is_object()).await;
        if !text.is_empty() {
            write(text);
            let id = page["items"][0]["id"].as_str().expect("an id");
            let asked = run(&["integrations", "sync", "--project", "shop", id]);
            assert!(asked.status.success(), "{}", said(&asked));
        }
        let is_in = |run: &Value| run["ingest_id"] != newest && run["status"] == "SUCCEEDED";
        let again = service.until("/repos/local/notes/index?project_key=shop", is_in).await;
        assert_eq!(again["files_changed"], changed, "{again}");
        newest = again["ingest_id"].clone();
    }
    let question = json!({"project_key": "shop", "query": "quicksilver lease"});
    let found = service.post("/search", &question).await;
    assert!(found.to_string().contains("lose their quicksilver lease"), "{found}");
    let page = service.until(listed, |page| page["items"][0]["current_run"].is_null()).await;
    assert_eq!(page["items"][0]["last_run"]["items_synced"], 1, "{page}");
    let shown = said(&run(&["integrations", "list", "--project", "shop"]));
    assert!(shown.contains("local/notes") && shown.contains("1 from 1 page"), "{shown}");
}
