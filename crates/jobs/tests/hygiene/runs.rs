//! Requests, schedules and ends of hygiene runs.

use mc_domain::HygieneTask;
use mc_jobs::{ScheduleHygiene, enqueue};
use mc_store::cleanup;
use mc_store::hygiene::{self, ReportFilter};
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedule_enqueues_a_task_once_a_day_unless_it_is_off() {
    let fixture = Fixture::new().await;
    let switched_off = fixture.db.project("quiet").await.id;
    fixture
        .execute(&format!(
            r#"update projects set policy = '{{"hygiene": {{"duplicates": "off"}}}}'
            where id = '{switched_off}'"#
        ))
        .await;
    let count = "select count(*)::text from hygiene_runs where task = 'duplicates'";
    fixture.execute("delete from idempotency_keys where key like 'duplicates %'").await;
    for _ in 0..3 {
        let mut tx = fixture.db.store().begin().await.unwrap();
        enqueue(&mut tx, &ScheduleHygiene::new(HygieneTask::Duplicates), None).await.unwrap();
        tx.commit().await.unwrap();
    }
    let unfinished = "select count(*)::text from apalis.jobs where job_type = 'schedule_hygiene' \
                      and status <> 'Done'";
    fixture.wait_for_zero(unfinished).await;
    assert_eq!(fixture.text(count).await, "1");
    let filter = ReportFilter { task: Some(HygieneTask::Duplicates), cursor: None };
    let run =
        hygiene::list(fixture.db.store(), fixture.project, filter, 9).await.unwrap().remove(0);
    assert_eq!((run.task, run.dry_run, run.requested_by), (HygieneTask::Duplicates, false, None));
    assert_eq!(fixture.wait_for_end(run.id).await.counts["clusters"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hygiene_runs_are_deleted_after_their_retention() {
    let fixture = Fixture::new().await;
    let [old, young] = [
        fixture.run(HygieneTask::Duplicates, true).await,
        fixture.run(HygieneTask::Duplicates, true).await,
    ];
    fixture.set_policy(json!({"retention_days": {"hygiene": 10}})).await;
    fixture
        .execute(&format!(
            "update hygiene_runs set requested_at = now() - interval '11 days' where id = '{}'",
            old.id
        ))
        .await;
    assert_eq!(fixture.run(HygieneTask::Retention, false).await.counts["hygiene_runs"], 1);
    assert!(fixture.find(old.id).await.is_none() && fixture.find(young.id).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleanup_ends_runs_whose_job_died() {
    let fixture = Fixture::new().await;
    let [abandoned, young] = [
        fixture.run(HygieneTask::Duplicates, true).await.id,
        fixture.run(HygieneTask::Duplicates, true).await.id,
    ];
    for (id, hours) in [(abandoned, 5), (young, 3)] {
        fixture
            .execute(&format!(
                "update hygiene_runs set completed_at = null, started_at = now() - interval \
                 '{hours} hours'
                 where id = '{id}'"
            ))
            .await;
    }
    cleanup::sweep(fixture.db.store()).await.unwrap();
    let abandoned = fixture.find(abandoned).await.unwrap();
    assert!(abandoned.completed_at.is_some());
    assert!(abandoned.last_error.is_some_and(|error| error.contains("died")));
    assert!(fixture.find(young).await.unwrap().completed_at.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_of_a_deleted_project_completes() {
    let fixture = Fixture::new().await;
    fixture.execute("update projects set policy = '{\"ttl_days\": 7}'").await;
    let failed = fixture.wait_for_end(fixture.request(HygieneTask::Duplicates, false).await).await;
    assert!(failed.last_error.is_some_and(|error| error.contains("policy")));
    fixture.execute("delete from projects").await;
    let unfinished = "select count(*)::text from apalis.jobs where job_type = 'run_hygiene_task' \
                      and status <> 'Done'";
    fixture.execute("update apalis.jobs set run_at = now()").await;
    fixture.wait_for_zero(unfinished).await;
}
