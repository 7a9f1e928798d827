//! A search without a chat model.

use futures::future::join_all;
use mc_contract::operations::rag::RagSearchResponse;
use mc_rag::RagSettings;
use mc_store::testing;
use serde_json::json;

use crate::fixture::{Fixture, has, paths, request, search, warned};

const QUESTION: &str = "Where is the reminder delay of an abandoned basket computed?";

/// Returns the match that computes the delay.
fn delay(response: &RagSearchResponse) -> &mc_contract::operations::rag::RagMatch {
    response.matches.iter().find(|found| found.snippet.contains("self.hours * 60")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_found_with_its_origin() {
    let fixture = Fixture::new().await;
    let response = fixture.search(json!({"rawQuery": QUESTION})).await;
    assert_eq!((response.repo_owner.as_str(), response.repo_name.as_str()), ("local", "shop"));
    let found = delay(&response);
    assert_eq!(found.path, "src/cart/trigger.rs");
    let metadata = &found.metadata;
    assert_eq!((metadata.repo_owner.as_str(), metadata.repo_name.as_str()), ("local", "shop"));
    assert_eq!(metadata.generated_by_sub_query[0], QUESTION);
    assert!(metadata.line_end > 10 && metadata.chunk_hash.is_some());
    let lines = usize::try_from(metadata.line_end - metadata.line_start + 1).unwrap();
    assert_eq!(found.snippet.split('\n').count(), lines);
    assert!(!response.no_results && !response.context_missing);
    assert_eq!(response.applied_modules[0], "profile:default");
    assert!(response.augmented_prompt.contains("self.hours * 60"));
    assert_eq!((&response.summary, &response.raw_answer), (&None, &None));
    let warned = response
        .warnings
        .iter()
        .any(|warning| warning.starts_with("left out without a chat model: query.rewrite"));
    assert!(warned, "{:?}", response.warnings);
}

/// A program with many languages has its texts so often that they would fill the answer.
#[tokio::test(flavor = "multi_thread")]
async fn texts_in_many_languages_do_not_hide_the_code() {
    let fixture = Fixture::empty().await;
    let text = |language: &str| {
        format!("{language}:\n  verify: \"Verify the one-time password of {language} users\"\n")
    };
    let mut files = vec![(
        "src/login.rs".to_owned(),
        "/// Checks the code.\npub fn check(code: &str) -> bool {\n    password(code)\n}\n"
            .to_owned(),
    )];
    let regions = ('A'..='Z').flat_map(|first| ['A', 'E', 'I', 'O'].map(|second| (first, second)));
    let languages = regions.map(|(first, second)| format!("de-{first}{second}"));
    files.extend(languages.map(|name| (format!("config/locales/{name}.yml"), text(&name))));
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    fixture.index("login", &files).await;
    let query = "How is the one-time password of users verified?";
    let response = fixture.search(json!({"rawQuery": query})).await;
    let found = paths(&response);
    assert!(found.contains(&"src/login.rs"), "{found:?}");
    let is_translation = |path: &&&str| path.starts_with("config/locales/");
    assert_eq!(found.iter().filter(is_translation).count(), 1, "{found:?}");
    let query = "Which translations of the one-time password of users exist?";
    let response = fixture.search(json!({"rawQuery": query})).await;
    let found = paths(&response);
    assert!(found.iter().filter(is_translation).count() > 5, "{found:?}");
}

/// A search may use several connections. If it waited for a second one while it has the first, it
/// would wait until its time is over.
#[tokio::test(flavor = "multi_thread")]
async fn searches_at_once_need_only_one_connection() {
    let fixture = Fixture::new().await;
    fixture.add_commit("Compute the reminder delay").await;
    let context = fixture.context_with_connections(1).await;
    let query = "Where is the reminder delay computed and how is retry_payment limited?";
    let searches = (0..16).map(|_| search(&context, json!({"rawQuery": query})));
    for response in join_all(searches).await {
        let response = response.unwrap();
        assert!(!warned(&response, "searched in part"), "{:?}", response.warnings);
        assert!(response.matches.iter().any(|found| found.path == "src/cart/trigger.rs"));
    }
    context.search.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_that_is_late_costs_no_match() {
    let fixture = Fixture::new().await;
    fixture.add_commit("Compute the reminder delay of an abandoned basket").await;
    let lock = "lock table history_commit_files in access exclusive mode";
    let held = testing::hold(fixture.database.url(), lock).await.unwrap();
    let settings = RagSettings { time_budget_ms: 4_000, ..RagSettings::default() };
    let request = request(&json!({"rawQuery": QUESTION}));
    // The history keeps one, and the rest of the search needs no third.
    let context = fixture.context_with_connections(2).await;
    let response = mc_rag::search(&context, &settings, &request).await.unwrap();
    assert!(warned(&response, "history: late"), "{:?}", response.warnings);
    assert_eq!(delay(&response).path, "src/cart/trigger.rs");
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn original_query_is_searched_with_its_parts() {
    let fixture = Fixture::new().await;
    let query = "Where is the reminder delay computed and how is retry_payment limited?";
    let response = fixture.search(json!({"rawQuery": query})).await;
    assert!(has(&response, "retrieval.multi-query"), "{:?}", response.applied_modules);
    let by = |path: &str| {
        let found = response.matches.iter().find(|found| found.path == path).unwrap();
        found.metadata.generated_by_sub_query.clone()
    };
    let retry = by("src/payments/retry.rs");
    assert!(retry.contains(&query.to_owned()), "{retry:?}");
    assert!(retry.contains(&"how is retry_payment limited".to_owned()), "{retry:?}");
    let fields = json!({"rawQuery": query, "multiQuery": {"enabled": false}});
    let response = fixture.search(fields).await;
    assert!(!has(&response, "retrieval.multi-query"));
    let only = |found: &mc_contract::operations::rag::RagMatch| {
        found.metadata.generated_by_sub_query == [query]
    };
    assert!(response.matches.iter().all(only));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_around_a_match_is_added() {
    let fixture = Fixture::new().await;
    for strategy in ["LINEAR", "PARENT_SYMBOL"] {
        let fields = json!({
            "rawQuery": QUESTION, "topK": 1, "neighborStrategy": strategy,
            "disabledModules": ["retrieval.multi-query"],
        });
        let response = fixture.search(fields).await;
        assert!(has(&response, "post.neighbor-expand"), "{strategy}: {response:?}");
        let origin = &response.matches[0].metadata;
        assert_eq!(origin.neighbor_of_span_hash, None);
        let neighbors: Vec<_> = response.matches[1..].iter().collect();
        assert!(!neighbors.is_empty());
        for neighbor in neighbors {
            let of = neighbor.metadata.neighbor_of_span_hash.as_ref();
            assert_eq!(of, Some(&origin.span_hash));
            assert_eq!(neighbor.path, response.matches[0].path);
        }
        let is_noted = response.warnings.iter().any(|warning| warning.contains("LINEAR"));
        assert_eq!(is_noted, strategy == "LINEAR");
    }
    let fields = json!({"rawQuery": QUESTION, "topK": 1, "neighborStrategy": "OFF"});
    let response = fixture.search(fields).await;
    assert!(!has(&response, "post.neighbor-expand"));
    assert_eq!(response.matches.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn context_stays_within_its_limit() {
    let fixture = Fixture::new().await;
    let fields = json!({"rawQuery": QUESTION, "maxContextTokens": 200});
    let response = fixture.search(fields).await;
    assert!(has(&response, "post.context-budget"));
    assert!((1..=200).contains(&response.context_tokens), "{}", response.context_tokens);
    let places = response.matches.iter().skip_while(|found| found.metadata.in_context);
    let places: Vec<_> = places.collect();
    assert!(!places.is_empty(), "{response:?}");
    for place in places {
        assert!(!place.metadata.in_context && place.snippet.is_empty(), "{place:?}");
        let lines = (place.metadata.line_start, place.metadata.line_end);
        let head = format!("{}:{}-{}", place.path, lines.0, lines.1);
        assert!(!response.augmented_prompt.contains(&head), "{}", response.augmented_prompt);
    }
    let fields = json!({
        "rawQuery": QUESTION, "maxContextTokens": 200, "disabledModules": ["post.context-budget"],
    });
    let response = fixture.search(fields).await;
    assert!(!has(&response, "post.context-budget"));
    assert!(response.context_tokens > 200, "{}", response.context_tokens);
    assert!(response.matches.iter().all(|found| found.metadata.in_context));
}

#[tokio::test(flavor = "multi_thread")]
async fn heuristic_rerank_lowers_tests() {
    let fixture = Fixture::new().await;
    let fields = |disabled: &[&str]| {
        json!({
            "rawQuery": "assert payment is retried retry_payment", "disabledModules": disabled,
            "neighborStrategy": "OFF", "filters": {"languages": ["rs"]},
        })
    };
    let without = fixture.search(fields(&["post.heuristic-rerank"])).await;
    assert!(!has(&without, "post.heuristic-rerank"));
    let score = |response: &RagSearchResponse| {
        let test = response.matches.iter().find(|found| found.path == "tests/retry_test.rs");
        test.unwrap().score
    };
    let with = fixture.search(fields(&[])).await;
    assert!(score(&with) < score(&without), "{} {}", score(&with), score(&without));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_searched_unless_switched_off() {
    let fixture = Fixture::new().await;
    let question = "How do I run the tests of the web shop?";
    let response = fixture.search(json!({"rawQuery": question})).await;
    assert!(has(&response, "retrieval.documents"), "{:?}", response.applied_modules);
    let readme = response.matches.iter().find(|found| found.path == "README.md").unwrap();
    assert_eq!(readme.metadata.repo_name, "shop");
    assert!(readme.metadata.line_start >= 1);
    let fields = json!({"rawQuery": question, "disabledModules": ["retrieval.documents"]});
    let response = fixture.search(fields).await;
    assert!(!has(&response, "retrieval.documents") && !paths(&response).contains(&"README.md"));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_restrict_the_matches() {
    let fixture = Fixture::new().await;
    let all = fixture.search(json!({"rawQuery": "retry_payment"})).await;
    assert!(paths(&all).contains(&"tests/retry_test.rs"));
    let fields = json!({"rawQuery": "retry_payment", "filters": {"pathGlob": "src/**"}});
    let response = fixture.search(fields).await;
    assert!(!paths(&response).is_empty());
    assert!(paths(&response).iter().all(|path| path.starts_with("src/")), "{response:?}");
    let fields = json!({"rawQuery": "tests", "filters": {"languages": ["markdown", "nolang"]}});
    let response = fixture.search(fields).await;
    assert!(!paths(&response).is_empty(), "{response:?}");
    assert!(paths(&response).iter().all(|path| *path == "README.md"), "{response:?}");
    assert!(response.warnings.iter().any(|warning| warning.starts_with("filters.languages")));
    for (tags, expected) in [(&["test"][..], "tests/"), (&["src", "vendor"], "src/")] {
        let fields = json!({"rawQuery": "retry_payment", "filters": {"tags": tags}});
        let response = fixture.search(fields).await;
        assert!(!paths(&response).is_empty());
        assert!(paths(&response).iter().all(|path| path.starts_with(expected)), "{response:?}");
    }
    let fields = json!({"rawQuery": "retry_payment", "filters": {"pathGlob": "["}});
    let error = crate::fixture::search(&fixture.context(), fields).await.unwrap_err();
    assert_eq!(mc_domain::Classified::field(&error).as_deref(), Some("filters.pathGlob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn history_names_what_a_follow_up_leaves_out() {
    let fixture = Fixture::new().await;
    let history = json!([{"role": "user", "content": "What does Trigger::reminder_delay do?"}]);
    let fields = json!({"rawQuery": "and who limits it", "history": history});
    let response = fixture.search(fields.clone()).await;
    assert!(has(&response, "query.compression"), "{:?}", response.applied_modules);
    assert!(paths(&response).contains(&"src/cart/trigger.rs"));
    let mut fields = fields;
    fields["disabledModules"] = json!(["query.compression"]);
    let response = fixture.search(fields).await;
    assert!(!has(&response, "query.compression"));
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_of_the_question_is_masked() {
    let fixture = Fixture::new().await;
    let secret = ["ghp", "_0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let query = format!("retry_payment fails with token {secret}");
    let response = fixture.search(json!({"rawQuery": query})).await;
    assert!(!response.matches.is_empty());
    assert!(!serde_json::to_string(&response).unwrap().contains(&secret));
}
