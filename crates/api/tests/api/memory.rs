//! `/save`, `/recall`, `/feedback` and `/records`.

use serde_json::{Value, json};

use crate::client::TestApi;

const UNITS: &str = "The delay is nil when delay_unit and trigger_delay_unit differ";

fn note(content: &str) -> Value {
    json!({"project_key": "shop", "kind": "gotcha", "content": content,
           "scope": ["cart_sessions"], "tags": ["unit"], "task_external_id": "CS-214"})
}

fn recall() -> Value {
    json!({"project_key": "shop", "query": "why is the trigger delay nil?",
           "repo_path": "app/services/cart_sessions", "time_budget_ms": 20_000})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_record_is_recalled_and_its_use_counted() {
    let api = TestApi::start().await;
    let saved = api.post("/save", note(UNITS)).await.ok();
    assert_eq!(saved["outcome"], "created");
    let id = &saved["id"];

    let bundle = api.post("/recall", recall()).await.ok();
    assert_eq!(&bundle["gotchas"][0]["id"], id, "{bundle}");
    assert_eq!(bundle["degraded"], json!([]));
    let used = json!({"bundle_id": bundle["bundle_id"], "used": [id, bundle["bundle_id"]]});
    let recorded = api.post("/feedback", used).await.ok();
    assert_eq!(recorded, json!({"recorded": 1, "unknown": [bundle["bundle_id"]]}));

    let record = api.get(&format!("/records/{}", id.as_str().unwrap())).await.ok();
    assert_eq!(record["use_count"], 1);
    let task = api.get("/tasks/CS-214?project_key=shop").await.ok();
    assert_eq!(task["record_ids"], json!([id]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recalled_items_have_their_source() {
    let api = TestApi::start().await;
    let mut named = note(UNITS);
    named["source"] = json!("https://wiki.example.org/x/7");
    api.post("/save", named).await.ok();
    let other = "The delay of a session is written once, when the visitor leaves the checkout";
    assert_eq!(api.post("/save", note(other)).await.ok()["outcome"], "created");
    let bundle = api.post("/recall", recall()).await.ok();
    assert_eq!(bundle["gotchas"][0]["source"], "https://wiki.example.org/x/7", "{bundle}");
    let query = json!({"project_key": "shop", "query": "when is the delay of a session written"});
    let bundle = api.post("/recall", query).await.ok();
    let first = &bundle["gotchas"][0];
    assert_eq!((&first["text"], first.get("source")), (&json!(other), None), "{bundle}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_save_reports_the_record_it_merged_into() {
    let api = TestApi::start().await;
    let first = api.post("/save", note(UNITS)).await.ok();
    let again = api.post("/save", note(&format!("{UNITS}."))).await.ok();
    assert_eq!(again["outcome"], "merged");
    assert_eq!(again["id"], first["id"]);
    assert_eq!(again["message"], format!("merged into {}", first["id"].as_str().unwrap()));
    let listed = api.get("/records?project_key=shop").await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_without_content_is_rejected() {
    let api = TestApi::start().await;
    let answer = api.post("/save", note("ok")).await.ok();
    assert_eq!(answer["outcome"], "rejected");
    assert!(!answer["reason"].as_str().unwrap().is_empty());
    assert_eq!(api.get("/records?project_key=shop").await.ok()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_record_is_no_longer_recalled() {
    let api = TestApi::start().await;
    let saved = api.post("/save", note(UNITS)).await.ok();
    let path = format!("/records/{}", saved["id"].as_str().unwrap());
    assert!(api.delete(&path).await.status.is_success());
    let bundle = api.post("/recall", recall()).await.ok();
    assert_eq!(bundle["gotchas"], json!([]));
    assert!(!bundle["reason"].as_str().unwrap().is_empty());
    assert_eq!(api.delete(&path).await.fault(404), "id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_save_or_recall_names_its_field_and_writes_nothing() {
    let api = TestApi::start().await;
    for (field, change) in [
        ("content", json!({"content": ""})),
        ("content", json!({"content": "a\u{0}b"})),
        ("kind", json!({"kind": "hunch"})),
        ("tags[1]", json!({"tags": ["a", ""]})),
        ("ttl", json!({"ttl": "2001-01-01"})),
        ("ttl", json!({"ttl": "tomorrow"})),
        ("quality.usefulness", json!({"quality": {"usefulness": 2}})),
        ("citations[0].file", json!({"citations": [{"file": "../etc/passwd"}]})),
        ("dialog_id", json!({"dialog_id": "019a0000-0000-7000-8000-000000000009"})),
        ("supersedes", json!({"supersedes": "019a0000-0000-7000-8000-000000000009"})),
        ("supersedes", json!({"supersedes": "not-an-id"})),
        ("meta.url", json!({"meta": {"url": "javascript:alert(1)"}})),
        ("meta.steps", json!({"meta": {"steps": ["one"]}})),
        ("meta.patch_ref", json!({"meta": {"patch_ref": "abc123"}})),
        ("hunch", json!({"hunch": 1})),
    ] {
        let mut request = note(UNITS);
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = api.post("/save", request).await;
        assert_eq!(answer.fault(answer.status.as_u16()), field, "{change}: {}", answer.body);
        assert!(answer.status.is_client_error(), "{change}");
    }
    for (field, change) in [
        ("limit_tokens", json!({"limit_tokens": -1})),
        ("limit_tokens", json!({"limit_tokens": 1e9})),
        ("time_budget_ms", json!({"time_budget_ms": 20_001})),
        ("repo_path", json!({"repo_path": "/etc"})),
        ("symbols[0]", json!({"symbols": ["a\u{0}"]})),
        ("project_key", json!({"project_key": "nowhere"})),
    ] {
        let mut request = recall();
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = api.post("/recall", request).await;
        assert_eq!(answer.fault(answer.status.as_u16()), field, "{change}: {}", answer.body);
        assert!(answer.status.is_client_error(), "{change}");
    }
    assert_eq!(api.get("/records?project_key=shop").await.ok()["items"], json!([]));
    assert_eq!(api.get("/tasks/CS-214?project_key=shop").await.fault(404), "external_id");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn save_reports_its_changes_and_keeps_the_whole_text() {
    let api = TestApi::start().await;
    let said = "The carrier drops a connection after a minute of silence. We raised every timeout \
        we \
                found, which only hid it. Send a heartbeat every 30 seconds from the client \
                instead.";
    let saved = api.post("/save", note(&format!("Hi team,\n\n{said}"))).await.ok();
    assert_eq!((&saved["kept"], &saved["left_out"]), (&json!("whole"), &json!(["Hi team,"])));
    let record = api.get(&format!("/records/{}", saved["id"].as_str().unwrap())).await.ok();
    assert_eq!(record["content"], said);
    assert_eq!(record.get("ttl"), None, "a gotcha does not age");

    let long =
        format!("{}The last word is kept.", "One more day passed at the carrier. ".repeat(200));
    let saved = api.post("/save", note(&long)).await.ok();
    assert_eq!(saved["kept"], "document", "{saved}");
    let id = saved["document_id"].as_str().unwrap();
    let opened = api.get(&format!("/documents/lookup?project_key=shop&id={id}")).await.ok();
    assert!(opened["content"].as_str().unwrap().starts_with(&long), "all of it");
    let record = api.get(&format!("/records/{}", saved["id"].as_str().unwrap())).await.ok();
    assert_eq!(record["document_id"], saved["document_id"]);

    let refused = api.post("/save", note(&"word ".repeat(8_000))).await;
    assert_eq!(refused.fault(refused.status.as_u16()), "content");
    assert!(
        refused.body.to_string().contains("40000") && refused.body.to_string().contains("32000")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn save_reports_a_contradicted_record_and_how_to_replace_it() {
    let api = TestApi::start().await;
    let says = |seconds: u8| {
        note(&format!("The export of the shop times out after {seconds} seconds at the proxy"))
    };
    let old = api.post("/save", says(30)).await.ok();
    let new = api.post("/save", says(90)).await.ok();
    assert_eq!((&new["outcome"], &new["contradicts"]["id"]), (&json!("created"), &old["id"]));
    let hint = new["contradicts"]["hint"].as_str().unwrap();
    assert!(hint.contains("supersedes") && hint.contains(old["id"].as_str().unwrap()), "{hint}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_opened_after_a_recall_counts_as_used() {
    let api = TestApi::start().await;
    let saved = api.post("/save", note(UNITS)).await.ok();
    let path = format!("/records/{}", saved["id"].as_str().unwrap());
    let seen = "select concat(count(*), ' ', min(kind)) from bundle_uses";
    api.get(&path).await.ok();
    api.post("/recall", recall()).await.ok();
    for _ in 0..2 {
        api.get(&path).await.ok();
    }
    api.state.memory.finish().await;
    assert_eq!(api.text(seen).await, "1 opened");
}
