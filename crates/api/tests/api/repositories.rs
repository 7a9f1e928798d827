//! `/repos`: the repositories of a project, and their runs.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::accounts::newcomer;
use crate::client::TestApi;

/// A directory with a file of code and a document, indexed as `local/core`.
async fn indexed(api: &TestApi, options: Value) -> (TempDir, Value) {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(directory.path().join("docs")).unwrap();
    std::fs::write(directory.path().join("cart.rb"), "def total\n  1\nend\n").unwrap();
    std::fs::write(directory.path().join("docs/guide.md"), "# Guide\n\nCarts are emptied.\n")
        .unwrap();
    let mut request = json!({"project_key": "shop", "location": directory.path(), "name": "core"});
    request.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let queued = api.post("/ingest/git", request).await.ok();
    let run = ended(api, &queued).await;
    (directory, run)
}

/// Waits for the end of a run.
pub async fn ended(api: &TestApi, run: &Value) -> Value {
    let path = format!("/ingest/runs/{}", run["ingest_id"].as_str().unwrap());
    loop {
        let run = api.get(&path).await.ok();
        if matches!(run["status"].as_str(), Some("SUCCEEDED" | "FAILED")) {
            return run;
        }
        tokio::task::yield_now().await;
    }
}

async fn repositories(api: &TestApi) -> Value {
    api.get("/repos?project_key=shop").await.ok()["items"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_decide_which_files_are_indexed() {
    let api = TestApi::start().await;
    let _workers = api.work_and_index();
    let (_directory, run) = indexed(&api, json!({"exclude": ["docs/"]})).await;
    assert_eq!((&run["status"], &run["files_changed"]), (&json!("SUCCEEDED"), &json!(1)), "{run}");
    let listed = repositories(&api).await;
    assert_eq!(listed[0]["files"], 1, "{listed}");
    assert_eq!(
        (&listed[0]["exclude"], &listed[0]["namespace"]),
        (&json!(["docs/"]), &json!("repo:local/core"))
    );

    let change = json!({"project_key": "shop", "include": ["*.md"], "exclude": []});
    api.patch("/repos/local/core", change).await.ok();
    let newest = api.get("/repos/local/core/index?project_key=shop").await.ok();
    let run = ended(&api, &newest).await;
    assert_eq!((&run["files_changed"], &run["files_deleted"]), (&json!(1), &json!(1)), "{run}");
    let invalid = json!({"project_key": "shop", "exclude": ["a", "{".repeat(70)]});
    assert_eq!(api.patch("/repos/local/core", invalid).await.fault(400), "exclude[1]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_repository_keeps_its_documents_and_can_be_removed() {
    let api = TestApi::start().await;
    let _workers = api.work_and_index();
    let (_directory, _) = indexed(&api, json!({})).await;
    let location = repositories(&api).await[0]["location"].clone();
    let rename = json!({"project_key": "shop", "name": "store"});
    let renamed = api.patch("/repos/local/core", rename.clone()).await.ok();
    assert_eq!((&renamed["namespace"], &renamed["files"]), (&json!("repo:local/store"), &json!(2)));
    assert_eq!(api.text("select string_agg(source, ',') from docs").await, "repo:local/store");
    assert_eq!(api.patch("/repos/local/core", rename).await.fault(404), "name");
    let again = json!({"project_key": "shop", "location": location});
    let run = api.post("/ingest/git", again).await.ok();
    assert_eq!(run["namespace"], "repo:local/store", "its location still means it");
    ended(&api, &run).await;

    let removed = "/repos/local/store?project_key=shop";
    assert_eq!(api.delete(removed).await.status, 204);
    assert_eq!(repositories(&api).await, json!([]));
    assert_eq!(api.text("select count(*)::text from passages").await, "0");
    assert_eq!(api.delete(removed).await.fault(404), "name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_not_renamed_to_the_name_of_another() {
    let api = TestApi::start().await;
    let directory = TempDir::new().unwrap();
    for name in ["core", "store"] {
        let request = json!({"project_key": "shop", "location": directory.path(), "name": name});
        api.post("/ingest/git", request).await.ok();
    }
    let rename = json!({"project_key": "shop", "name": "store"});
    assert_eq!(api.patch("/repos/local/core", rename).await.status, 409);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_has_ended_and_the_next_one_runs() {
    let api = TestApi::start().await;
    let directory = TempDir::new().unwrap();
    let request = json!({"project_key": "shop", "location": directory.path()});
    let queued = api.post("/ingest/git", request.clone()).await.ok();
    let path = format!("/ingest/runs/{}/cancel", queued["ingest_id"].as_str().unwrap());
    let cancelled = api.post(&path, json!({})).await.ok();
    assert_eq!(cancelled["status"], "FAILED");
    let reason = cancelled["last_error"]["message"].as_str().unwrap();
    assert!(reason.starts_with("cancelled by local"), "{reason}");
    assert_eq!(api.post(&path, json!({})).await.fault(409), "id", "it has ended");
    let _workers = api.work_and_index();
    let next = api.post("/ingest/git", request).await.ok();
    assert_eq!(ended(&api, &next).await["status"], "SUCCEEDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locations_are_shown_to_those_who_may_index() {
    let api = TestApi::start().await;
    let directory = TempDir::new().unwrap();
    let request = json!({"project_key": "shop", "location": directory.path()});
    api.post("/ingest/git", request).await.ok();
    let place = directory.path().to_str().unwrap();
    assert_eq!(repositories(&api).await[0]["location"], place);
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "viewer"})).await.ok();
    let listed = api.with(&ann).get("/repos?project_key=shop").await.ok();
    assert!(listed["items"][0]["location"].is_null(), "{listed}");
}
