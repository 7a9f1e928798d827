//! Repair of an index that differs from the database.

use mc_search::index::RepairReport;
use mc_store::testing::execute;

use crate::support::{Fixture, TIMEOUT, passage};

/// Runs a statement without triggers.
async fn without_triggers(fixture: &Fixture, sql: &str) {
    let block = format!(
        "do $no_triggers$ begin perform set_config('session_replication_role', 'replica', true); \
        {sql}; end $no_triggers$"
    );
    execute(fixture.database.url(), &block).await.expect("a statement");
}

#[tokio::test(flavor = "multi_thread")]
async fn repair_restores_lost_passages_and_deletes_stale_ones() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    fixture.write("b", &[passage("b.md", "the heron waits")]).await;
    assert_eq!(node.places(&fixture.query("kestrel")).await, ["a.md"]);
    let keyword = node.context.keyword.clone();
    assert_eq!(
        keyword.repair(fixture.store()).await.expect("a report"),
        Some(RepairReport::default())
    );

    without_triggers(
        &fixture,
        "insert into passages (id, project_id, doc_id, ordinal, location, text, content_hash)
         select gen_random_uuid(), project_id, doc_id, 1, 'c.md', 'the kestrel lands', '\\x00'
         from passages where location = 'a.md'",
    )
    .await;
    without_triggers(&fixture, "delete from passages where location = 'b.md'").await;
    keyword.refresh(TIMEOUT).await;
    assert_eq!(
        node.places(&fixture.query("kestrel")).await,
        ["a.md"],
        "the other one was not published"
    );

    let repaired = keyword.repair(fixture.store()).await.expect("a report");
    assert_eq!(repaired, Some(RepairReport { missing: 1, strays: 1 }));
    let mut found = node.places(&fixture.query("kestrel")).await;
    found.sort();
    assert_eq!(found, ["a.md", "c.md"]);
    assert_eq!(keyword.status().passages, 2);
    assert_eq!(
        keyword.repair(fixture.store()).await.expect("a report"),
        Some(RepairReport::default())
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_during_a_repair_are_no_differences() {
    let fixture = Fixture::new().await;
    let node = fixture.node().await.ready().await;
    let keyword = node.context.keyword.clone();
    for round in 0..20 {
        let name = format!("{round}.md");
        let texts = [passage(&name, "the kestrel hovers")];
        let ((), repaired) =
            tokio::join!(fixture.write("a", &texts), keyword.repair(fixture.store()));
        assert_eq!(repaired.expect("a report"), Some(RepairReport::default()));
    }
    node.stop().await;
}
