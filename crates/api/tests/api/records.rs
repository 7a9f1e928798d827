//! Edits of records and projects.

use serde_json::{Value, json};

use crate::accounts::newcomer;
use crate::client::TestApi;

async fn save(api: &TestApi, content: &str) -> String {
    let note = json!({"project_key": "shop", "kind": "fact", "content": content});
    api.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_record_is_found_by_its_new_text_and_keeps_its_history() {
    let api = TestApi::start().await;
    let id = save(&api, "Refunds are booked by the nightly ledger job.").await;
    let path = format!("/records/{id}");
    api.post(&format!("{path}/confirm"), json!({"version": 1})).await.ok();
    let edit = json!({
        "version": 1, "content": "Refunds are booked by the hourly clearing job.",
        "tags": ["billing"], "owner": "vera", "ttl": "30d"
    });
    let edited = api.patch(&path, edit.clone()).await.ok();
    assert_eq!((&edited["version"], &edited["trust"]), (&json!(2), &json!("team")));
    assert_eq!((&edited["owner"], &edited["is_ttl_explicit"]), (&json!("vera"), &json!(true)));

    assert_eq!(api.patch(&path, edit).await.fault(409), "version", "it was read before");
    let search = json!({"project_key": "shop", "query": "hourly clearing"});
    let found = api.post("/search", search).await.ok();
    assert!(found.to_string().contains("hourly clearing job"), "{found}");
    let history = api.get(&path).await.ok();
    assert_eq!(history["versions"][0]["content"], "Refunds are booked by the nightly ledger job.");
    assert_eq!(history["versions"][0]["reason"], "edited");

    let reset = json!({"version": 2, "owner": null, "ttl": null});
    let reset = api.patch(&path, reset).await.ok();
    assert_eq!((&reset["owner"], &reset["is_ttl_explicit"]), (&Value::Null, &json!(false)));
    assert_eq!(reset["tags"], json!(["billing"]), "what is absent stays");
    let events = api.get("/audit?project_key=shop&action=record.updated").await.ok();
    assert_eq!(events["items"][0]["details"]["fields"], json!(["owner", "ttl"]), "{events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tags_alone_do_not_end_a_confirmation() {
    let api = TestApi::start().await;
    let id = save(&api, "Refunds are booked by the nightly ledger job.").await;
    api.post(&format!("/records/{id}/confirm"), json!({"version": 1})).await.ok();
    let edited = json!({"version": 1, "tags": ["billing"]});
    let edited = api.patch(&format!("/records/{id}"), edited).await.ok();
    assert_eq!(edited["trust"], "confirmed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_is_filtered_like_a_save() {
    let api = TestApi::start().await;
    let id = save(&api, "Refunds are booked by the nightly ledger job.").await;
    let path = format!("/records/{id}");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let edit = json!({"version": 1, "content": format!("The ledger job uses {token} for now.")});
    let edited = api.patch(&path, edit).await.ok();
    assert!(!edited.to_string().contains(&token), "{edited}");
    let policy = json!({"sanitizer": {"secrets": "quarantine"}});
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
    let edit = json!({"version": 2, "title": format!("uses {token}")});
    assert_eq!(api.patch(&path, edit).await.fault(400), "content");
    assert_eq!(api.get(&path).await.ok()["version"], 2, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_makes_no_second_record_of_the_same_text() {
    let api = TestApi::start().await;
    let known = "Invoices are numbered by country and year.";
    save(&api, known).await;
    let id = save(&api, "Refunds are booked by the nightly ledger job.").await;
    let same = json!({"version": 1, "content": known});
    assert_eq!(api.patch(&format!("/records/{id}"), same).await.fault(409), "content");
    for (field, value) in
        [("content", json!("x".repeat(4_001))), ("ttl", json!("2001-01-01")), ("id", json!(1))]
    {
        let edit = json!({"version": 1, field: value});
        let refused = api.patch(&format!("/records/{id}"), edit).await;
        assert_eq!(refused.fault(400), field, "{}", refused.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_edited_by_those_who_may_save_them() {
    let api = TestApi::start().await;
    let team = save(&api, "Refunds are booked by the nightly ledger job.").await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    api.put("/projects/shop/members/bot", json!({"role": "agent"})).await.ok();
    let scopes = ["memory:read", "memory:write"];
    let made = json!({"name": "bot", "scopes": scopes, "agent_login": "bot"});
    let bot = api.post("/tokens", made).await.ok()["token"].as_str().unwrap().to_owned();
    let bot = api.with(&bot);
    let edit = |version: i32| json!({"version": version, "title": "Refunds and the ledger"});
    assert_eq!(bot.patch(&format!("/records/{team}"), edit(1)).await.status, 403);

    let note = json!({"project_key": "shop", "kind": "fact",
                      "content": "Vouchers expire at midnight of the customer's time zone."});
    let proposed = bot.post("/save", note).await.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/records/{proposed}");
    let edited = bot.patch(&path, edit(1)).await.ok();
    assert_eq!((&edited["visibility"], &edited["version"]), (&json!("proposed"), &json!(2)));
    assert_eq!(api.patch(&path, edit(2)).await.fault(409), "id", "reviewers edit by accepting");
    let ann = newcomer(&api, "ann").await;
    assert_eq!(api.with(&ann).patch(&path, edit(2)).await.fault(404), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_renamed_by_its_administrators_and_keeps_its_key() {
    let api = TestApi::start().await;
    let renamed = api.patch("/projects/shop", json!({"name": "Shop and warehouse"})).await.ok();
    assert_eq!((&renamed["key"], &renamed["name"]), (&json!("shop"), &json!("Shop and warehouse")));
    assert_eq!(api.get("/projects/shop").await.ok()["name"], "Shop and warehouse");
    assert_eq!(api.patch("/projects/shop", json!({"key": "store"})).await.fault(400), "key");
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "maintainer"})).await.ok();
    assert_eq!(api.with(&ann).patch("/projects/shop", json!({"name": "x"})).await.status, 403);
}
