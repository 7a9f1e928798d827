//! `/ingest/git` and the state of runs.

use mc_api::ApiSettings;
use mc_files::ProtectedDirectories;
use serde_json::json;
use tempfile::TempDir;

use crate::accounts::newcomer;
use crate::client::TestApi;
use crate::ingest_local::token_with;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_ingest_request_returns_the_queued_run() {
    let api = TestApi::start().await;
    let folder = TempDir::new().unwrap();
    let request = json!({"project_key": "shop", "location": folder.path(), "name": "core"});
    let first = api.post("/ingest/git", request.clone()).await;
    assert_eq!(first.status, 202, "{}", first.body);
    assert_eq!(first.body["status"], "QUEUED");
    assert_eq!(first.body["namespace"], "repo:local/core");
    assert_eq!(first.body["is_ready"], false);

    let second = api.post("/ingest/git", request).await.ok();
    assert_eq!(second["ingest_id"], first.body["ingest_id"]);
    let id = second["ingest_id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/ingest/runs/{id}")).await.ok(), second);
    let of_repository = api.get("/repos/local/core/index?project_key=shop").await.ok();
    assert_eq!(of_repository, second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repository_name_has_one_location_until_relocated() {
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
    assert!(detail.contains("repo:local/api"), "{detail}");
    let path = folder.path().to_str().unwrap();
    assert!(!taken.body.to_string().contains(path), "it shows a path of the server: {detail}");
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
async fn invalid_locations_are_rejected_for_ingest() {
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
async fn private_hosts_are_indexed_for_admins_or_if_allowed() {
    let mut api = TestApi::start().await;
    let token = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "member"})).await.ok();
    let inside = [
        "https://127.0.0.1/a/b",
        "https://[::1]/a/b",
        "https://10.0.0.5:8443/a/b",
        "https://169.254.169.254/x/y",
        "https://[::ffff:10.0.0.5]/a/b",
        "https://2130706433/a/b",
        "https://localhost/a/b",
    ];
    for location in inside {
        let request = json!({"project_key": "shop", "location": location});
        let refused = api.with(&token).post("/ingest/git", request).await;
        assert_eq!(refused.fault(403), "location", "{location}");
        let detail = refused.body["detail"].to_string();
        assert!(
            detail.contains("administrator") && detail.contains("ingest.allowed_private_hosts"),
            "{detail}"
        );
    }
    assert_eq!(api.get("/projects/shop").await.ok()["repositories"], 0);
    for (n, location) in inside.iter().enumerate() {
        let name = format!("inside-{n}");
        let request = json!({"project_key": "shop", "location": location, "name": name});
        assert_eq!(api.post("/ingest/git", request).await.status, 202, "{location}");
    }
    // The network access of a run is stored with the repository; the last request decides.
    let names = "select coalesce(string_agg(name, ' ' order by name), '') from repositories \
                where not allows_private_network";
    assert_eq!(api.text(names).await, "");
    let outside = json!({"project_key": "shop", "location": "https://93.184.215.14/x/outside"});
    assert_eq!(api.with(&token).post("/ingest/git", outside.clone()).await.status, 202);
    let moved = json!({"project_key": "shop", "location": "https://93.184.215.14/a/b",
                       "owner": "a", "name": "inside-0", "relocate": true});
    assert_eq!(api.with(&token).post("/ingest/git", moved).await.status, 202);
    assert_eq!(api.text(names).await, "inside-0 outside");
    assert_eq!(api.post("/ingest/git", outside.clone()).await.status, 202);
    assert_eq!(api.text(names).await, "inside-0");
    assert_eq!(api.with(&token).post("/ingest/git", outside).await.status, 202);
    assert_eq!(api.text(names).await, "inside-0 outside");

    let allowed_private_hosts = vec!["localhost:8443".parse().unwrap()];
    let settings = ApiSettings { allowed_private_hosts, ..ApiSettings::default() };
    api.router = mc_api::router(api.state.clone().with_settings(settings));
    for (location, status) in
        [("https://localhost:8443/a/listed", 202), ("https://localhost:8080/a/other", 403)]
    {
        let request = json!({"project_key": "shop", "location": location});
        let answer = api.with(&token).post("/ingest/git", request).await;
        assert_eq!(answer.status, status, "{location}: {}", answer.body);
    }
}

/// The data directory has the encryption key: an administrator's token for indexing and searching
/// alone must not read it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protected_directories_are_indexed_for_no_user() {
    let mut api = TestApi::start().await;
    let root = TempDir::new().unwrap();
    let [outer, data, copy, shop] = ["outer", "outer/data", "outer/data/repositories/copy", "shop"]
        .map(|path| root.path().join(path));
    for path in [&copy, &shop] {
        std::fs::create_dir_all(path).unwrap();
    }
    let protected = ProtectedDirectories::with_data_dir(&data);
    let settings = ApiSettings { protected, ..ApiSettings::default() };
    api.router = mc_api::router(api.state.clone().with_settings(settings));
    let indexing = token_with(&api, &["ingest", "ingest:local", "memory:read"]).await;

    let paths = [root.path(), &outer, &data, &copy];
    let mut locations: Vec<String> = paths.map(|path| path.display().to_string()).into();
    locations.extend(paths.map(|path| format!("file://{}", path.display())));
    locations.extend(["/", "/proc", "/proc/self/task", "/sys", "/dev"].map(str::to_owned));
    for location in &locations {
        let request = json!({"project_key": "shop", "location": location});
        let answer = api.post("/ingest/git", request.clone()).await;
        assert_eq!(answer.fault(400), "location", "{location}");
        assert!(answer.body["detail"].to_string().contains("never reads it"), "{}", answer.body);
        let answer = api.with(&indexing).post("/ingest/git", request).await;
        assert_eq!(answer.fault(400), "location", "{location}");
    }
    assert_eq!(api.get("/projects/shop").await.ok()["repositories"], 0);
    let request = json!({"project_key": "shop", "location": shop});
    assert_eq!(api.with(&indexing).post("/ingest/git", request).await.status, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_valid_git_ref_name_is_accepted() {
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
    assert_eq!(api.get(&format!("/ingest/runs/{id}")).await.fault(404), "id");
    assert_eq!(api.get("/repos/a/b/index?project_key=shop").await.fault(404), "name");
    assert_eq!(api.get("/repos/a/..%2Fb/index?project_key=shop").await.fault(400), "name");
    assert_eq!(api.get("/repos/a/b/index").await.fault(400), "project_key");
}
