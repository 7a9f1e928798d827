//! The index keeps up with the database, whatever the order of commits.

use mc_search::{Freshness, Phase};
use tokio::task::JoinSet;

use crate::support::{TIMEOUT, World, passage};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_committed_before_the_search_is_found() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    assert_eq!(node.places(&world.query("kestrels")).await, ["a.md"]);

    world.write("a", &[passage("a.md", "the heron waits")]).await;
    assert!(node.places(&world.query("kestrels")).await.is_empty(), "the old text is gone");
    assert_eq!(node.places(&world.query("heron")).await, ["a.md"]);

    world.write("a", &[]).await;
    assert!(node.places(&world.query("heron")).await.is_empty(), "a deleted passage is gone");
    assert_eq!(node.index().status().passages, 0);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_each_find_what_they_just_wrote() {
    let world = std::sync::Arc::new(World::new().await);
    let node = std::sync::Arc::new(world.node().await.ready().await);
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (world, node) = (world.clone(), node.clone());
        writers.spawn(async move {
            for round in 0..6 {
                let place = format!("w{writer}r{round}.md");
                let animal = format!("quokka{writer}x{round}");
                world.write(&place, &[passage(&place, &format!("a note on {animal}"))]).await;
                let found = node.places(&world.query(&format!("note {animal}"))).await;
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
async fn a_transaction_that_commits_late_is_not_skipped() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    let mut early = world.store().begin().await.expect("a transaction");
    world.write_in(&mut early, "early", &[passage("early.md", "the albatross glides")]).await;
    world.write("late", &[passage("late.md", "the albatross dives")]).await;
    assert_eq!(node.places(&world.query("albatross")).await, ["late.md"], "the one that is there");

    early.commit().await.expect("a commit");
    let mut found = node.places(&world.query("albatross")).await;
    found.sort();
    assert_eq!(found, ["early.md", "late.md"]);
    assert_eq!(node.index().status().passages, 2, "nothing twice");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_transaction_is_not_skipped_across_a_restart_either() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    let mut early = world.store().begin().await.expect("a transaction");
    world.write_in(&mut early, "early", &[passage("early.md", "the albatross glides")]).await;
    world.write("late", &[passage("late.md", "the albatross dives")]).await;
    assert_eq!(node.index().refresh(TIMEOUT).await, Freshness::Current);
    node.stop().await;
    early.commit().await.expect("a commit");

    let node = world.node().await;
    assert_eq!(node.index().status().phase, Phase::Following, "taken up, not rebuilt");
    let mut found = node.places(&world.query("albatross")).await;
    found.sort();
    assert_eq!(found, ["early.md", "late.md"]);
    assert_eq!(node.index().status().passages, 2, "nothing twice");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_follows_by_itself() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    // No search asks it to.
    let seen = async {
        while node.index().status().passages == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, seen).await.expect("the change arrives");
    node.stop().await;
}
