//! Application of the change feed in any order of commits.

use mc_search::{Freshness, Phase};
use mc_store::docs;
use mc_testkit::document;
use tokio::task::JoinSet;

use crate::support::{Fixture, TIMEOUT, passage};

#[tokio::test(flavor = "multi_thread")]
async fn change_committed_before_the_search_is_found() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrels")).await, ["a.md"]);

    fixture.write("a", &[passage("a.md", "the heron waits")]).await;
    assert!(node.places(&fixture.query("kestrels")).await.is_empty(), "the old text is gone");
    assert_eq!(node.places(&fixture.query("heron")).await, ["a.md"]);

    fixture.write("a", &[]).await;
    assert!(node.places(&fixture.query("heron")).await.is_empty(), "a deleted passage is gone");
    assert_eq!(node.index().status().passages, 0);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_waits_only_for_changes_of_its_project() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    let other = fixture.database.project("other").await.id;
    // While an older transaction is open, the index stays before later changes, and applies them.
    let mut early = fixture.store().begin().await.expect("a transaction");
    fixture.write_in(&mut early, "early", &[passage("early.md", "the albatross glides")]).await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);

    let index = node.index().clone();
    node.stop().await;
    let freshness = async |project| index.refresh_for(project, TIMEOUT).await;
    assert_eq!(freshness(fixture.project).await, Freshness::Current);
    let mut tx = fixture.store().begin().await.expect("a transaction");
    let passages = [passage("b.md", "the heron waits")];
    docs::upsert(&mut tx, other, &document("b", "b"), &passages).await.expect("a document");
    tx.commit().await.expect("a commit");
    assert_eq!(freshness(fixture.project).await, Freshness::Current);
    assert_eq!(freshness(other).await, Freshness::Behind, "no follower applies it");
    early.commit().await.expect("a commit");
    assert_eq!(freshness(fixture.project).await, Freshness::Behind);
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_is_waited_for() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    let index = node.index().clone();
    node.stop().await;
    let freshness = async || index.refresh_for(fixture.project, TIMEOUT).await;
    assert_eq!(freshness().await, Freshness::Current);
    fixture.write("a", &[]).await;
    assert_eq!(freshness().await, Freshness::Behind);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_each_find_their_own_writes() {
    let fixture = std::sync::Arc::new(Fixture::new().await);
    let node = std::sync::Arc::new(fixture.node().await.ready().await);
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (fixture, node) = (fixture.clone(), node.clone());
        writers.spawn(async move {
            for round in 0..6 {
                let place = format!("w{writer}r{round}.md");
                let animal = format!("quokka{writer}x{round}");
                fixture.write(&place, &[passage(&place, &format!("a note on {animal}"))]).await;
                let found = node.places(&fixture.query(&format!("note {animal}"))).await;
                assert_eq!(found.first(), Some(&place), "its own write, first, of {found:?}");
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.expect("a writer");
    }
    assert_eq!(node.index().status().passages, 48);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_transaction_is_not_skipped() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    let mut early = fixture.store().begin().await.expect("a transaction");
    fixture.write_in(&mut early, "early", &[passage("early.md", "the albatross glides")]).await;
    fixture.write("late", &[passage("late.md", "the albatross dives")]).await;
    assert_eq!(
        node.places(&fixture.query("albatross")).await,
        ["late.md"],
        "only the committed one"
    );

    early.commit().await.expect("a commit");
    let mut found = node.places(&fixture.query("albatross")).await;
    found.sort();
    assert_eq!(found, ["early.md", "late.md"]);
    assert_eq!(node.index().status().passages, 2, "nothing twice");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_transaction_is_not_skipped_across_a_restart() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    let mut early = fixture.store().begin().await.expect("a transaction");
    fixture.write_in(&mut early, "early", &[passage("early.md", "the albatross glides")]).await;
    fixture.write("late", &[passage("late.md", "the albatross dives")]).await;
    assert_eq!(node.index().refresh(TIMEOUT).await, Freshness::Current);
    node.stop().await;
    early.commit().await.expect("a commit");

    let node = fixture.node().await;
    assert_eq!(node.index().status().phase, Phase::Live, "opened, not rebuilt");
    let mut found = node.places(&fixture.query("albatross")).await;
    found.sort();
    assert_eq!(found, ["early.md", "late.md"]);
    assert_eq!(node.index().status().passages, 2, "nothing twice");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_follows_without_a_search() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    // No search requests a pass.
    let seen = async {
        while node.index().status().passages == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, seen).await.expect("the change arrives");
    node.stop().await;
}
