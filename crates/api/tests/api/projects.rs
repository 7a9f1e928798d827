//! `/projects`.

use serde_json::json;

use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_created_once_and_found_by_any_case_of_its_key() {
    let api = TestApi::start().await;
    let created = api.post("/projects", json!({"key": "Bank", "name": "Bank core"})).await;
    assert_eq!(created.status, 201);
    let again = api.post("/projects", json!({"key": "bank"})).await;
    assert_eq!(again.status, 200);
    assert_eq!(created.body, again.body);

    let listed = api.get("/projects").await.ok();
    let keys: Vec<_> = listed["items"].as_array().unwrap().iter().map(|p| &p["key"]).collect();
    assert_eq!(keys, ["bank", "shop"]);
    let overview = api.get("/projects/BANK").await.ok();
    assert_eq!(overview["name"], "Bank core");
    assert_eq!(overview["records"], 0);
    assert_eq!(overview["pending_vectors"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_project_error_says_how_to_create_it() {
    let api = TestApi::start().await;
    let answer = api.post("/search", json!({"project_key": "nowhere", "query": "x"})).await;
    assert_eq!(answer.fault(404), "project_key");
    assert!(answer.body["hint"].as_str().unwrap().contains("POST /projects"), "{}", answer.body);
    assert_eq!(api.get("/projects/nowhere").await.fault(404), "key");
    assert_eq!(api.get("/projects/no%20where").await.fault(400), "key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_project_is_deleted_with_all_its_data() {
    let api = TestApi::start().await;
    api.post("/projects", json!({ "key": "gone" })).await.ok();
    let saved = json!({ "project_key": "gone", "kind": "rule",
        "content": "Invoices are numbered without gaps, the tax office checks it." });
    let saved = api.post("/save", saved).await.ok();
    assert_eq!(api.delete("/projects/gone").await.status, 204);
    assert_eq!(api.get("/projects/gone").await.fault(404), "key");
    let record = format!("/records/{}", saved["id"].as_str().unwrap());
    assert_eq!(api.get(&record).await.status, 404);
    assert_eq!(api.delete("/projects/gone").await.fault(404), "key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_create_a_project() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    let entry = json!({"name": "b", "scopes": ["memory:read", "ingest"], "agent_login": "bot"});
    let token = api.post("/tokens", entry).await.ok()["token"].as_str().unwrap().to_owned();
    let bot = api.with(&token);
    // The response does not reveal whether the key is taken.
    for key in ["own", "shop"] {
        let refused = bot.post("/projects", json!({ "key": key })).await;
        assert_eq!(refused.fault(403), "key");
        let hint = refused.body["hint"].as_str().unwrap();
        for way_out in ["POST /projects", &format!("PUT /projects/{key}/members/")] {
            assert!(hint.contains(way_out), "{hint}");
        }
    }
    assert_eq!(api.get("/projects/own").await.fault(404), "key");

    api.put("/projects/shop/members/bot", json!({"role": "agent"})).await.ok();
    let found = bot.post("/projects", json!({"key": "shop"})).await;
    assert_eq!(found.status, 200, "{}", found.body);
    assert_eq!(found.body["role"], "agent");
}
