//! Which repositories are searched.

use std::sync::Arc;

use mc_contract::operations::rag::{RagSearchGlobalRequest, RagSearchResponse};
use mc_domain::{Classified, ErrorKind, Policy, UserId};
use mc_rag::{Error, RagSettings, search_global};
use serde_json::{Value, json};

use crate::fixture::{Fixture, paths, search, shop, warned};

fn parser() -> Vec<(&'static str, String)> {
    let code = "/// Parses the reminder delay of a basket from its text.\n\
                pub fn parse_delay(text: &str) -> Option<u64> {\n    text.parse().ok()\n}\n";
    vec![("src/parser.rs", code.to_owned())]
}

/// Only a hanging part exceeds this time.
fn settings() -> RagSettings {
    RagSettings { time_budget_ms: 30_000, ..RagSettings::default() }
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

/// Notes that the local administrator fetched a repository some seconds ago.
async fn fetched(fixture: &Fixture, name: &str, seconds: u32) {
    let sql = format!(
        "insert into workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name,
             kind, is_editable, state, fetched_at, expires_at)
         select gen_random_uuid(), r.project_id, '{}', r.id, r.owner, r.name, 'clone', true,
             'ready', now() - interval '{seconds} seconds', now() + interval '1 day'
         from repositories r where r.name = '{name}'",
        UserId::LOCAL
    );
    mc_store::testing::execute(fixture.database.url(), &sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_that_the_caller_fetched_last_comes_first() {
    let fixture = Fixture::new().await;
    let parser = fixture.index("parser", &parser()).await;
    fetched(&fixture, "parser", 20).await;
    fetched(&fixture, "shop", 10).await;
    let response = fixture.search(json!({"rawQuery": "delay"})).await;
    assert_eq!(response.repo_name, "shop");
    assert!(!warned(&response, "was searched, and not"), "{:?}", response.warnings);
    fetched(&fixture, "parser", 0).await;
    assert_eq!(fixture.search(json!({"rawQuery": "delay"})).await.repo_name, "parser");
    fixture.enqueue(&parser).await;
    let response = fixture.search(json!({"rawQuery": "delay"})).await;
    assert_eq!(response.repo_name, "shop");
    let expected =
        "repo:local/shop was searched, and not repo:local/parser, which you fetched last";
    assert!(warned(&response, expected), "{:?}", response.warnings);
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
    let is_named = |warning: &String| {
        warning.contains("of repo:local/parser may be missing: an index run is open")
    };
    assert!(response.warnings.iter().any(is_named), "{:?}", response.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_repository_is_an_error_that_says_what_to_do() {
    let fixture = Fixture::empty().await;
    let error = search(&fixture.context(), json!({"rawQuery": "x"})).await.unwrap_err();
    assert!(matches!(error, Error::NoReadyRepository(_)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("there is none; fetch one"), "{error}");
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
    let labels =
        |response: &RagSearchResponse| (response.repo_owner.clone(), response.repo_name.clone());
    let response = search_global(&contexts, &settings(), &request).await.unwrap();
    assert_eq!(labels(&response), ("global".to_owned(), "global".to_owned()));
    let names: Vec<_> =
        response.matches.iter().map(|found| found.metadata.repo_name.as_str()).collect();
    assert!(names.contains(&"shop") && names.contains(&"parser"), "{names:?}");
    let place = "local/parser src/parser.rs:";
    assert!(response.augmented_prompt.contains(place), "{}", response.augmented_prompt);

    for (name, seconds) in [("parser", 20), ("shop", 10)] {
        fetched(&fixture, name, seconds).await;
    }
    let response = search_global(&contexts, &settings(), &request).await.unwrap();
    assert_eq!(labels(&response), ("local".to_owned(), "shop".to_owned()), "fetched last");

    let chosen = json!({
        "rawQuery": "delay", "displayRepoOwner": "acme", "displayRepoName": "everything",
    });
    let response = search_global(&contexts[..1], &settings(), &global(chosen)).await.unwrap();
    assert_eq!(labels(&response), ("acme".to_owned(), "everything".to_owned()));
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
    let response = search_global(&contexts, &settings(), &request).await.unwrap();
    assert_eq!(paths(&response), ["src/parser.rs"]);
    let expected = "repo:local/shop was left out: an index run is open";
    assert!(warned(&response, expected), "{:?}", response.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn global_search_without_a_ready_repository_says_why() {
    let fixture = Fixture::empty().await;
    let shop = fixture.index("shop", &shop()).await;
    fixture.enqueue(&shop).await;
    for (contexts, reason) in
        [(vec![fixture.context()], "an index run is open"), (vec![], "there is none")]
    {
        let request = global(json!({"rawQuery": "delay", "profile": "deep"}));
        let response = search_global(&contexts, &settings(), &request).await.unwrap();
        assert!(response.no_results && response.context_missing && response.matches.is_empty());
        let named = response.no_results_reason.unwrap();
        assert!(named.contains(reason), "{named}");
        let labels = (response.repo_owner.as_str(), response.repo_name.as_str());
        assert_eq!(labels, ("global", "global"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_run_that_changed_the_index_makes_it_partial() {
    let fixture = Fixture::empty().await;
    let shop = fixture.index("shop", &shop()).await;
    let search = async || fixture.search(json!({"rawQuery": "delay"})).await;
    let run = fixture.enqueue(&shop).await;
    let open = search().await;
    assert_eq!((open.repo_name.as_str(), open.mixed), ("shop", true));
    assert!(warned(&open, "an index run is open"), "{:?}", open.warnings);
    let store = fixture.database.store();
    assert!(mc_store::ingest_runs::cancel(store, run, "an admin").await.unwrap());
    let unchanged = search().await;
    let is_whole = |found: &RagSearchResponse| !found.mixed && !warned(found, "may be missing");
    assert!(is_whole(&unchanged), "{:?}", unchanged.warnings);

    // As an interrupted run leaves it.
    let execute = async |sql: &str| {
        mc_store::testing::execute(fixture.database.url(), sql).await.unwrap();
    };
    execute("update repositories set is_partial = true").await;
    let failed = search().await;
    assert!(failed.mixed && warned(&failed, "the last index run failed"), "{:?}", failed.warnings);
    fixture.index("shop", &crate::fixture::shop()).await;
    let whole = search().await;
    assert!(is_whole(&whole), "{:?}", whole.warnings);
    execute("update repositories set failed_files = 1").await;
    let unread = search().await;
    assert!(warned(&unread, "could not read or store some files"), "{:?}", unread.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_repository_hides_none_of_a_small_one() {
    let fixture = Fixture::empty().await;
    let texts = (0..12).map(|number| {
        let code = format!(
            "/// Computes the reminder delay of a basket.\n\
             pub fn reminder_delay_{number}() -> u64 {{\n    {number}\n}}\n"
        );
        (format!("src/delay_{number}.rs"), code)
    });
    let texts: Vec<_> = texts.collect();
    let large: Vec<_> = texts.iter().map(|(path, code)| (path.as_str(), code.clone())).collect();
    fixture.index("large", &large).await;
    let zone = "/// Zone of a basket.\npub fn zone() -> u64 {\n    1\n}\n";
    fixture.index("small", &[("src/zone.rs", zone.into())]).await;
    fixture.add_document("guide", "The reminder delay of a basket is that of its zone.").await;
    let question = "the reminder delay of a basket";
    let fields = json!({
        "rawQuery": question, "repoOwner": "local", "repoName": "small", "topKPerQuery": 1,
        "multiQuery": {"enabled": false},
    });
    let found = fixture.search(fields).await;
    assert_eq!(paths(&found), ["src/zone.rs"]);
    assert!(!warned(&found, "may be missing"), "{:?}", found.warnings);
    // All repositories are searched at once, and a full list may hide matches.
    let expected = "some of repo:local/small, repo:local/large may be missing";
    let fields = |top: usize| json!({"rawQuery": question, "topKPerQuery": top});
    for (top, is_full) in [(1, true), (100, false)] {
        let response = search_global(&[fixture.context()], &settings(), &global(fields(top))).await;
        let warnings = response.unwrap().warnings;
        let is_warned = warnings.iter().any(|warning| warning.contains(expected));
        assert_eq!(is_warned, is_full, "{warnings:?}");
    }
    let request = global(json!({"rawQuery": "reminder_delay_3 zone", "neighborStrategy": "OFF"}));
    let contexts = [fixture.context()];
    let response = search_global(&contexts, &settings(), &request).await.unwrap();
    for found in &response.matches {
        let expected = if found.path == "src/zone.rs" { "small" } else { "large" };
        assert_eq!(found.metadata.repo_name, expected);
    }
    assert!(paths(&response).contains(&"src/zone.rs"), "{:?}", paths(&response));
    assert!(paths(&response).contains(&"src/delay_3.rs"), "{:?}", paths(&response));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_others_hide_none_of_the_only_repository() {
    let fixture = Fixture::new().await;
    for number in 0..4 {
        let text = format!("Run the tests of the web shop. Run the tests, part {number}.");
        fixture.add_document(&format!("guide-{number}"), &text).await;
    }
    let fields = json!({
        "rawQuery": "How do I run the tests of the web shop?", "topKPerQuery": 1,
        "multiQuery": {"enabled": false},
    });
    let response = fixture.search(fields).await;
    assert!(paths(&response).contains(&"README.md"), "{response:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_without_time_are_left_out_with_a_warning() {
    let fixture = Fixture::new().await;
    let other = fixture.database.project("other").await.id;
    fixture.index_in(other, "parser", &parser()).await;
    let contexts =
        [fixture.context(), fixture.context_of(other, Arc::default(), &Policy::default())];
    let request = global(json!({"rawQuery": "delay"}));
    let none = RagSettings { time_budget_ms: 0, ..RagSettings::default() };
    let response = search_global(&contexts, &none, &request).await.unwrap();
    for name in ["shop", "parser"] {
        let expected = format!("repo:local/{name} was left out: no time was left");
        assert!(warned(&response, &expected), "{:?}", response.warnings);
    }
    assert!(response.no_results && response.matches.is_empty());
    assert!(response.no_results_reason.unwrap().contains("no repository could be searched"));
}
