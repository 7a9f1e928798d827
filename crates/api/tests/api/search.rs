//! `/search`.

use mc_sanitizer::mask;
use mc_store::files::{self, NewChunk, NewFile, NewSymbol};
use mc_store::passages::NewPassage;
use mc_store::{projects, repositories};
use serde_json::{Value, json};

use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_is_found_by_its_summary_with_an_explanation() {
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
    assert_eq!(hit["explain"]["retrievers"][0]["rank"], 1);
    assert_eq!(found["pending_vectors"], 1);

    let condensed = json!({"project_key": "shop", "messages": [
        {"role": "user", "content": "Which cache does the storefront use for banners?"},
        {"role": "assistant", "content": "The storefront keeps banners in Varnish for ten \
            minutes."}]});
    api.post("/dialogs", condensed).await.ok();
    let query = json!({"project_key": "shop", "query": "Varnish banners"});
    assert_eq!(api.post("/search", query).await.ok()["results"][0]["source"], "dialog");

    let elsewhere =
        json!({"project_key": "shop", "query": "trigger_delay_unit", "sources": ["code"]});
    assert_eq!(api.post("/search", elsewhere).await.ok()["results"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definition_named_in_a_query_is_returned_with_its_lines() {
    let api = TestApi::start().await;
    index(
        &api,
        "src/core.rs",
        &[("MAX_ANSWER", 12, 12), ("CoreClient", 26, 29), ("CoreClient::send", 70, 99)],
    )
    .await;
    let search = async |query: &str| -> Value {
        let query = json!({"project_key": "shop", "query": query, "time_budget_ms": 5000});
        api.post("/search", query).await.ok()["results"][0].clone()
    };
    let matched = |symbol: &str, start: usize, end: usize| {
        json!({"symbol": symbol,
        "line_start": start, "line_end": end})
    };
    assert_eq!(search("CoreClient").await["matched_symbol"], matched("CoreClient", 26, 29));
    assert_eq!(
        search("what does CoreClient hold").await["matched_symbol"],
        matched("CoreClient", 26, 29)
    );
    assert_eq!(
        search("coreclient.send").await["matched_symbol"],
        matched("CoreClient::send", 70, 99)
    );
    let described = search("line 13 of the file").await;
    assert_eq!((&described["location"], described.get("matched")), (&json!("src/core.rs"), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recalled_code_has_its_trust_level() {
    let api = TestApi::start().await;
    index(&api, "src/core.rs", &[("CoreClient", 26, 29)]).await;
    let asked = json!({"project_key": "shop", "query": "what does CoreClient hold",
                       "symbols": ["CoreClient"], "time_budget_ms": 20_000});
    for trust in ["imported", "untrusted"] {
        api.execute(&format!("update code_chunks set trust = '{trust}'")).await;
        let bundle = api.post("/recall", asked.clone()).await.ok();
        assert_eq!(bundle["code"][0]["trust"], trust, "{bundle}");
    }
}

/// Indexes a file of one chunk, lines 11 to 90, as the indexer does.
async fn index(api: &TestApi, path: &str, symbols: &[(&str, i32, i32)]) {
    let store = api.database.store();
    let key = mc_domain::ProjectKey::parse("shop").unwrap();
    let project = projects::find(store, mc_domain::UserId::LOCAL, &key).await.unwrap().unwrap();
    let mut tx = store.begin().await.unwrap();
    let repository =
        repositories::ensure(&mut tx, project.id, "acme", "shop", "/srv/shop").await.unwrap();
    tx.commit().await.unwrap();
    let text: Vec<String> = (11..=90).map(|line| format!("line {line}")).collect();
    let chunk = NewChunk {
        trust: mc_domain::Trust::Imported,
        passage: NewPassage {
            title: mask(symbols[0].0).text,
            location: mask(path).text,
            symbols: symbols.iter().map(|(name, _, _)| (*name).to_owned()).collect(),
            scope: Vec::new(),
            tags: Vec::new(),
            language: "rust".to_owned(),
            text: mask(&text.join("\n")).text,
            ..NewPassage::default()
        },
        chunk_index: 0,
        line_start: 11,
        line_end: 90,
        overlap_lines: 0,
        chunk_hash: vec![1; 32],
        span_hash: vec![1; 32],
        summary: "a file".to_owned(),
        parent_symbol: None,
    };
    let file = NewFile {
        path: path.to_owned(),
        content_hash: vec![1; 32],
        size_bytes: 900,
        language: "rust".to_owned(),
        line_count: 90,
        chunker_version: 1,
        masking_fingerprint: 0,
    };
    let symbol = |(name, line_start, line_end): &(&str, i32, i32)| NewSymbol {
        name: (*name).to_owned(),
        kind: "struct".to_owned(),
        line_start: *line_start,
        line_end: *line_end,
        span_hash: vec![1; 32],
    };
    let symbols: Vec<_> = symbols.iter().map(symbol).collect();
    let mut tx = store.begin().await.unwrap();
    let id = files::put(&mut tx, &repository, &file, "abc").await.unwrap();
    files::put_code(&mut tx, &repository, id, &[chunk], &symbols).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_search_names_its_field() {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_linked_to_a_named_issue_come_first() {
    let api = TestApi::start().await;
    api.post("/users", json!({"login": "bot", "is_agent": true})).await.ok();
    api.put("/projects/shop/members/bot", json!({"role": "agent"})).await.ok();
    let token =
        json!({"name": "b", "scopes": ["memory:read", "memory:write"], "agent_login": "bot"});
    let token = api.post("/tokens", token).await.ok()["token"].as_str().unwrap().to_owned();
    let bot = api.with(&token);
    let of_task = |content: &str| {
        json!({"project_key": "shop", "kind": "fact", "content": content, "tags": ["cart"],
               "task_external_id": "CS-214"})
    };
    let linked = api.post("/save", of_task("The cart forgets its coupon at midnight")).await.ok();
    let proposed = bot.post("/save", of_task("Coupons are kept by the pricing service")).await.ok();
    assert_eq!(proposed["outcome"], "proposed", "{proposed}");
    let text = "Invoices are printed by a batch of its own after CS-999 was closed, not CS 214";
    let other = json!({"project_key": "shop", "kind": "fact", "content": text});
    let other = api.post("/save", other).await.ok();

    let asked = |fields: Value| {
        let mut body = json!({"project_key": "shop", "time_budget_ms": 20_000});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    let ids = |found: &Value| -> Vec<Value> {
        found["results"].as_array().unwrap().iter().map(|hit| hit["record_id"].clone()).collect()
    };
    let find = async |fields| api.post("/search", asked(fields)).await.ok();
    for alone in [json!({"query": "CS-214"}), json!({"task_external_id": "CS-214"})] {
        let found = find(alone).await;
        assert_eq!(ids(&found), [linked["id"].clone()], "{found}");
        let hit = &found["results"][0];
        assert_eq!((&hit["linked"], &hit["score"]), (&json!(true), &json!(1.0)), "{hit}");
        assert_eq!(hit.get("proposed"), None, "{hit}");
    }
    let found = find(json!({"query": "who prints invoices, see CS-214"})).await;
    assert_eq!(ids(&found)[..2], [linked["id"].clone(), other["id"].clone()], "{found}");
    assert_eq!(found["results"][1].get("linked"), None, "{found}");
    assert_eq!(ids(&find(json!({"query": "CS-999"})).await), [other["id"].clone()], "named whole");
    for parts in ["CS-99", "#999", "acme/cs#999"] {
        assert_eq!(
            ids(&find(json!({"query": parts})).await),
            [] as [Value; 0],
            "{parts} is no word"
        );
    }
    for filter in [
        json!({"query": "CS-214", "sources": ["code"]}),
        json!({"query": "CS-214", "kinds": ["rule"]}),
        json!({"query": "CS-214", "tags": ["other"]}),
        json!({"query": "CS-214", "path": "app/**"}),
        json!({"query": "CS-214", "language": "ruby"}),
    ] {
        assert_eq!(ids(&find(filter.clone()).await), [] as [Value; 0], "{filter}");
    }
    let tagged = find(json!({"query": "CS-214", "sources": ["memory"], "tags": ["cart"]})).await;
    assert_eq!(ids(&tagged), [linked["id"].clone()]);

    // Only its proposer finds a proposal for the task.
    let found = bot.post("/search", asked(json!({"task_external_id": "CS-214"}))).await.ok();
    assert_eq!(ids(&found), [linked["id"].clone(), proposed["id"].clone()], "{found}");
    let own = &found["results"][1];
    assert_eq!((&own["proposed"], &own["trust"]), (&json!(true), &json!("untrusted")), "{own}");

    let nothing = api.post("/search", json!({"project_key": "shop"})).await;
    assert_eq!(nothing.fault(400), "query");
}
