//! `/handles`: the short names of a bundle's items, which only its recipient can resolve; and
//! `/passages` and `/paths`.

use axum::body::Body;
use http::Request;
use mc_api::ApiState;
use mc_memory::MemoryContext;
use mc_store::testing;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::accounts::newcomer;
use crate::client::{SECRET, TestApi};

const UNITS: &str = "The delay is nil when delay_unit and trigger_delay_unit differ";

async fn saved(api: &TestApi, project: &str, content: &str) -> Value {
    let note = json!({"project_key": project, "kind": "gotcha", "content": content});
    api.post("/save", note).await.ok()["id"].clone()
}

fn question(project: &str) -> Value {
    json!({"project_key": project, "query": "why is the trigger delay nil when the units differ, \
        according to the docs?",
           "time_budget_ms": 20_000})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_follow_the_order_of_the_bundle() {
    let api = TestApi::start().await;
    saved(&api, "shop", UNITS).await;
    saved(
        &api,
        "shop",
        "The trigger delay is nil for a shop whose delay settings were never saved",
    )
    .await;
    let handbook = json!({"doc_id": "1", "title": "Trigger delay",
        "content": "# Trigger delay\n\nWhy the trigger delay is nil when the units differ."});
    let sent = json!({"project_key": "shop", "source": "wiki", "documents": [handbook]});
    api.post("/ingest/docs", sent).await.ok();
    for _ in 0..5 {
        let bundle = api.post("/recall", question("shop")).await.ok();
        let sections = ["gotchas", "facts", "few_shots", "links", "dialogs", "code"];
        let shown = sections.map(|section| bundle[section].as_array().unwrap().clone()).concat();
        let handles: Vec<&str> =
            shown.iter().map(|item| item["handle"].as_str().unwrap()).collect();
        for letter in ["m", "d", "t", "c"] {
            let of_it = handles.iter().filter(|handle| handle.starts_with(letter));
            for (handle, number) in of_it.zip(1..) {
                assert_eq!(**handle, format!("{letter}{number}"), "{handles:?}");
            }
        }
        assert!(handles.contains(&"m1") && handles.contains(&"d1"), "{bundle}");
        // The bundle is written after its answer.
        let named = api.get("/handles?project_key=shop").await.ok();
        assert_eq!(named["bundle_id"], bundle["bundle_id"]);
        assert_eq!(named["known"], json!(handles));
        assert_eq!(named["items"][0]["record_id"], bundle["gotchas"][0]["id"]);
        let document =
            named["items"].as_array().unwrap().iter().find(|item| item["handle"] == "d1");
        assert_eq!(document.unwrap()["doc_id"], bundle["links"][0]["id"]);
    }
    let nothing =
        json!({"project_key": "shop", "query": "zzqx flurbish", "time_budget_ms": 20_000});
    let empty = api.post("/recall", nothing).await.ok();
    assert_eq!(empty["gotchas"], json!([]), "{empty}");
    let asked = api.get("/handles?project_key=shop&handles=m1,c7").await.ok();
    assert_eq!(
        (&asked["items"].as_array().unwrap().len(), &asked["unknown"]),
        (&1, &json!(["c7"]))
    );
    assert!(
        asked["items"][0]["record_id"].is_string(),
        "an empty bundle has no handles to go by: {asked}"
    );
    for handles in ["M1", "m0", "m1,,m2", "m1000", "x1", "m1,%20m2"] {
        let answer = api.get(&format!("/handles?project_key=shop&handles={handles}")).await;
        assert_eq!(answer.fault(400), "handles", "{handles}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_resolve_only_for_their_user_and_project() {
    let api = TestApi::start().await;
    saved(&api, "shop", UNITS).await;
    let ann = newcomer(&api, "ann").await;
    api.put("/projects/shop/members/ann", json!({"role": "admin"})).await.ok();
    api.post("/projects", json!({"key": "bank"})).await.ok();
    let bundle = api.post("/recall", question("shop")).await.ok()["bundle_id"].clone();
    let bundle = bundle.as_str().unwrap();
    let ours = format!("/handles?project_key=shop&bundle_id={bundle}");
    assert_eq!(api.get(&ours).await.ok()["known"], json!(["m1"]));
    let ann = api.with(&ann);
    assert_eq!(
        ann.get(&ours).await.fault(404),
        "bundle_id",
        "an administrator of the project, too"
    );
    assert_eq!(ann.get("/handles?project_key=shop").await.fault(404), "bundle_id");
    let elsewhere = format!("/handles?project_key=bank&bundle_id={bundle}");
    assert_eq!(api.get(&elsewhere).await.fault(404), "bundle_id");
    assert_eq!(api.get("/handles?project_key=bank").await.fault(404), "bundle_id");
    // Hers are hers, however many others recall after her.
    let hers = ann.post("/recall", question("shop")).await.ok()["bundle_id"].clone();
    api.post("/recall", question("shop")).await.ok();
    assert_eq!(ann.get("/handles?project_key=shop").await.ok()["bundle_id"], hers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookup_waits_for_a_bundle_that_another_node_writes() {
    let api = TestApi::start().await;
    saved(&api, "shop", UNITS).await;
    let other = MemoryContext::new(api.state.memory.search.clone(), api.encryptor());
    let mut state: ApiState = api.state.clone();
    state.memory = other;
    let other = mc_api::router(state);
    let lock = "lock table bundles in share row exclusive mode";
    let lock_guard = testing::hold(api.database.url(), lock).await.unwrap();
    let bundle = api.post("/recall", question("shop")).await.ok()["bundle_id"].clone();
    let uri = format!("/handles?project_key=shop&bundle_id={}", bundle.as_str().unwrap());
    let request = Request::get(uri).header("authorization", format!("Bearer {SECRET}"));
    let asked = tokio::spawn(other.oneshot(request.body(Body::empty()).unwrap()));
    testing::until_a_session_waits(api.service()).await.unwrap();
    assert!(!asked.is_finished(), "it is not written yet");
    drop(lock_guard);
    assert_eq!(asked.await.unwrap().unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feedback_waits_for_a_bundle_that_another_node_writes() {
    let api = TestApi::start().await;
    let id = saved(&api, "shop", UNITS).await;
    let mut state: ApiState = api.state.clone();
    state.memory = MemoryContext::new(api.state.memory.search.clone(), api.encryptor());
    let other = mc_api::router(state);
    let sent = |bundle: &Value| {
        let body = json!({"bundle_id": bundle, "used": [id]}).to_string();
        let request = Request::post("/feedback")
            .header("authorization", format!("Bearer {SECRET}"))
            .header("content-type", "application/json");
        tokio::spawn(other.clone().oneshot(request.body(Body::from(body)).unwrap()))
    };
    let lock = "lock table bundles in share row exclusive mode";
    let lock_guard = testing::hold(api.database.url(), lock).await.unwrap();
    let bundle = api.post("/recall", question("shop")).await.ok()["bundle_id"].clone();
    let asked = sent(&bundle);
    // What was handed out long ago, if ever, is not waited for; by then the other was looked for as
    // well.
    let old = json!("019a0000-0000-7000-8000-000000000001");
    for _ in 0..3 {
        assert_eq!(sent(&old).await.unwrap().unwrap().status(), 404);
    }
    assert!(!asked.is_finished(), "it is not written yet");
    drop(lock_guard);
    assert_eq!(asked.await.unwrap().unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_its_sole_proposer_withdraws_a_proposal() {
    let api = TestApi::start().await;
    let scopes = ["memory:read", "memory:write"];
    let mut bots = Vec::new();
    for login in ["bot", "rob"] {
        api.post("/users", json!({"login": login, "is_agent": true})).await.ok();
        api.put(&format!("/projects/shop/members/{login}"), json!({"role": "agent"})).await.ok();
        let token = json!({"name": "b", "scopes": scopes, "agent_login": login});
        bots.push(api.post("/tokens", token).await.ok()["token"].as_str().unwrap().to_owned());
    }
    let (bot, rob) = (api.with(&bots[0]), api.with(&bots[1]));
    let note = |content: &str| json!({"project_key": "shop", "kind": "fact", "content": content});
    let proposed = async |by: &crate::client::As<'_>, content: &str| {
        let answer = by.post("/save", note(content)).await.ok();
        assert_eq!(answer["outcome"], "proposed", "{answer}");
        format!("/records/{}", answer["id"].as_str().unwrap())
    };
    let own = proposed(&bot, UNITS).await;
    assert_eq!(rob.delete(&own).await.status, 403, "another's");
    assert_eq!(bot.delete(&own).await.status, 204);
    assert_eq!(api.get("/proposals?project_key=shop").await.ok()["items"], json!([]));
    assert_eq!(bot.delete(&own).await.fault(404), "id", "it is gone");
    let shared =
        proposed(&bot, "The nightly exporter closes the ledger before it reads orders").await;
    assert_eq!(
        proposed(&rob, "The nightly exporter closes the ledger before it reads orders").await,
        shared
    );
    assert_eq!(bot.delete(&shared).await.status, 403, "others propose it, too");
    assert_eq!(api.delete(&shared).await.fault(409), "id", "who decides gives a reason");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signal_may_be_an_error_line_or_a_stack_trace() {
    let api = TestApi::start().await;
    saved(&api, "shop", UNITS).await;
    let line = "2026-11-20T10:11:12Z ERROR NoMethodError: the delay is nil when delay_unit and \
        trigger_delay_unit \
                differ, in /srv/app/releases/77/app/services/cart_sessions/setting.rb:12";
    for signal in
        [line.to_owned(), format!("{line}\n{}", "    at step (/srv/app/x.rb:1)\n".repeat(60))]
    {
        let asked = json!({"project_key": "shop", "signals": [signal], "time_budget_ms": 20_000});
        let bundle = api.post("/recall", asked).await.ok();
        assert_eq!(bundle["gotchas"][0]["handle"], "m1", "{bundle}");
    }
    let long = json!({"project_key": "shop", "signals": ["x".repeat(2_001)]});
    assert_eq!(api.post("/recall", long).await.fault(400), "signals[0]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn language_aliases_work_and_unknown_names_are_reported() {
    let api = TestApi::start().await;
    let search =
        |language: &str| json!({"project_key": "shop", "query": "x", "language": language});
    for language in ["golang", "C++", ".rs", "ts"] {
        api.post("/search", search(language)).await.ok();
    }
    let refused = api.post("/search", search("rubby")).await;
    assert!(refused.body["detail"].as_str().unwrap().contains("ruby"), "{}", refused.body);
    assert_eq!(refused.fault(400), "language");
    let refused = api.get("/records?project_key=absent").await;
    let hint = refused.body["hint"].as_str().unwrap();
    assert!(hint.starts_with("use one of yours: shop, or create it"), "{hint}");
    let ann = newcomer(&api, "ann").await;
    let refused = api.with(&ann).get("/records?project_key=absent").await;
    assert!(!refused.body.to_string().contains("shop"), "hers are none: {}", refused.body);
}
