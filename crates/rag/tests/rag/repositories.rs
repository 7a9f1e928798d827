//! Which repositories are searched.

use std::sync::Arc;

use mc_contract::operations::rag::RagSearchGlobalRequest;
use mc_domain::{Classified, ErrorKind, Policy};
use mc_rag::{Error, RagSettings, search_global};
use serde_json::{Value, json};

use crate::fixture::{Fixture, paths, search, shop};

fn parser() -> Vec<(&'static str, String)> {
    let code = "/// Parses the reminder delay of a basket from its text.\n\
                pub fn parse_delay(text: &str) -> Option<u64> {\n    text.parse().ok()\n}\n";
    vec![("src/parser.rs", code.to_owned())]
}

fn global(fields: Value) -> RagSearchGlobalRequest {
    serde_json::from_value(fields).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_that_was_indexed_last_is_the_default() {
    let fixture = Fixture::new().await;
    fixture.index("parser", &parser()).await;
    let response = fixture.search(json!({"rawQuery": "the reminder delay of a basket"})).await;
    assert_eq!(response.repo_name, "parser");
    assert_eq!(paths(&response), ["src/parser.rs"]);
    let fields = json!({
        "rawQuery": "the reminder delay of a basket", "repoOwner": "local", "repoName": "shop",
    });
    let response = fixture.search(fields).await;
    assert_eq!(response.repo_name, "shop");
    assert!(!response.matches.is_empty() && !paths(&response).contains(&"src/parser.rs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_with_an_open_run_is_not_ready() {
    let fixture = Fixture::new().await;
    let parser = fixture.index("parser", &parser()).await;
    fixture.enqueue(&parser).await;
    let response = fixture.search(json!({"rawQuery": "delay"})).await;
    assert_eq!(response.repo_name, "shop");
    let fields = json!({"rawQuery": "delay", "repoOwner": "local", "repoName": "parser"});
    let response = fixture.search(fields).await;
    assert_eq!(paths(&response), ["src/parser.rs"]);
    let is_named = |warning: &String| warning.contains("repo:local/parser is incomplete");
    assert!(response.warnings.iter().any(is_named), "{:?}", response.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_repository_is_an_error_that_says_what_to_do() {
    let fixture = Fixture::empty().await;
    let error = search(&fixture.context(), json!({"rawQuery": "x"})).await.unwrap_err();
    assert!(matches!(error, Error::NoReadyRepository), "{error}");
    let fields = json!({"rawQuery": "x", "repoOwner": "local", "repoName": "none"});
    let error = search(&fixture.context(), fields).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("local/none"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn global_search_merges_the_repositories_of_all_projects() {
    let fixture = Fixture::new().await;
    let other = fixture.database.project("other").await.id;
    fixture.index_in(other, "parser", &parser()).await;
    let contexts =
        [fixture.context(), fixture.context_of(other, Arc::default(), &Policy::default())];
    let request = global(json!({"rawQuery": "the reminder delay of a basket"}));
    let response = search_global(&contexts, &RagSettings::default(), &request).await.unwrap();
    assert_eq!((response.repo_owner.as_str(), response.repo_name.as_str()), ("local", "parser"));
    let names: Vec<_> =
        response.matches.iter().map(|found| found.metadata.repo_name.as_str()).collect();
    assert!(names.contains(&"shop") && names.contains(&"parser"), "{names:?}");
    let place = "local/parser src/parser.rs:";
    assert!(response.augmented_prompt.contains(place), "{}", response.augmented_prompt);

    let labels = json!({
        "rawQuery": "delay", "displayRepoOwner": "acme", "displayRepoName": "everything",
    });
    let response =
        search_global(&contexts[..1], &RagSettings::default(), &global(labels)).await.unwrap();
    let owner_and_name = (response.repo_owner.as_str(), response.repo_name.as_str());
    assert_eq!(owner_and_name, ("acme", "everything"));
    assert!(response.matches.iter().all(|found| found.metadata.repo_name == "shop"));
}

#[tokio::test(flavor = "multi_thread")]
async fn global_search_leaves_out_what_is_not_ready() {
    let fixture = Fixture::empty().await;
    let shop = fixture.index("shop", &shop()).await;
    fixture.index("parser", &parser()).await;
    fixture.enqueue(&shop).await;
    let request = global(json!({"rawQuery": "the reminder delay of a basket"}));
    let contexts = [fixture.context()];
    let response = search_global(&contexts, &RagSettings::default(), &request).await.unwrap();
    assert_eq!(paths(&response), ["src/parser.rs"]);
    let warned = response.warnings.iter().any(|w| w.contains("repo:local/shop is not ready"));
    assert!(warned, "{:?}", response.warnings);
    let empty = search_global(&[], &RagSettings::default(), &request).await;
    assert!(matches!(empty, Err(Error::NoReadyRepository)));
}
