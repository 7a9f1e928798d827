//! Repositories that are read again because their ref moved.

use mc_connectors::client::SystemKind;
use mc_domain::Ability;
use mc_store::repositories;

use crate::world::{World, github};

const RUNS: &str = "select count(*)::text from ingest_runs";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_is_read_again_when_its_ref_moved_and_not_before() {
    const FIRST: &str = "1111111111111111111111111111111111111111";
    const SECOND: &str = "2222222222222222222222222222222222222222";
    let world = World::of(SystemKind::Github, github).await;
    world.has(|upstream| upstream.head = FIRST);
    let node = world.node();
    let id = world.connect_for("example/shop", Ability::Heads).await;
    let unknown = world.until(id, |one| one.failures == 1).await;
    assert!(unknown.error.unwrap().contains("has not indexed example/shop"));

    let location = format!("{}/Example/shop.git", world.server.uri());
    let shop = world.shop();
    let mut tx = shop.begin().await.unwrap();
    let ensured = repositories::ensure(&mut tx, world.project, "example", "shop", &location).await;
    let repository = ensured.unwrap();
    tx.commit().await.unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "1", "nobody knows what was indexed");
    world.execute("update ingest_runs set status = 'SUCCEEDED'").await;
    repositories::indexed(world.db.store(), repository.id, FIRST).await.unwrap();
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "1", "nothing moved");
    world.has(|upstream| upstream.head = SECOND);
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2");
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it was asked for once");
    let fails =
        "update ingest_runs set status = 'FAILED', completed_at = now() where status = 'QUEUED'";
    world.execute(fails).await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "2", "it failed just now");
    let earlier = "update ingest_runs set completed_at = now() - interval '2 hours'";
    world.execute(earlier).await;
    for _ in 0..2 {
        world.synced(id).await;
        assert_eq!(world.text(RUNS).await, "3", "it is tried once more");
    }
    repositories::indexed(world.db.store(), repository.id, SECOND).await.unwrap();
    world.execute("update ingest_runs set status = 'FAILED'").await;
    world.execute(earlier).await;
    world.synced(id).await;
    assert_eq!(world.text(RUNS).await, "3", "what is indexed is not tried again");
    node.stop().await;
}
