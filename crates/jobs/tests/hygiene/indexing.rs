//! The tasks `citations` and `reindex`.

use mc_domain::HygieneTask;
use serde_json::json;

use crate::fixture::{Fixture, RETRY};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchecked_citations_are_checked() {
    let fixture = Fixture::new().await;
    let [fresh, unchecked] =
        [fixture.record(RETRY).await, fixture.record("Carts expire at noon").await];
    for (record, verdict) in [(fresh, "fresh"), (unchecked, "unchecked")] {
        fixture
            .execute(&format!(
                "insert into record_citations (id, record_id, project_id, file_path, verdict, \
             content_hash)
             values (gen_random_uuid(), '{record}', '{}', 'a.rb', '{verdict}', '\\x00')",
                fixture.project
            ))
            .await;
    }
    let stale =
        "select coalesce(string_agg(id::text, ','), '') from memory_records where state = 'stale'";
    let dry_run = fixture.run(HygieneTask::Citations, true).await;
    assert_eq!(dry_run.counts, json!({"records": 2, "turned_stale": 1, "turned_active": 0}));
    assert_eq!(fixture.text(stale).await, "");
    let applied = fixture.run(HygieneTask::Citations, false).await;
    assert_eq!(applied.counts["turned_stale"], 1);
    assert_eq!(fixture.text(stale).await, fresh.to_string());
    assert_eq!(fixture.run(HygieneTask::Citations, false).await.counts["turned_stale"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_repositories_are_reindexed_once() {
    let fixture = Fixture::new().await;
    for (name, days) in [("old", 8), ("young", 6)] {
        fixture
            .execute(&format!(
                "insert into repositories (id, project_id, owner, name, location, indexed_at)
             values (gen_random_uuid(), '{}', 'acme', '{name}', \
             'https://git.example.org/{name}.git',
                     now() - interval '{days} days')",
                fixture.project
            ))
            .await;
    }
    let runs = "select count(*)::text from ingest_runs";
    let dry_run = fixture.run(HygieneTask::Reindex, true).await;
    assert_eq!(
        (&dry_run.counts["repositories"], fixture.text(runs).await),
        (&json!(1), "0".into())
    );
    assert_eq!(dry_run.findings[0]["repository"], "repo:acme/old");
    assert_eq!(fixture.run(HygieneTask::Reindex, false).await.counts["requested"], 1);
    // A failed run is not requested again before the interval has passed.
    fixture.execute("update ingest_runs set status = 'FAILED'").await;
    assert_eq!(fixture.run(HygieneTask::Reindex, false).await.counts["repositories"], 0);
    assert_eq!(fixture.text(runs).await, "1");
}
