//! Two legs, one budget.

use std::sync::Arc;
use std::time::Duration;

use mc_domain::Classified;
use mc_search::{ActiveModel, ActiveModels, Options, Query, Step};
use mc_store::passages::{NewPassage, PassageFilter};
use mc_store::vectors;

use crate::support::{Fake, TIMEOUT, World, embed_backlog, passage};

#[tokio::test(flavor = "multi_thread")]
async fn a_leg_that_never_answers_is_left_out_and_named() {
    let world = World::new().await;
    let node = world.node_with(Arc::new(Fake::silent())).await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    // That this returns at all is the claim; the embedder would be waited for forever.
    let options = Options { time_budget: Duration::from_secs(2), ..Options::default() };
    let outcome = mc_search::search(&node.context, &world.query("kestrel"), &options)
        .await
        .expect("a search");
    assert_eq!(outcome.degraded, ["vector: late"]);
    assert_eq!(outcome.hits[0].passage.indexed.location, "a.md");
    assert!(outcome.hits[0].keyword.is_some_and(|score| score > 0.0));
    assert_eq!(outcome.hits[0].similarity, None);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_is_named() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    let outcome = node.find(&world.query("anything")).await;
    assert_eq!(outcome.degraded, ["vector: embedding provider unavailable"]);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn meaning_finds_what_shares_no_word() {
    let world = World::new().await;
    let node =
        world.node_with(Arc::new(Fake::constant("north", [1.0, 0.0, 0.0]))).await.ready().await;
    world
        .write(
            "a",
            &[passage("near.md", "the bird floats"), passage("far.md", "invoices are sent")],
        )
        .await;
    // Numbers that 16 bits hold whole.
    embed_backlog(&node, |text| {
        if text.contains("bird") { vec![4.0, 3.0, 0.0] } else { vec![0.0, 0.0, 1.0] }
    })
    .await;
    let outcome = node.find(&world.query("kestrel")).await;
    assert!(outcome.degraded.is_empty(), "{:?}", outcome.degraded);
    let first = &outcome.hits[0];
    assert_eq!(first.passage.indexed.location, "near.md");
    assert!((first.similarity.expect("a cosine") - 0.8).abs() < 1e-4);
    assert_eq!(first.keyword, None);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_before_answers_until_the_new_one_is_complete() {
    let world = World::new().await;
    let node =
        world.node_with(Arc::new(Fake::constant("old", [1.0, 0.0, 0.0]))).await.ready().await;
    world.write("a", &[passage("a.md", "the bird floats")]).await;
    embed_backlog(&node, |_| vec![1.0, 0.0, 0.0]).await;
    let previous = node.context.models.current();
    let new: Arc<Fake> = Arc::new(Fake::constant("new", [0.0, 1.0, 0.0]));
    let model = vectors::register_model(world.store(), "new", 3, &serde_json::json!({}))
        .await
        .expect("a model");
    let models =
        ActiveModels::new(ActiveModel { model, embedder: new, is_remote: false }, Some(previous));
    let mut context = node.context.clone();
    context.models = models.clone();
    let options = Options { time_budget: TIMEOUT, ..Options::default() };

    let query = world.query("kestrel");
    let during = mc_search::search(&context, &query, &options).await.expect("a search");
    assert_eq!(during.hits.len(), 1, "found by the old vector");
    models.retire_previous();
    let after = mc_search::search(&context, &query, &options).await.expect("a search");
    assert!(after.hits.is_empty(), "the new model has no vector of it");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_query_is_refused_with_the_field() {
    let world = World::new().await;
    let node = world.node().await;
    let error = mc_search::search(&node.context, &world.query(" \n"), &Options::default())
        .await
        .expect_err("a refusal");
    assert_eq!(error.field().as_deref(), Some("query"));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_projects_change_no_score() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers"), passage("b.md", "an owl")]).await;
    let query = world.query("kestrel hovers over the owl");
    let scores = async || -> Vec<_> {
        node.find(&query).await.hits.into_iter().map(|hit| hit.keyword).collect()
    };
    let alone = scores().await;
    let stranger = World { project: world.database.project("other").await.id, ..world };
    let many: Vec<_> = (0..50).map(|n| passage(&format!("{n}.md"), "kestrel kestrel")).collect();
    stranger.write("b", &many).await;
    assert_eq!(scores().await, alone);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_can_do_without_a_step() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    let found = async |without: &[Step]| {
        let disabled_steps = without.iter().copied().collect();
        let options = Options { time_budget: TIMEOUT, disabled_steps, ..Options::default() };
        mc_search::search(&node.context, &world.query("kestrel"), &options).await
    };
    assert_eq!(found(&[]).await.expect("a search").hits.len(), 1);
    for without in [&[Step::Body, Step::Window, Step::Path][..], &[Step::Keyword, Step::Exact]] {
        assert!(found(without).await.expect("a search").hits.is_empty(), "{without:?}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vector_search_in_the_hnsw_index_respects_a_filter() {
    let world = World::new().await;
    let node =
        world.node_with(Arc::new(Fake::constant("north", [1.0, 0.0, 0.0]))).await.ready().await;
    let tagged = |place: &str, text: &str, tag: &str| NewPassage {
        tags: vec![tag.into()],
        ..passage(place, text)
    };
    let gone = [tagged("gone.md", "a bird that was", "animals")];
    world.write("gone", &gone).await;
    world
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
    let store = world.store();
    let model = &vectors::models(store).await.expect("models")[0];
    for heap in vectors::list_flat_vectors(store, model, 0).await.expect("heaps") {
        vectors::create_hnsw_index(store, model, &heap).await.expect("a graph");
        vectors::move_into_hnsw(store, model, &heap, i64::MAX).await.expect("a move");
    }
    world.write("gone", &[]).await;
    let tags = vec!["animals".to_owned()];
    let animals = PassageFilter { tags, ..world.filter() };
    let outcome = node.find(&Query::text("kestrel", animals)).await;
    assert!(outcome.degraded.is_empty(), "{:?}", outcome.degraded);
    let found: Vec<_> =
        outcome.hits.iter().map(|hit| hit.passage.indexed.location.as_str()).collect();
    assert_eq!(found, ["near.md", "far.md"]);
    node.stop().await;
}
