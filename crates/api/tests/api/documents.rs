//! `/ingest/docs` and `/documents`.

use serde_json::{Value, json};

use crate::client::TestApi;
use crate::quarantine::ORDER;

const TIMING: &str = "---\ntags: [adr]\nscope: [cart]\n---\n# Decision\n\nDelays carry their unit.";

fn ingest(documents: &Value) -> Value {
    json!({"project_key": "shop", "source": "confluence", "documents": documents})
}

fn timing(content: &str) -> Value {
    json!({"doc_id": "12", "title": "ADR Timing Rules", "content": content,
           "url": "https://wiki.example.org/x/12", "tags": ["timing"]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn document_is_stored_opened_by_id_title_or_url_and_replaced() {
    let api = TestApi::start().await;
    let kept = api.post("/ingest/docs", ingest(&json!([timing(TIMING)]))).await.ok();
    assert_eq!((&kept["created"], &kept["unchanged"]), (&json!(1), &json!(0)));
    let id = kept["documents"][0]["id"].as_str().unwrap();

    for name in [
        format!("id={id}"),
        "title=adr%20timing%20RULES".to_owned(),
        "url=https%3A%2F%2Fwiki.example.org%2Fx%2F12".to_owned(),
    ] {
        let document = api.get(&format!("/documents/lookup?project_key=shop&{name}")).await.ok();
        assert_eq!(document["id"], id, "{name}");
        assert_eq!(document["scope"], json!(["cart"]));
        let tags = document["tags"].as_array().unwrap();
        assert!(tags.contains(&json!("adr")) && tags.contains(&json!("timing")), "{tags:?}");
    }

    let again = api.post("/ingest/docs", ingest(&json!([timing(TIMING)]))).await.ok();
    assert_eq!(again["documents"][0]["outcome"], "unchanged");
    let changed = timing("# Decision\n\nDelays are milliseconds.");
    let changed = api.post("/ingest/docs", ingest(&json!([changed]))).await.ok();
    assert_eq!(changed["documents"][0], json!({"doc_id": "12", "id": id, "outcome": "updated"}));
    let query = json!({"project_key": "shop", "query": "milliseconds", "sources": ["doc"]});
    assert_eq!(api.post("/search", query).await.ok()["results"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opened_document_shows_its_trust() {
    let api = TestApi::start().await;
    let policy = json!({"sanitizer": {"prompt_injection": "mask"}});
    api.put_if("/projects/shop/policy", "*", policy).await.ok();
    let turned = json!({"doc_id": "13", "title": "Escalation",
                        "url": "https://wiki.example.org/x/13",
                        "content": format!("# Escalation\n\n{ORDER}")});
    let kept = api.post("/ingest/docs", ingest(&json!([timing(TIMING), turned]))).await.ok();
    let id = kept["documents"][1]["id"].as_str().unwrap();

    for name in [
        format!("id={id}"),
        "title=Escalation".to_owned(),
        "url=https%3A%2F%2Fwiki.example.org%2Fx%2F13".to_owned(),
    ] {
        let document = api.get(&format!("/documents/lookup?project_key=shop&{name}")).await.ok();
        assert_eq!((&document["id"], &document["trust"]), (&json!(id), &json!("untrusted")));
    }
    let page = api.get("/documents?project_key=shop").await.ok();
    let trusts: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|document| &document["trust"]).collect();
    assert_eq!(trusts, ["imported", "untrusted"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_listed_in_pages_without_content() {
    let api = TestApi::start().await;
    let documents: Vec<_> = ["1", "2", "3"]
        .map(|id| json!({"doc_id": id, "title": format!("Guide {id}"), "content": TIMING}))
        .into();
    api.post("/ingest/docs", ingest(&json!(documents))).await.ok();
    let mut titles = Vec::new();
    let mut path = "/documents?project_key=shop&limit=2".to_owned();
    loop {
        let page = api.get(&path).await.ok();
        for document in page["items"].as_array().unwrap() {
            assert!(document.get("content").is_none(), "{document}");
            titles.push(document["title"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/documents?project_key=shop&limit=2&cursor={next}");
    }
    assert_eq!(titles, ["Guide 1", "Guide 2", "Guide 3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passage_of_a_document_has_its_current_line_numbers() {
    let api = TestApi::start().await;
    let guide = |above: &str| {
        let content = format!("# Guide\n\n{above}## Kestrels\n\nThe kestrel hovers.\n");
        json!([{"doc_id": "g", "title": "Guide", "content": content}])
    };
    let query = json!({"project_key": "shop", "query": "kestrel hovers", "sources": ["doc"]});
    let mut found = Vec::new();
    for above in ["Words.\n\n", "Words.\n\nMore words.\n\n"] {
        api.post("/ingest/docs", ingest(&guide(above))).await.ok();
        let hit = api.post("/search", query.clone()).await.ok()["results"][0].take();
        found.push((hit["id"].clone(), hit["line_start"].clone(), hit["line_end"].clone()));
    }
    assert_eq!((&found[0].1, &found[0].2), (&json!(5), &json!(7)), "{found:?}");
    assert_eq!((&found[1].1, &found[1].2), (&json!(7), &json!(9)), "{found:?}");
    assert_eq!(found[0].0, found[1].0, "the same passage, with its vector");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_of_a_thread_is_found_by_the_message_before() {
    let api = TestApi::start().await;
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let thread = json!([{"doc_id": "SHOP-7", "title": "Import of price lists", "messages": [
        {"author": "Ann", "text": "Which row does the kestrel import stop at?"},
        {"author": "Bo", "sent_at": "2026-03-05T09:07:00Z", "text": "At 4,096, always."},
        {"author": "Ann", "text": format!("Thanks. My token is {key}.")},
    ]}]);
    let kept = api.post("/ingest/docs", ingest(&thread)).await.ok();
    let query = json!({"project_key": "shop", "query": "kestrel import row March 2026 Bo"});
    let results = api.post("/search", query).await.ok()["results"].take();
    let texts: Vec<_> = results.as_array().unwrap().iter().map(|r| &r["text"]).collect();
    let answer = texts.iter().position(|text| *text == "Bo: At 4,096, always.");
    assert!(answer.is_some_and(|at| at < 2), "{texts:?}");

    let id = kept["documents"][0]["id"].as_str().unwrap();
    let opened = api.get(&format!("/documents/lookup?project_key=shop&id={id}")).await.ok();
    let content = opened["content"].as_str().unwrap();
    assert!(content.starts_with("Ann: Which row"), "{content}");
    assert!(!format!("{results}{content}").contains(&key), "{content}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn document_has_either_content_or_messages() {
    let api = TestApi::start().await;
    let cases = [
        (json!({"doc_id": "1", "title": "None"}), "documents[0].content"),
        (
            json!({"doc_id": "1", "title": "Both", "content": "a", "messages": [{"text": "b"}]}),
            "documents[0].messages",
        ),
        (json!({"doc_id": "1", "title": "Empty", "messages": []}), "documents[0].messages"),
        (
            json!({"doc_id": "1", "title": "Blank", "messages": [{"text": "a"}, {"text": " "}]}),
            "documents[0].messages[1].text",
        ),
    ];
    for (document, field) in cases {
        let answer = api.post("/ingest/docs", ingest(&json!([document]))).await;
        assert_eq!(answer.fault(400), field);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_document_rejects_its_whole_batch() {
    let api = TestApi::start().await;
    let batch = json!([timing(TIMING), {"doc_id": "13", "title": "Empty", "content": ""}]);
    let answer = api.post("/ingest/docs", ingest(&batch)).await;
    assert_eq!(answer.fault(400), "documents[1].content");
    let answer = api.get("/documents/lookup?project_key=shop&title=ADR%20Timing%20Rules").await;
    assert_eq!(answer.fault(404), "title");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn title_lookup_falls_back_to_the_external_id() {
    let api = TestApi::start().await;
    let guide = json!({"doc_id": "docs/GUIDE.md", "title": "How to begin", "content": TIMING});
    let named = json!({"doc_id": "2", "title": "docs/guide.md", "content": TIMING});
    api.post("/ingest/docs", ingest(&json!([guide]))).await.ok();
    let open = "/documents/lookup?project_key=shop&title=docs/GUIDE.md";
    assert_eq!(api.get(open).await.ok()["title"], "How to begin");
    api.post("/ingest/docs", ingest(&json!([named]))).await.ok();
    assert_eq!(api.get(open).await.ok()["title"], "docs/guide.md", "a title goes first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_title_error_suggests_similar_titles() {
    let api = TestApi::start().await;
    api.post("/ingest/docs", ingest(&json!([timing(TIMING)]))).await.ok();
    let answer = api.get("/documents/lookup?project_key=shop&title=Timing%20of%20carts").await;
    assert_eq!(answer.fault(404), "title");
    assert_eq!(answer.body["near"], json!(["ADR Timing Rules"]), "{}", answer.body);
    assert!(!answer.body["hint"].to_string().contains("ADR"), "no stored text: {}", answer.body);
    let answer = api.get("/documents/lookup?project_key=shop").await;
    assert_eq!(answer.fault(400), "title");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_is_masked_in_every_field_of_a_document() {
    let api = TestApi::start().await;
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let document = json!({"doc_id": "1", "title": format!("Deploy {key}"), "tags": [key],
        "content": format!("# Deploy\n\nThe token is {key}.")});
    let kept = api.post("/ingest/docs", ingest(&json!([document]))).await.ok();
    let id = kept["documents"][0]["id"].as_str().unwrap();
    let document = api.get(&format!("/documents/lookup?project_key=shop&id={id}")).await.ok();
    assert!(!document.to_string().contains(&key), "{document}");
    assert!(document["content"].as_str().unwrap().contains("[secret:"), "{document}");
}
