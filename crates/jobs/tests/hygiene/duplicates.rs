//! The task `duplicates`.

use mc_domain::HygieneTask;
use mc_store::duplicates;
use serde_json::json;

use crate::fixture::{Fixture, RETRY, RETRY_REWORDED};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_decides_whether_duplicates_are_suggested_or_merged() {
    let fixture = Fixture::new().await;
    let [kept, duplicate] = [fixture.record(RETRY).await, fixture.record(RETRY_REWORDED).await];

    let dry_run = fixture.run(HygieneTask::Duplicates, true).await;
    assert!(dry_run.dry_run && dry_run.started_at.is_some());
    assert_eq!(dry_run.requested_by.as_deref(), Some("local"));
    assert_eq!(dry_run.counts, json!({"clusters": 1, "records": 2}));
    assert_eq!(
        (&dry_run.findings[0]["keep"], &dry_run.findings[0]["same"]),
        (&json!(kept), &json!([duplicate]))
    );
    assert_eq!(
        (fixture.cluster_states().await, fixture.live_record_count().await),
        (String::new(), "2".into())
    );

    let suggested = fixture.run(HygieneTask::Duplicates, false).await;
    assert_eq!(suggested.counts["suggested"], 1);
    let again = fixture.run(HygieneTask::Duplicates, false).await;
    assert_eq!((&again.counts["suggested"], &again.counts["withdrawn"]), (&json!(0), &json!(0)));
    assert_eq!(
        (fixture.cluster_states().await, fixture.live_record_count().await),
        ("open".into(), "2".into())
    );

    fixture.set_policy(json!({"hygiene": {"duplicates": "off"}})).await;
    let switched_off = fixture.run(HygieneTask::Duplicates, false).await;
    assert_eq!(switched_off.counts["withdrawn"], 1);

    fixture.set_policy(json!({"hygiene": {"duplicates": "merge"}})).await;
    let applied = fixture.run(HygieneTask::Duplicates, false).await;
    assert_eq!(applied.counts["merged"], 1);
    assert_eq!(
        (fixture.cluster_states().await, fixture.live_record_count().await),
        ("merged".into(), "1".into())
    );
    let event = fixture
        .text("select action || ' ' || target from audit_events where action like 'dup%'")
        .await;
    assert_eq!(event, format!("duplicate_cluster.merged {kept}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_runs_suggest_duplicates_once() {
    let fixture = Fixture::new().await;
    fixture.record(RETRY).await;
    fixture.record(RETRY_REWORDED).await;
    let found = mc_memory::duplicates::find(fixture.db.store(), fixture.project).await.unwrap();
    let mut other = fixture.db.store().begin_with_memory_lock(fixture.project).await.unwrap();
    let id = fixture.request(HygieneTask::Duplicates, false).await;
    fixture.wait_for_lock(id).await;
    duplicates::propose(&mut other, fixture.project, &found).await.unwrap();
    other.commit().await.unwrap();
    assert_eq!(fixture.wait_for_end(id).await.counts["suggested"], 0);
    assert_eq!(fixture.cluster_states().await, "open");
}
