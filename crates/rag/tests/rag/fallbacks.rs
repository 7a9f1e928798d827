//! Searches that find nothing.

use serde_json::json;

use crate::fixture::{Fixture, has, paths};

/// Shares no word with the repository.
const NOTHING: &str = "quantum zeppelin";

#[tokio::test(flavor = "multi_thread")]
async fn overview_is_shown_if_nothing_matches() {
    let fixture = Fixture::new().await;
    let response = fixture.search(json!({"rawQuery": NOTHING})).await;
    assert!(has(&response, "fallback.overview-seed"), "{response:?}");
    assert!(response.no_results && !response.context_missing);
    assert!(response.no_results_reason.is_some());
    assert_eq!(paths(&response)[0], "README.md");
    assert!(paths(&response).contains(&"src/main.rs"), "{:?}", paths(&response));
    assert!(response.warnings.iter().any(|w| w.starts_with("fallback.overview-seed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_context_has_no_prompt_unless_it_is_allowed() {
    let fixture = Fixture::new().await;
    let fields = |is_allowed: bool| {
        json!({
            "rawQuery": NOTHING, "allowEmptyContext": is_allowed,
            "disabledModules": ["fallback.overview-seed"],
        })
    };
    let response = fixture.search(fields(false)).await;
    assert!(response.no_results && response.context_missing);
    assert_eq!((response.augmented_prompt.as_str(), response.context_tokens), ("", 0));
    assert!(response.matches.is_empty() && !has(&response, "fallback.overview-seed"));
    let response = fixture.search(fields(true)).await;
    assert!(response.context_missing && response.augmented_prompt.contains(NOTHING));
}

#[tokio::test(flavor = "multi_thread")]
async fn weak_matches_are_shown_if_there_are_no_better_ones() {
    let fixture = Fixture::new().await;
    // Near to `gateway` for the embedder alone.
    let fields = |disabled: &[&str]| json!({"rawQuery": "gatewood", "disabledModules": disabled});
    let response = fixture.search(fields(&[])).await;
    assert!(has(&response, "fallback.low-threshold"), "{response:?}");
    assert!(response.no_results && !response.matches.is_empty());
    let response = fixture.search(fields(&["fallback.low-threshold"])).await;
    assert!(!has(&response, "fallback.low-threshold"));
    assert!(has(&response, "fallback.overview-seed"), "{response:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_that_allows_nothing_is_named_in_the_reason() {
    let fixture = Fixture::new().await;
    let fields = json!({"rawQuery": "retry_payment", "filters": {"pathGlob": "none/**"}});
    let response = fixture.search(fields).await;
    assert!(response.matches.is_empty() && response.context_missing);
    assert!(response.no_results_reason.unwrap().contains("fewer filters"));
}
