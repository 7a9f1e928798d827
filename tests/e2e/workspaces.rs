//! Workspaces in the real service, on one node and on two.

use std::path::Path;
use std::process::Command;

use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::harness::Service;
use crate::repository;

/// Fetches a repository of this disk into a workspace, and waits until it is there.
async fn fetched(service: &Service, location: &Path) -> Value {
    let request = json!({"project_key": "shop", "location": location});
    let created = service.post("/workspaces", &request).await;
    assert!(created["job"].is_string(), "{created}");
    let path = format!("/workspaces/{}", id(&created));
    let is_over = |found: &Value| found["state"] == "ready" || found["state"] == "failed";
    let found = service.until(&path, is_over).await;
    assert_eq!(found["state"], "ready", "{found}\n{}", service.log());
    found
}

fn id(workspace: &Value) -> String {
    workspace["workspaceId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn repository_is_fetched_read_indexed_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let service = Service::embedded().await;
    service.project("shop").await;
    let workspace = fetched(&service, &shop).await;
    let id = id(&workspace);
    assert_eq!(workspace["commit"].as_str().map(str::len), Some(40), "{workspace}");
    assert!(workspace["fetchStartedAt"].is_string() && workspace["expiresAt"].is_string());

    let inspected = service.get(&format!("/workspaces/{id}/inspection?depth=1")).await;
    assert!(inspected["files"].as_u64() > Some(0), "{inspected}");
    let entries = inspected["entries"].as_array().expect("entries");
    assert!(entries.iter().all(|entry| entry["path"] != ".git"), "{inspected}");
    let file = entries.iter().find(|entry| entry["kind"] == "directory").expect("a directory");
    let missing = format!("/workspaces/{id}/file?path={}", file["path"].as_str().expect("a path"));
    assert_eq!(service.try_get(&missing).await.0, 400, "a directory is no file");
    let outside = service.try_get(&format!("/workspaces/{id}/file?path=../../token")).await;
    assert_eq!(outside.0, 400, "{outside:?}");
    assert!(outside.1.contains("Path is outside the sandbox"), "{outside:?}");

    let path = "app/services/cart_sessions/setting.rb";
    let read = service.get(&format!("/workspaces/{id}/file?path={path}&endLine=2")).await;
    assert_eq!((&read["startLine"], &read["endLine"]), (&json!(1), &json!(2)), "{read}");
    assert_eq!(read["encoding"], "utf-8", "{read}");
    assert!(read["content"].as_str().is_some_and(|text| text.starts_with("     1\t")), "{read}");

    // The fetch enqueued an index run of the same commit.
    let run = format!("/ingest/runs/{}", workspace["ingestId"].as_str().expect("a run"));
    let run = service.until(&run, |run| run["completed_at"].is_string()).await;
    assert_eq!((&run["status"], &run["source_ref"]), (&json!("SUCCEEDED"), &workspace["commit"]));

    let listed = service.get("/workspaces?project_key=shop&all=true").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    let files = service.data_dir.join("workspaces").join(&id);
    assert!(files.exists());
    service.delete(&format!("/workspaces/{id}")).await;
    assert!(!files.exists());
    let gone = service.try_get(&format!("/workspaces/{id}/inspection")).await;
    assert_eq!(gone.0, 404, "{gone:?}");
}

#[tokio::test]
async fn failed_fetch_says_why() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let request = json!({"project_key": "shop", "location": shop, "ref": "no-such-branch"});
    let created = service.post("/workspaces", &request).await;
    let path = format!("/workspaces/{}", id(&created));
    let failed = service.until(&path, |found| found["state"] == "failed").await;
    let message = failed["lastError"]["message"].as_str().expect("a message");
    assert!(message.contains("no branch, tag or commit \"no-such-branch\""), "{failed}");
    let (status, said) = service.try_get(&format!("{path}/inspection")).await;
    assert_eq!(status, 409, "{said}");
    assert!(said.contains("no-such-branch") && said.contains("fetch it again"), "{said}");
}

#[tokio::test]
async fn registered_directory_is_read_in_place_and_stays() {
    let service = Service::embedded().await;
    service.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let request = json!({"project_key": "shop", "directory": shop});
    if geteuid().is_root() {
        let (status, said) =
            service.try_post("/workspaces/folders", &request).await.expect("a reply");
        assert_eq!((status, &said["field"]), (400, &json!("directory")), "{said}");
        // Of another user than root and those of the service.
        let mut give = Command::new("chown");
        assert!(give.args(["-R", "12345"]).arg(&shop).status().expect("chown runs").success());
    }
    let created = service.post("/workspaces/folders", &request).await;
    assert_eq!((&created["state"], &created["editable"]), (&json!("ready"), &json!(false)));
    repository::write(&shop, "new.txt", "not committed\n");
    let id = id(&created);
    let read = service.get(&format!("/workspaces/{id}/file?path=new.txt")).await;
    assert_eq!(read["content"], "     1\tnot committed\n");
    service.delete(&format!("/workspaces/{id}")).await;
    assert!(shop.join("new.txt").exists());

    let protected = json!({"project_key": "shop", "directory": service.data_dir});
    let (status, said) =
        service.try_post("/workspaces/folders", &protected).await.expect("a reply");
    assert_eq!(status, 400, "{said}");
}

/// Starts a node on a shared database, which other nodes reach.
async fn node(database: &TestDatabase, first: Option<&Service>) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    let url = service.url.clone();
    service.set("MEMORY_COPILOT__SERVER__NODE_URL", url.into());
    if let Some(first) = first {
        let key = first.data_dir.join("encryption.key");
        service.set("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", key);
    }
    service.launch().await;
    service
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspace_is_reached_by_both_nodes_until_its_node_dies() {
    let database = TestDatabase::create().await;
    let first = node(&database, None).await;
    let second = node(&database, Some(&first)).await;
    first.project("shop").await;
    let directory = tempfile::tempdir().expect("a directory");
    let shop = repository::cart_sessions(directory.path());
    let workspace = fetched(&first, &shop).await;
    let id = id(&workspace);
    let path = format!("/workspaces/{id}/file?path=app/services/cart_sessions/setting.rb");
    let of_first = first.get(&path).await;
    assert_eq!(of_first, second.get(&path).await);
    let missing = format!("/workspaces/{id}/file?path=missing.rb");
    assert_eq!(first.try_get(&missing).await.0, second.try_get(&missing).await.0);

    let is_on_first = first.data_dir.join("workspaces").join(&id).exists();
    let (mut owner, other) = if is_on_first { (first, second) } else { (second, first) };
    owner.kill();
    let (status, said) = other.try_get(&path).await;
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("did not answer"), "{said}");
    // As if half a minute had passed.
    let late = "update nodes set seen_at = now() - interval '31 seconds'
                where id = (select node_id from workspaces)";
    execute(database.url(), late).await.expect("a dead node");
    let (status, said) = other.try_get(&path).await;
    assert_eq!(status, 503, "{said}");
    assert!(said.contains("has not been seen since"), "{said}");
    assert!(said.contains("fetch the repository again"), "{said}");

    // A workspace that the node had begun to fetch is fetched by the other one.
    let again = "update workspaces set state = 'fetching', attempt = 'of the dead node'";
    execute(database.url(), again).await.expect("an open fetch");
    let job = text(database.store(), "select job_id from workspaces").await.expect("a job");
    let job = format!("update apalis.jobs set status = 'Pending' where id = '{job}'");
    execute(database.url(), &job).await.expect("the job runs again");
    let found = other.until(&format!("/workspaces/{id}"), |found| found["state"] == "ready").await;
    assert_eq!(found["commit"], workspace["commit"]);
    assert_eq!(other.get(&path).await, of_first);
}
