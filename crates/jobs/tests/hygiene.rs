//! What keeps the memory in order, as jobs: asked for by the clock and by people, with a report.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::time::{Duration, Instant};

use mc_domain::{HygieneReportId, HygieneTask, ProjectId, RecordId, UserId};
use mc_jobs::{Request, Round};
use mc_memory::normalise::content_hash;
use mc_store::hygiene::{self, Report, ReportFilter};
use mc_store::testing::{execute, text};
use mc_store::upkeep;
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Longer than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
const RETRY: &str =
    "The payments worker retries a failed charge 3 times with jitter before it gives up";
const RETOLD: &str =
    "Before it gives up, the payments worker retries failed charges three times with jitter";

struct World {
    db: TestDatabase,
    project: ProjectId,
    _work: DropGuard,
}

impl World {
    async fn new() -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        // Nothing by the clock: the workers begin with what the last night passed over.
        let attended = HygieneTask::ALL.iter().map(|task| {
            format!(
                "('hygiene', '{task} ' || current_date), ('hygiene', '{task} ' || current_date + 1)"
            )
        });
        let attended: Vec<_> = attended.collect();
        let sql = format!("insert into job_effects (kind, key) values {}", attended.join(", "));
        execute(db.url(), &sql).await.unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(mc_jobs::workers(db.store().clone(), db.store()).run(stop.clone()));
        Self { db, project, _work: stop.drop_guard() }
    }

    /// A live record of the team.
    async fn record(&self, content: &str) -> RecordId {
        let id = RecordId::generate();
        let hash: String = content_hash(content).iter().map(|byte| format!("{byte:02x}")).collect();
        self.execute(&format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
             values ('{id}', '{}', 'fact', '{content}', now() + interval '90 days', '\\x{hash}', 1)",
            self.project
        ))
        .await;
        id
    }

    async fn execute(&self, sql: &str) {
        execute(self.db.url(), sql).await.unwrap();
    }

    async fn text(&self, sql: &str) -> String {
        text(self.db.store(), sql).await.unwrap()
    }

    async fn policy(&self, policy: Value) {
        self.execute(&format!("update projects set policy = '{policy}'")).await;
    }

    async fn asked(&self, task: HygieneTask, is_dry_run: bool) -> HygieneReportId {
        let mut tx = self.db.service().enter(UserId::LOCAL, self.project).begin().await.unwrap();
        let id = hygiene::ask(&mut tx, self.project, task, is_dry_run).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// The report once its job has ended.
    async fn ended(&self, id: HygieneReportId) -> Report {
        let begun = Instant::now();
        loop {
            let report = hygiene::find(self.db.store(), self.project, id).await.unwrap().unwrap();
            if report.ended_at.is_some() {
                return report;
            }
            assert!(begun.elapsed() < PATIENCE, "{report:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn done(&self, task: HygieneTask, is_dry_run: bool) -> Report {
        let report = self.ended(self.asked(task, is_dry_run).await).await;
        assert_eq!(report.error, None);
        report
    }

    async fn clusters(&self) -> String {
        self.text("select coalesce(string_agg(state, ','), '') from duplicate_clusters").await
    }

    async fn live(&self) -> String {
        self.text("select count(*)::text from memory_records where state = 'active'").await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_are_looked_for_put_before_people_or_made_one_as_the_policy_has_it() {
    let world = World::new().await;
    let [kept, gone] = [world.record(RETRY).await, world.record(RETOLD).await];

    let looked = world.done(HygieneTask::Duplicates, true).await;
    assert!(looked.is_dry_run && looked.started_at.is_some());
    assert_eq!(looked.asked_by.as_deref(), Some("local"));
    assert_eq!(looked.counts, json!({"clusters": 1, "records": 2}));
    assert_eq!(
        (&looked.findings[0]["keep"], &looked.findings[0]["same"]),
        (&json!(kept), &json!([gone]))
    );
    assert_eq!((world.clusters().await, world.live().await), (String::new(), "2".into()));

    let proposed = world.done(HygieneTask::Duplicates, false).await;
    assert_eq!(proposed.counts["proposed"], 1);
    let again = world.done(HygieneTask::Duplicates, false).await;
    assert_eq!((&again.counts["proposed"], &again.counts["withdrawn"]), (&json!(0), &json!(0)));
    assert_eq!((world.clusters().await, world.live().await), ("open".into(), "2".into()));

    world.policy(json!({"hygiene": {"duplicates": "off"}})).await;
    let off = world.done(HygieneTask::Duplicates, false).await;
    assert_eq!(off.counts["withdrawn"], 1);

    world.policy(json!({"hygiene": {"duplicates": "apply"}})).await;
    let applied = world.done(HygieneTask::Duplicates, false).await;
    assert_eq!(applied.counts["merged"], 1);
    assert_eq!((world.clusters().await, world.live().await), ("merged".into(), "1".into()));
    let act = world
        .text("select action || ' ' || subject from audit_events where action like 'dup%'")
        .await;
    assert_eq!(act, format!("duplicates.merged {kept}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_asks_each_project_once_a_day_but_those_that_switched_it_off() {
    let world = World::new().await;
    let quiet = world.db.project("quiet").await.id;
    world.execute(&format!(
        r#"update projects set policy = '{{"hygiene": {{"duplicates": "off"}}}}' where id = '{quiet}'"#
    )).await;
    let count = "select count(*)::text from hygiene_reports where task = 'duplicates'";
    world.execute("delete from job_effects").await;
    for _ in 0..3 {
        let mut tx = world.db.store().begin().await.unwrap();
        Request::new(&Round::of(HygieneTask::Duplicates)).put(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    let begun = Instant::now();
    let done = "select count(*)::text from apalis.jobs where job_type = 'hygiene-round' and status <> 'Done'";
    while mc_store::testing::text(world.db.store(), done).await.unwrap() != "0" {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.text(count).await, "1");
    let all = ReportFilter::default();
    let report = hygiene::list(world.db.store(), world.project, all, 9).await.unwrap().remove(0);
    assert_eq!(
        (report.task, report.is_dry_run, report.asked_by),
        (HygieneTask::Duplicates, false, None)
    );
    assert_eq!(world.ended(report.id).await.counts["clusters"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_kept_for_as_long_as_the_policy_says() {
    let world = World::new().await;
    let [old, young] = [
        world.done(HygieneTask::Duplicates, true).await,
        world.done(HygieneTask::Duplicates, true).await,
    ];
    world.policy(json!({"retention_days": {"hygiene": 10}})).await;
    world
        .execute(&format!(
            "update hygiene_reports set asked_at = now() - interval '11 days' where id = '{}'",
            old.id
        ))
        .await;
    assert_eq!(upkeep::sweep(world.db.store()).await.unwrap().reports, 1);
    let find = async |id| hygiene::find(world.db.store(), world.project, id).await.unwrap();
    assert!(find(old.id).await.is_none() && find(young.id).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_project_is_gone_is_done() {
    let world = World::new().await;
    world.execute("update projects set policy = '{\"ttl_days\": 7}'").await;
    let unreadable = world.ended(world.asked(HygieneTask::Duplicates, false).await).await;
    assert!(unreadable.error.is_some_and(|error| error.contains("policy")));
    world.execute("delete from projects").await;
    let waiting = "select count(*)::text from apalis.jobs where job_type = 'hygiene' and status not in ('Done')";
    let begun = Instant::now();
    world.execute("update apalis.jobs set run_at = now()").await;
    while world.text(waiting).await != "0" {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
