//! `/ingest/git` and the state of runs.

use serde_json::json;
use tempfile::TempDir;

use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_request_for_a_repository_is_answered_with_the_run_that_waits() {
    let api = TestApi::start().await;
    let folder = TempDir::new().unwrap();
    let request = json!({"project_key": "shop", "location": folder.path(), "name": "core"});
    let first = api.post("/ingest/git", request.clone()).await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!(first.body["status"], "QUEUED");
    assert_eq!(first.body["namespace"], "repo:local/core");
    assert_eq!(first.body["ready"], false);

    let second = api.post("/ingest/git", request).await.ok();
    assert_eq!(second["ingest_id"], first.body["ingest_id"]);
    let id = second["ingest_id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/ingest/{id}")).await.ok(), second);
    let of_repository = api.get("/repos/local/core/index?project_key=shop").await.ok();
    assert_eq!(of_repository, second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_stands_for_one_location_until_the_repository_moves() {
    let api = TestApi::start().await;
    let folder = TempDir::new().unwrap();
    let [a, b] = ["a/api", "b/api"].map(|path| folder.path().join(path));
    for path in [&a, &b] {
        std::fs::create_dir_all(path).unwrap();
    }
    let request = json!({"project_key": "shop", "location": a});
    let first = api.post("/ingest/git", request.clone()).await;
    assert_eq!(first.status, 202, "{}", first.body);

    let taken = api.post("/ingest/git", json!({"project_key": "shop", "location": b})).await;
    let (detail, hint) = (taken.body["detail"].to_string(), taken.body["hint"].to_string());
    assert!(detail.contains("repo:local/api") && detail.contains("/a/api"), "{detail}");
    for way_out in ["`name`", "`owner`", "--name", "`relocate`", "--relocate"] {
        assert!(hint.contains(way_out), "{hint}");
    }
    assert_eq!(taken.fault(409), "location");
    assert_eq!(api.post("/ingest/git", request.clone()).await.status, 202, "nothing has changed");

    let named = json!({"project_key": "shop", "location": b, "name": "api-b"});
    assert_eq!(api.post("/ingest/git", named).await.ok()["namespace"], "repo:local/api-b");
    let moved = json!({"project_key": "shop", "location": b, "relocate": true});
    assert_eq!(api.post("/ingest/git", moved).await.ok()["namespace"], "repo:local/api");
    assert_eq!(api.post("/ingest/git", request).await.fault(409), "location");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locations_that_cannot_be_indexed_are_refused() {
    let api = TestApi::start().await;
    for location in [
        "relative/folder",
        "ext::sh -c id",
        "ftp://example.org/x.git",
        "https://user:secret@example.org/x.git",
        "--upload-pack=id",
        "/no/such/folder",
    ] {
        let request = json!({"project_key": "shop", "location": location});
        let answer = api.post("/ingest/git", request).await;
        assert!(answer.status.is_client_error(), "{location}: {} {}", answer.status, answer.body);
        assert_eq!(answer.body["field"], "location", "{location}");
    }
    for git_ref in ["--output=x", "main@{1}", "a b", "HEAD~1"] {
        let request = json!({"project_key": "shop", "location": "/tmp", "ref": git_ref});
        assert_eq!(api.post("/ingest/git", request).await.fault(400), "ref", "{git_ref}");
    }
    assert_eq!(api.get("/projects/shop").await.ok()["repositories"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_may_be_whatever_git_calls_a_branch_or_tag() {
    let api = TestApi::start().await;
    let folder = TempDir::new().unwrap();
    for git_ref in ["@acme/cart@1.2.3", "fix/#12+more", "a=b(c)"] {
        let request = json!({"project_key": "shop", "location": folder.path(), "ref": git_ref});
        let answer = api.post("/ingest/git", request).await;
        assert_eq!(answer.status, 202, "{git_ref}: {}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_runs_and_repositories_are_not_found() {
    let api = TestApi::start().await;
    let id = uuid::Uuid::now_v7();
    assert_eq!(api.get(&format!("/ingest/{id}")).await.fault(404), "id");
    assert_eq!(api.get("/repos/a/b/index?project_key=shop").await.fault(404), "name");
    assert_eq!(api.get("/repos/a/..%2Fb/index?project_key=shop").await.fault(400), "name");
    assert_eq!(api.get("/repos/a/b/index").await.fault(400), "project_key");
}
