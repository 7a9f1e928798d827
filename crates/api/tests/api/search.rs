//! `/search`.

use serde_json::json;

use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_dialog_is_found_by_what_it_came_to_with_an_explanation() {
    let api = TestApi::start().await;
    let distilled = "The delay was nil because delay_unit and trigger_delay_unit differed.";
    let dialog = json!({"project_key": "shop", "distilled": distilled,
        "messages": [{"role": "user", "content": "Why is the delay nil?"}]});
    api.post("/dialogs", dialog).await.ok();

    let query = json!({"project_key": "shop", "query": "trigger_delay_unit", "explain": true});
    let found = api.post("/search", query).await.ok();
    let hit = &found["results"][0];
    assert_eq!(hit["text"], distilled);
    assert_eq!(hit["source"], "dialog");
    assert_eq!(hit["explain"]["legs"][0]["rank"], 1);
    assert_eq!(found["pending_vectors"], 1);

    let condensed = json!({"project_key": "shop", "messages": [
        {"role": "user", "content": "Which cache does the storefront use for banners?"},
        {"role": "assistant", "content": "The storefront keeps banners in Varnish for ten minutes."}]});
    api.post("/dialogs", condensed).await.ok();
    let query = json!({"project_key": "shop", "query": "Varnish banners"});
    assert_eq!(api.post("/search", query).await.ok()["results"][0]["source"], "dialog");

    let elsewhere =
        json!({"project_key": "shop", "query": "trigger_delay_unit", "sources": ["code"]});
    assert_eq!(api.post("/search", elsewhere).await.ok()["results"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_search_is_refused_with_its_field() {
    let api = TestApi::start().await;
    for (field, change) in [
        ("query", json!({"query": "  "})),
        ("query", json!({"query": "a\u{0}b"})),
        ("query", json!({"query": "x".repeat(10_000)})),
        ("limit", json!({"limit": -1})),
        ("limit", json!({"limit": 101})),
        ("sources[0]", json!({"sources": ["wiki"]})),
        ("kinds[1]", json!({"kinds": ["fact", "hunch"]})),
        ("tags[0]", json!({"tags": [""]})),
        ("path", json!({"path": "src/["})),
        ("time_budget_ms", json!({"time_budget_ms": 0})),
        ("explain", json!({"explain": "yes"})),
        ("depth", json!({"depth": 3})),
        ("project_key", json!({"project_key": "a b"})),
    ] {
        let mut request = json!({"project_key": "shop", "query": "delay"});
        let members = change.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(members);
        assert_eq!(api.post("/search", request).await.fault(400), field, "{change}");
    }
}
