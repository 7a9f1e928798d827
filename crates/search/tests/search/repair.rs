//! An index that lost something, or kept too much, and nobody told it.

use mc_search::index::RepairReport;
use mc_store::testing::execute;

use crate::support::{TIMEOUT, World, passage};

/// Runs a statement of which no trigger hears.
async fn unheard(world: &World, sql: &str) {
    let block = format!(
        "do $unheard$ begin perform set_config('session_replication_role', 'replica', true); \
        {sql}; end $unheard$"
    );
    execute(world.database.url(), &block).await.expect("a statement");
}

#[tokio::test(flavor = "multi_thread")]
async fn repair_restores_lost_passages_and_deletes_stale_ones() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    world.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    world.write("b", &[passage("b.md", "the heron waits")]).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"]);
    let keyword = node.context.keyword.clone();
    assert_eq!(keyword.repair(world.store()).await.expect("a look"), Some(RepairReport::default()));

    unheard(
        &world,
        "insert into passages (id, project_id, doc_id, ordinal, location, text, content_hash)
         select gen_random_uuid(), project_id, doc_id, 1, 'c.md', 'the kestrel lands', '\\x00'
         from passages where location = 'a.md'",
    )
    .await;
    unheard(&world, "delete from passages where location = 'b.md'").await;
    keyword.refresh(TIMEOUT).await;
    assert_eq!(node.places(&world.query("kestrel")).await, ["a.md"], "nobody told of the other");

    let mended = keyword.repair(world.store()).await.expect("a look");
    assert_eq!(mended, Some(RepairReport { missing: 1, strays: 1 }));
    let mut found = node.places(&world.query("kestrel")).await;
    found.sort();
    assert_eq!(found, ["a.md", "c.md"]);
    assert_eq!(keyword.status().passages, 2);
    assert_eq!(keyword.repair(world.store()).await.expect("a look"), Some(RepairReport::default()));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_written_during_a_repair_is_not_damaged() {
    let world = World::new().await;
    let node = world.node().await.ready().await;
    let keyword = node.context.keyword.clone();
    for round in 0..20 {
        let name = format!("{round}.md");
        let texts = [passage(&name, "the kestrel hovers")];
        let ((), mended) = tokio::join!(world.write("a", &texts), keyword.repair(world.store()));
        assert_eq!(mended.expect("a look"), Some(RepairReport::default()));
    }
    node.stop().await;
}
