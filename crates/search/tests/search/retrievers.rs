//! Keyword and vector retriever within one time budget.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, FutureExt};
use mc_domain::Classified;
use mc_search::{ActiveModel, ActiveModels, Options, Query, Step};
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::vectors;

use crate::support::{Fake, Fixture, TIMEOUT, embed_backlog, passage};

#[tokio::test(flavor = "multi_thread")]
async fn hanging_retriever_is_skipped_and_reported() {
    let fixture = Fixture::new().await;
    let node = fixture.node_with(Arc::new(Fake::silent())).await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    // The search returns although the embedder never responds.
    let options = Options { time_budget: Duration::from_secs(2), ..Options::default() };
    let outcome = mc_search::search(&node.context, &fixture.query("kestrel"), &options)
        .await
        .expect("a search");
    assert_eq!(outcome.degraded, ["vector: late"]);
    assert_eq!(outcome.hits[0].passage.indexed.location, "a.md");
    assert!(outcome.hits[0].keyword.is_some_and(|score| score > 0.0));
    assert_eq!(outcome.hits[0].similarity, None);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_provider_is_reported() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    let outcome = node.find(&fixture.query("anything")).await;
    assert_eq!(outcome.degraded, ["vector: embedding provider unavailable"]);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_find_passages_without_a_common_word() {
    let fixture = Fixture::new().await;
    let node =
        fixture.node_with(Arc::new(Fake::constant("north", [1.0, 0.0, 0.0]))).await.ready().await;
    fixture
        .write(
            "a",
            &[passage("near.md", "the bird floats"), passage("far.md", "invoices are sent")],
        )
        .await;
    // Numbers that are exact in 16 bits.
    embed_backlog(&node, |text| {
        if text.contains("bird") { vec![4.0, 3.0, 0.0] } else { vec![0.0, 0.0, 1.0] }
    })
    .await;
    let outcome = node.find(&fixture.query("kestrel")).await;
    assert!(outcome.degraded.is_empty(), "{:?}", outcome.degraded);
    let first = &outcome.hits[0];
    assert_eq!(first.passage.indexed.location, "near.md");
    assert!((first.similarity.expect("a cosine") - 0.8).abs() < 1e-4);
    assert_eq!(first.keyword, None);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn previous_model_is_used_until_the_new_one_is_complete() {
    let fixture = Fixture::new().await;
    let node =
        fixture.node_with(Arc::new(Fake::constant("old", [1.0, 0.0, 0.0]))).await.ready().await;
    fixture.write("a", &[passage("a.md", "the bird floats")]).await;
    embed_backlog(&node, |_| vec![1.0, 0.0, 0.0]).await;
    let previous = node.context.models.current();
    let new: Arc<Fake> = Arc::new(Fake::constant("new", [0.0, 1.0, 0.0]));
    let model = vectors::register_model(fixture.store(), "new", 3, &serde_json::json!({}))
        .await
        .expect("a model");
    let models =
        ActiveModels::new(ActiveModel { model, embedder: new, is_remote: false }, Some(previous));
    let mut context = node.context.clone();
    context.models = models.clone();
    let options = Options { time_budget: TIMEOUT, ..Options::default() };

    let query = fixture.query("kestrel");
    let during = mc_search::search(&context, &query, &options).await.expect("a search");
    assert_eq!(during.hits.len(), 1, "found by the old vector");
    models.retire_previous();
    let after = mc_search::search(&context, &query, &options).await.expect("a search");
    assert!(after.hits.is_empty(), "the new model has no vector of it");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_previous_model_delays_no_results_of_the_current_one() {
    let fixture = Fixture::new().await;
    let node =
        fixture.node_with(Arc::new(Fake::constant("new", [1.0, 0.0, 0.0]))).await.ready().await;
    fixture.write("a", &[passage("a.md", "the bird floats")]).await;
    embed_backlog(&node, |_| vec![1.0, 0.0, 0.0]).await;
    let model = vectors::register_model(fixture.store(), "old", 3, &serde_json::json!({}))
        .await
        .expect("a model");
    let embedder = Arc::new(Fake::silent());
    let previous = ActiveModel { model, embedder, is_remote: false };
    let mut context = node.context.clone();
    context.models = ActiveModels::new(node.context.models.current(), Some(previous));
    let options = Options { time_budget: Duration::from_secs(2), ..Options::default() };
    let outcome =
        mc_search::search(&context, &fixture.query("kestrel"), &options).await.expect("a search");
    assert_eq!(outcome.hits.len(), 1);
    let [degraded] = &outcome.degraded[..] else { panic!("{:?}", outcome.degraded) };
    let expected = "vector: the previous embedding model old is unavailable";
    assert!(degraded.starts_with(expected), "{degraded}");
    node.stop().await;
}

/// A multilingual model gets the query itself; others know English only.
#[tokio::test(flavor = "multi_thread")]
async fn russian_query_is_translated_for_english_models_only() {
    for (model, is_translated) in [("all-minilm-l6-v2-int8", true), ("BAAI/bge-m3", false)] {
        let fixture = Fixture::new().await;
        let (sender, receiver) = std::sync::mpsc::channel();
        let respond = move |text: &str| {
            sender.send(text.to_owned()).expect("a receiver");
            future::ready(Ok(vec![1.0, 0.0, 0.0])).boxed()
        };
        let fake = Arc::new(Fake::new(model, Box::new(respond)));
        let node = fixture.node_with(fake).await.ready().await;
        node.find(&fixture.query("ошибка базы данных")).await;
        let texts: Vec<String> = receiver.try_iter().collect();
        let has_russian = |text: &String| text.contains("ошибка");
        assert!(!texts.is_empty());
        assert_eq!(!texts.iter().any(has_russian), is_translated, "{model}: {texts:?}");
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_query_is_rejected_with_its_field() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await;
    let error = mc_search::search(&node.context, &fixture.query(" \n"), &Options::default())
        .await
        .expect_err("an empty query");
    assert_eq!(error.field().as_deref(), Some("query"));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_projects_change_no_score() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers"), passage("b.md", "an owl")]).await;
    let query = fixture.query("kestrel hovers over the owl");
    let scores = async || -> Vec<_> {
        node.find(&query).await.hits.into_iter().map(|hit| hit.keyword).collect()
    };
    let alone = scores().await;
    let stranger = Fixture { project: fixture.database.project("other").await.id, ..fixture };
    let many: Vec<_> = (0..50).map(|n| passage(&format!("{n}.md"), "kestrel kestrel")).collect();
    stranger.write("b", &many).await;
    assert_eq!(scores().await, alone);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_without_a_step_ignores_its_hits() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    let found = async |disabled: &[Step]| {
        let disabled_steps = disabled.iter().copied().collect();
        let options = Options { time_budget: TIMEOUT, disabled_steps, ..Options::default() };
        mc_search::search(&node.context, &fixture.query("kestrel"), &options).await
    };
    assert_eq!(found(&[]).await.expect("a search").hits.len(), 1);
    for disabled in [&[Step::Body, Step::Window, Step::Path][..], &[Step::Keyword, Step::Exact]] {
        assert!(found(disabled).await.expect("a search").hits.is_empty(), "{disabled:?}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn vector_search_in_the_hnsw_index_respects_a_filter() {
    let fixture = Fixture::new().await;
    let node =
        fixture.node_with(Arc::new(Fake::constant("north", [1.0, 0.0, 0.0]))).await.ready().await;
    let tagged = |place: &str, text: &str, tag: &str| NewPassage {
        tags: vec![tag.into()],
        ..passage(place, text)
    };
    let deleted = [tagged("deleted.md", "a bird that was", "animals")];
    fixture.write("deleted", &deleted).await;
    fixture
        .write(
            "all",
            &[
                tagged("near.md", "the bird floats", "animals"),
                tagged("other.md", "the bird of the invoice", "money"),
                tagged("far.md", "invoices are sent", "animals"),
            ],
        )
        .await;
    embed_backlog(&node, |text| {
        if text.contains("bird") { vec![0.8, 0.6, 0.0] } else { vec![0.0, 0.0, 1.0] }
    })
    .await;
    let store = fixture.store();
    let model = &vectors::models(store).await.expect("models")[0];
    for flat in vectors::list_flat_vectors(store, model, 0).await.expect("flat vectors") {
        vectors::create_hnsw_index(store, model, &flat).await.expect("an index");
        vectors::move_into_hnsw(store, model, &flat, i64::MAX).await.expect("a move");
    }
    fixture.write("deleted", &[]).await;
    let tags = vec!["animals".to_owned()];
    let animals = PassageFilter { tags, ..fixture.filter() };
    let outcome = node.find(&Query::text("kestrel", animals)).await;
    assert!(outcome.degraded.is_empty(), "{:?}", outcome.degraded);
    let found: Vec<_> =
        outcome.hits.iter().map(|hit| hit.passage.indexed.location.as_str()).collect();
    assert_eq!(found, ["near.md", "far.md"]);
    node.stop().await;
}
