//! Integrations: who may create them, their configuration and state, and the data that they import.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::{CONNECTOR, TRACKER_TOKEN, TestApi};

const INTEGRATIONS: &str = "/projects/shop/integrations";

async fn create(api: &TestApi, resource: &str) -> Value {
    api.post(INTEGRATIONS, json!({ "connector": CONNECTOR, "resource": resource })).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn integration_is_created_updated_paused_and_deleted() {
    let api = TestApi::start().await;
    let created = create(&api, "carts").await;
    let path = format!("{INTEGRATIONS}/{}", created["id"].as_str().unwrap());
    assert_eq!(
        (&created["capability"], &created["interval_minutes"]),
        (&json!("issues"), &json!(15))
    );
    assert_eq!(
        (&created["include_comments"], &created["created_by"]),
        (&json!(true), &json!("local"))
    );
    let jobs = api.get("/jobs?kind=sync_integration").await.ok();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1, "its first sync is asked for");

    let twice =
        api.post(INTEGRATIONS, json!({ "connector": CONNECTOR, "resource": "carts" })).await;
    assert_eq!(twice.status, 409, "{}", twice.body);
    let change = json!({ "interval_minutes": 60, "is_paused": true });
    let changed = api.patch(&path, change).await.ok();
    assert_eq!((&changed["interval_minutes"], &changed["is_paused"]), (&json!(60), &json!(true)));
    assert_eq!(changed["include_comments"], true, "what is absent stays");
    let paused = api.post(&format!("{path}/sync"), json!({})).await;
    assert_eq!(paused.status, 409);
    api.patch(&path, json!({ "is_paused": false })).await.ok();
    let requested = api.post(&format!("{path}/sync"), json!({})).await;
    assert_eq!(requested.status, 202, "{}", requested.body);
    let all = api.get(INTEGRATIONS).await.ok();
    assert_eq!(all["items"].as_array().unwrap().len(), 1);

    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(api.get(&path).await.fault(404), "id");
    let events = api.get("/audit?project_key=shop&action=integration.changed").await.ok();
    let said: Vec<_> = events["items"].as_array().unwrap().iter().rev().collect();
    let said: Vec<_> = said.iter().map(|event| &event["details"]["change"]).collect();
    assert_eq!(said, ["created", "updated", "updated", "deleted"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_connectors_allowed_for_the_project_are_usable() {
    let api = TestApi::start().await;
    api.post("/projects", json!({ "key": "other" })).await.ok();
    for (key, body, field, status) in [
        ("shop", json!({ "connector": "https://evil.example", "resource": "x" }), "connector", 404),
        ("other", json!({ "connector": CONNECTOR, "resource": "carts" }), "connector", 404),
        (
            "shop",
            json!({ "connector": CONNECTOR, "resource": "carts", "capability": "pages" }),
            "capability",
            400,
        ),
        (
            "shop",
            json!({ "connector": CONNECTOR, "resource": "carts", "interval_minutes": 4 }),
            "interval_minutes",
            400,
        ),
        ("shop", json!({ "connector": CONNECTOR, "resource": "../admin" }), "resource", 400),
    ] {
        let answer = api.post(&format!("/projects/{key}/integrations"), body.clone()).await;
        assert_eq!(answer.fault(status), field, "{body}");
    }
    assert_eq!(api.text("select count(*)::text from integrations").await, "0");
    let usable = api.get("/connectors?project_key=shop").await.ok();
    assert_eq!(usable["items"][0]["name"], CONNECTOR);
    let usable = api.get("/connectors?project_key=other").await.ok();
    let names: Vec<_> =
        usable["items"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["git"], "which needs no operator");
    assert_eq!(api.get("/connectors").await.ok()["items"][0]["integration_count"], 0);
}

/// The ingest run of a repository sets its location and network access, so an integration can't
/// reach any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_integration_requires_a_repository_of_the_project() {
    let api = TestApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().to_str().unwrap();
    let git = json!({ "project_key": "shop", "location": location, "name": "notes" });
    api.post("/ingest/git", git).await.ok();
    for (resource, status) in [("file:///srv/notes", 400), ("notes", 400), ("local/other", 404)] {
        let answer =
            api.post(INTEGRATIONS, json!({ "connector": "git", "resource": resource })).await;
        assert_eq!(answer.fault(status), "resource", "{resource}");
    }
    let issues = json!({ "connector": "git", "resource": "local/notes", "capability": "issues" });
    assert_eq!(api.post(INTEGRATIONS, issues).await.fault(400), "capability");
    api.post("/projects", json!({ "key": "other" })).await.ok();
    let there = json!({ "connector": "git", "resource": "local/notes" });
    let answer = api.post("/projects/other/integrations", there.clone()).await;
    assert_eq!(answer.fault(404), "resource", "it is another project's");
    let created = api.post(INTEGRATIONS, there).await.ok();
    assert_eq!((&created["connector"], &created["capability"]), (&json!("git"), &json!("refs")));
    let connectors = api.get("/connectors?project_key=shop").await.ok();
    let git = connectors["items"].as_array().unwrap().last().unwrap();
    assert_eq!((&git["provider"], &git["integration_count"]), (&json!("git"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn integration_shows_its_current_and_last_sync_run() {
    let api = TestApi::start().await;
    let created = create(&api, "carts").await;
    assert!(created["current_run"].is_null() && created["last_run"].is_null(), "{created}");
    let path = format!("{INTEGRATIONS}/{}", created["id"].as_str().unwrap());
    api.execute("update integrations set run_started_at = now(), run_pages = 2, run_items = 90")
        .await;
    let at_work = api.get(&path).await.ok();
    assert_eq!(
        (&at_work["current_run"]["pages_fetched"], &at_work["current_run"]["items_synced"]),
        (&json!(2), &json!(90))
    );
    assert!(at_work["current_run"]["started_at"].is_string() && at_work["last_run"].is_null());
    api.execute(
        "update integrations set run_started_at = null, last_run_completed_at = now(), \
         last_run_pages = 3, last_run_items = 120,
             last_error = 'it was away', consecutive_failures = 1",
    )
    .await;
    let all = api.get(INTEGRATIONS).await.ok();
    let failed = &all["items"][0];
    let last = &failed["last_run"];
    assert!(failed["current_run"].is_null() && last["completed_at"].is_string(), "{failed}");
    assert_eq!((&last["pages_fetched"], &last["items_synced"]), (&json!(3), &json!(120)));
    assert_eq!((&last["has_failed"], &failed["last_error"]), (&json!(true), &json!("it was away")));
    assert!(failed["next_sync_at"].is_string(), "when it is tried again");
}

/// Nothing listens at the provider's address. The integration reports the error, and the credential
/// is shown nowhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unavailable_provider_is_reported_without_its_credential() {
    let api = TestApi::start().await;
    // Only then: the first sync may otherwise have failed before the answer is made of the row.
    let created = create(&api, "carts").await;
    let _work = api.work();
    let path = format!("{INTEGRATIONS}/{}", created["id"].as_str().unwrap());
    let failed = loop {
        let view = api.get(&path).await.ok();
        if view["consecutive_failures"] == 1 {
            break view;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert!(failed["last_error"].as_str().unwrap().contains(CONNECTOR), "{failed}");
    assert!(failed["next_sync_at"].as_str() > created["next_sync_at"].as_str(), "{failed}");
    assert_eq!(failed["last_run"]["has_failed"], true, "{failed}");
    assert!(failed["current_run"].is_null(), "{failed}");
    let connectors = api.get("/connectors?project_key=shop").await.ok();
    assert_eq!(
        (&connectors["items"][0]["failing_count"], &connectors["items"][0]["integration_count"]),
        (&json!(1), &json!(1))
    );
    let jobs = api.get("/jobs?limit=200").await.ok();
    let rows = "select string_agg(c::text, '') from integrations c";
    for said in [failed.to_string(), connectors.to_string(), jobs.to_string(), api.text(rows).await]
    {
        assert!(!said.contains(TRACKER_TOKEN), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn integrations_require_a_maintainer() {
    let api = TestApi::start().await;
    let created = create(&api, "carts").await;
    let path = format!("{INTEGRATIONS}/{}", created["id"].as_str().unwrap());
    let token = newcomer(&api, "mo").await;
    api.put("/projects/shop/members/mo", json!({ "role": "member" })).await.ok();
    let member = api.with(&token);
    let body = json!({ "connector": CONNECTOR, "resource": "more" });
    assert_eq!(member.post(INTEGRATIONS, body.clone()).await.status, 403);
    for path in [INTEGRATIONS, path.as_str(), "/connectors?project_key=shop"] {
        assert_eq!(member.get(path).await.status, 403, "{path}");
    }
    assert_eq!(member.get("/connectors").await.status, 403);
    assert_eq!(member.delete(&path).await.status, 403);
    api.put("/projects/shop/members/mo", json!({ "role": "maintainer" })).await.ok();
    assert_eq!(member.post(INTEGRATIONS, body).await.status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purge_decides_about_the_data_of_an_integration() {
    let api = TestApi::start().await;
    for (purge, title, left) in [(false, "Carts hang", "1"), (true, "", "0")] {
        let created = create(&api, "carts").await;
        let id = created["id"].as_str().unwrap();
        api.execute("delete from tasks").await;
        api.execute("delete from docs").await;
        let imported = format!(
            "insert into tasks (id, project_id, external_id, title, status, integration_id)
             select gen_random_uuid(), p.id, 'SHOP-1', 'Carts hang', 'open', '{id}' from projects p;
             insert into docs (id, project_id, source, doc_id, title, content, integration_id)
             select gen_random_uuid(), p.id, 'tracker:redmine', 'SHOP-1', 'T', 'said', '{id}' from \
             projects p"
        );
        for statement in imported.split(';') {
            api.execute(statement).await;
        }
        assert_eq!(api.get(&format!("{INTEGRATIONS}/{id}")).await.ok()["task_count"], 1);
        let removed = api.delete(&format!("{INTEGRATIONS}/{id}?purge={purge}")).await;
        assert_eq!(removed.status, 204, "{}", removed.body);
        assert_eq!(api.text("select title from tasks").await, title);
        assert_eq!(api.text("select count(*)::text from docs").await, left);
    }
}
