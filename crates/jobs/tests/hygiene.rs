//! What keeps the memory in order, as jobs: asked for by the clock and by people, with a report.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test that can't go on should stop")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_connectors::{Comment, Thread};
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::policy::RetentionDays;
use mc_domain::{
    AuditAction, ExpiryDecision, HygieneRunId, HygieneTask, Policy, ProjectId, Provider, RecordId,
    UserId,
};
use mc_jobs::{Embedding, Enqueue, JobContext, JobSettings, ScheduleHygiene, SyncContext};
use mc_memory::ReviewStatus;
use mc_memory::documents::{self, Body, Document, NewDocument, prepare_all};
use mc_memory::normalize::content_hash;
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::retention::{RetentionCategory, purge};
use mc_store::hygiene::{self, Report, ReportFilter};
use mc_store::testing::{execute, text, waiting_for_a_lock};
use mc_store::vectors::{self, Model};
use mc_store::{cleanup, duplicates, exports, ingest_runs, repositories};
use mc_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Longer than any of this takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
const RETRY: &str =
    "The payments worker retries a failed charge 3 times with jitter before it gives up";
const RETOLD: &str =
    "Before it gives up, the payments worker retries failed charges three times with jitter";

struct World {
    db: TestDatabase,
    project: ProjectId,
    /// The one in use.
    model: Model,
    _work: DropGuard,
}

impl World {
    async fn new() -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        // Nothing by the clock: the workers begin with what the last night passed over.
        let attended = HygieneTask::ALL.iter().map(|task| {
            format!(
                "('run_hygiene_task', '{task} ' || current_date), ('run_hygiene_task', '{task} ' \
                 || current_date + 1)"
            )
        });
        let attended: Vec<_> = attended.collect();
        let sql =
            format!("insert into idempotency_keys (kind, key) values {}", attended.join(", "));
        execute(db.url(), &sql).await.unwrap();
        let stop = CancellationToken::new();
        let sealer = Arc::new(Encryptor::new(EncryptionKey::generate(), Vec::new()));
        let connecting = SyncContext { systems: Arc::default(), sealer, inside: Arc::default() };
        let model = vectors::register_model(db.store(), "new", 3, &json!({})).await.unwrap();
        let embedding = Embedding { model: model.clone(), is_remote: true };
        let (sync, settings) = (connecting, JobSettings::default());
        let context = JobContext { store: db.store().clone(), sync, embedding, settings };
        let workers = mc_jobs::workers(db.store().clone(), &context);
        tokio::spawn(workers.run(stop.clone()));
        Self { db, project, model, _work: stop.drop_guard() }
    }

    /// A live record of the team.
    async fn record(&self, content: &str) -> RecordId {
        let id = RecordId::generate();
        let hash: String = content_hash(content).iter().map(|byte| format!("{byte:02x}")).collect();
        self.execute(&format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
             values ('{id}', '{}', 'fact', '{content}', now() + interval '90 days', '\\x{hash}', \
             1)",
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

    async fn asked(&self, task: HygieneTask, is_dry_run: bool) -> HygieneRunId {
        let mut tx =
            self.db.service().for_project(UserId::LOCAL, self.project).begin().await.unwrap();
        let id = hygiene::request(&mut tx, self.project, task, is_dry_run).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// The report once its job has ended.
    async fn ended(&self, id: HygieneRunId) -> Report {
        let begun = Instant::now();
        loop {
            let report = hygiene::find(self.db.store(), self.project, id).await.unwrap().unwrap();
            if report.completed_at.is_some() {
                return report;
            }
            assert!(begun.elapsed() < TIMEOUT, "{report:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn done(&self, task: HygieneTask, is_dry_run: bool) -> Report {
        let report = self.ended(self.asked(task, is_dry_run).await).await;
        assert_eq!(report.last_error, None);
        report
    }

    /// Waits until the task waits for somebody, or is over.
    async fn waits(&self, id: HygieneRunId) {
        let begun = Instant::now();
        while waiting_for_a_lock(self.db.store()).await.unwrap() == 0 {
            let report = hygiene::find(self.db.store(), self.project, id).await.unwrap().unwrap();
            if report.completed_at.is_some() {
                return;
            }
            assert!(begun.elapsed() < TIMEOUT, "{report:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
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
    assert_eq!(looked.requested_by.as_deref(), Some("local"));
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

    world.policy(json!({"hygiene": {"duplicates": "merge"}})).await;
    let applied = world.done(HygieneTask::Duplicates, false).await;
    assert_eq!(applied.counts["merged"], 1);
    assert_eq!((world.clusters().await, world.live().await), ("merged".into(), "1".into()));
    let act = world
        .text("select action || ' ' || target from audit_events where action like 'dup%'")
        .await;
    assert_eq!(act, format!("duplicate_cluster.merged {kept}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_look_for_duplicates_at_once_put_them_before_people_once() {
    let world = World::new().await;
    world.record(RETRY).await;
    world.record(RETOLD).await;
    let found = mc_memory::duplicates::find(world.db.store(), world.project).await.unwrap();
    let mut other = world.db.store().begin_with_memory_lock(world.project).await.unwrap();
    let id = world.asked(HygieneTask::Duplicates, false).await;
    world.waits(id).await;
    duplicates::propose(&mut other, world.project, &found).await.unwrap();
    other.commit().await.unwrap();
    assert_eq!(world.ended(id).await.counts["proposed"], 0);
    assert_eq!(world.clusters().await, "open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_asks_each_project_once_a_day_but_those_that_switched_it_off() {
    let world = World::new().await;
    let quiet = world.db.project("quiet").await.id;
    world
        .execute(&format!(
            r#"update projects set policy = '{{"hygiene": {{"duplicates": "off"}}}}'
            where id = '{quiet}'"#
        ))
        .await;
    let count = "select count(*)::text from hygiene_runs where task = 'duplicates'";
    world.execute("delete from idempotency_keys where key like 'duplicates %'").await;
    for _ in 0..3 {
        let mut tx = world.db.store().begin().await.unwrap();
        Enqueue::new(&ScheduleHygiene::of(HygieneTask::Duplicates)).insert(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    let begun = Instant::now();
    let done = "select count(*)::text from apalis.jobs where job_type = 'schedule_hygiene' and \
                status <> 'Done'";
    while mc_store::testing::text(world.db.store(), done).await.unwrap() != "0" {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(world.text(count).await, "1");
    let of_it = ReportFilter { task: Some(HygieneTask::Duplicates), cursor: None };
    let report = hygiene::list(world.db.store(), world.project, of_it, 9).await.unwrap().remove(0);
    assert_eq!(
        (report.task, report.is_dry_run, report.requested_by),
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
            "update hygiene_runs set requested_at = now() - interval '11 days' where id = '{}'",
            old.id
        ))
        .await;
    assert_eq!(world.done(HygieneTask::Retention, false).await.counts["reports"], 1);
    let find = async |id| hygiene::find(world.db.store(), world.project, id).await.unwrap();
    assert!(find(old.id).await.is_none() && find(young.id).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_of_which_nobody_writes_the_end_is_ended() {
    let world = World::new().await;
    let [lost, young] = [
        world.done(HygieneTask::Duplicates, true).await.id,
        world.done(HygieneTask::Duplicates, true).await.id,
    ];
    for (id, hours) in [(lost, 5), (young, 3)] {
        world
            .execute(&format!(
                "update hygiene_runs set completed_at = null, started_at = now() - interval \
                 '{hours} hours'
                 where id = '{id}'"
            ))
            .await;
    }
    cleanup::sweep(world.db.store()).await.unwrap();
    let find =
        async |id| hygiene::find(world.db.store(), world.project, id).await.unwrap().unwrap();
    let lost = find(lost).await;
    assert!(lost.completed_at.is_some());
    assert!(lost.last_error.is_some_and(|error| error.contains("died")));
    assert!(find(young).await.completed_at.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_project_is_gone_is_done() {
    let world = World::new().await;
    world.execute("update projects set policy = '{\"ttl_days\": 7}'").await;
    let unreadable = world.ended(world.asked(HygieneTask::Duplicates, false).await).await;
    assert!(unreadable.last_error.is_some_and(|error| error.contains("policy")));
    world.execute("delete from projects").await;
    let waiting = "select count(*)::text from apalis.jobs where job_type = 'run_hygiene_task' and \
                   status not in ('Done')";
    let begun = Instant::now();
    world.execute("update apalis.jobs set run_at = now()").await;
    while world.text(waiting).await != "0" {
        assert!(begun.elapsed() < TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helps_nobody_is_listed_and_taken_out_where_the_policy_has_it() {
    let world = World::new().await;
    let [old, used, passed] = [
        world.record(RETRY).await,
        world.record("Carts expire at noon").await,
        world.record("Mail waits").await,
    ];
    world
        .execute(
            "update memory_records set updated_at = now() - interval '100 days', created_at \
                   = now() - interval '100 days'",
        )
        .await;
    world
        .execute(&format!(
            "update memory_records set recall_count = 3, last_recalled_at = now() where id in \
         ('{used}', '{passed}')"
        ))
        .await;
    world
        .execute(&format!(
            "with shown as (
             insert into bundles (id, project_id, principal, request, confidence, token_count, \
             feedback_at)
             select gen_random_uuid(), '{}', 'ann', '{{}}', 1, 1, now() from generate_series(1, 10)
             returning id, project_id)
         insert into bundle_items (bundle_id, project_id, position, section, record_id, score, \
         is_used)
         select id, project_id, 0, 'facts', '{used}'::uuid, 1, true from shown
         union all select id, project_id, 1, 'facts', '{passed}'::uuid, 1, null from shown",
            world.project
        ))
        .await;

    let looked = world.done(HygieneTask::Quality, true).await;
    assert_eq!((&looked.counts["records"], &looked.counts["noise"]), (&json!(3), &json!(2)));
    let reasons = |id: RecordId| {
        let findings = looked.findings.as_array().unwrap();
        let finding = findings.iter().find(|one| one["record"] == json!(id)).unwrap();
        finding["reasons"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(reasons(old), "neither recalled nor changed for 100 days");
    assert!(reasons(passed).starts_with("never used in 10 recalls"), "{}", reasons(passed));
    world.done(HygieneTask::Quality, false).await;
    assert_eq!(world.live().await, "3", "by default people decide");

    world.policy(json!({"hygiene": {"unused_records": "delete"}})).await;
    let applied = world.done(HygieneTask::Quality, false).await;
    assert_eq!(applied.counts["retired"], 2);
    let left = world.text("select id::text from memory_records where state = 'active'").await;
    assert_eq!(left, used.to_string());
    let told =
        world.text("select details::text from audit_events where action = 'records.retired'").await;
    assert!(told.contains(&old.to_string()) && told.contains("100 days"), "{told}");
    // What is brought back stays, until there is something new against it.
    world
        .execute(
            "update memory_records set state = 'active', updated_at = now() where state = \
                   'deleted'",
        )
        .await;
    assert_eq!(world.done(HygieneTask::Quality, false).await.counts["noise"], 0);
    world.policy(json!({"hygiene": {"unused_records": "off", "unused_after_days": 1}})).await;
    assert!(world.done(HygieneTask::Quality, false).await.counts["noise"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_helps_nobody_waits_for_a_reviewer_where_the_policy_has_it() {
    let world = World::new().await;
    let [noise, argued, young] = [
        world.record(RETRY).await,
        world.record("Carts expire at noon").await,
        world.record("Mail waits").await,
    ];
    world
        .execute(&format!(
            "update memory_records set updated_at = now() - interval '100 days', ttl = now() + \
             interval '2 days'
             where id <> '{young}'"
        ))
        .await;
    // Somebody would have it say something else: so it is of use to somebody.
    let proposal = world.record("Carts expire at midnight").await;
    world
        .execute(&format!(
            "update memory_records set visibility = 'proposed', trust = 'untrusted', \
             amends_record_id = '{argued}'
             where id = '{proposal}'"
        ))
        .await;
    world.execute(&passage_of(noise)).await;
    world.policy(json!({"hygiene": {"unused_records": "demote"}})).await;
    let waits = "select coalesce(string_agg(id::text, ','), '') from memory_records where demotion \
                 is not null";

    let looked = world.done(HygieneTask::Quality, true).await;
    assert_eq!((&looked.counts["noise"], &looked.counts["quarantined"]), (&json!(2), &Value::Null));
    let findings = looked.findings.as_array().unwrap();
    let finding = findings.iter().find(|one| one["record"] == json!(noise)).unwrap();
    assert_eq!(finding["reasons"], json!(["neither recalled nor changed for 100 days"]));
    assert_eq!(finding["standing"], finding["factors"]["recency"]);
    assert!(finding["standing"].as_f64().unwrap() < 1.0, "{finding}");
    assert_eq!(world.text(waits).await, "");

    let done = world.done(HygieneTask::Quality, false).await;
    assert_eq!(
        (&done.counts["quarantined"], world.text(waits).await),
        (&json!(1), noise.to_string())
    );
    let why = format!(
        "select (demotion -> 'reasons')::text || (demotion -> 'standing')::text from memory_records
         where id = '{noise}'"
    );
    let told = format!("{}{}", finding["reasons"], finding["standing"]);
    assert_eq!(world.text(&why).await, told);
    let now = format!(
        "select concat_ws(' ', visibility, state, ttl > now() + interval '29 days',
             (select count(*) from passages p where p.record_id = r.id))
         from memory_records r where id = '{noise}'"
    );
    assert_eq!(world.text(&now).await, "proposed active t 0");
    let event =
        "select target || ' ' || details from audit_events where action = 'records.retired'";
    let event = world.text(event).await;
    assert!(event.contains(r#""action":"demote""#), "{event}");
    assert!(event.contains(&noise.to_string()) && !event.contains(&argued.to_string()), "{event}");
    let again = world.done(HygieneTask::Quality, false).await;
    assert_eq!((&again.counts["noise"], &again.counts["quarantined"]), (&json!(1), &json!(0)));
}

/// A statement that makes a record found.
fn passage_of(record: RecordId) -> String {
    format!(
        "insert into passages (id, project_id, record_id, private_to, text, content_hash)
         select gen_random_uuid(), project_id, id, private_to, content, '\\x01' from memory_records
         where id = '{record}'"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_without_a_vector_of_the_model_in_use_are_queued_and_the_failing_are_named() {
    let world = World::new().await;
    let former = vectors::register_model(world.db.store(), "old", 3, &json!({})).await.unwrap();
    let [whole, failing, missing, private] = [
        world.record(RETRY).await,
        world.record(RETOLD).await,
        world.record("Mail waits").await,
        world.record("Carts expire at noon").await,
    ];
    world
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
             '{private}'",
            UserId::LOCAL
        ))
        .await;
    for id in [whole, failing, missing, private] {
        world.execute(&passage_of(id)).await;
    }
    let statements = [
        "update passages set location = 'https://wiki.example.org/' || right(record_id::text, \
         4)"
        .to_owned(),
        format!(
            "delete from embedding_queue q using passages p
                 where p.id = q.passage_id and p.record_id in ('{whole}', '{missing}')"
        ),
        "update embedding_queue set attempts = 7, last_error = 'it is too long', scheduled_at = \
         now() + interval '1 hour'"
            .to_owned(),
        format!(
            "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
                 embedding)
                 select m.id, p.id, p.project_id, p.source_kind, p.content_hash, '[1,0,0]'
                 from passages p, embedding_models m where p.record_id = '{whole}' or
                     p.record_id = '{missing}' and m.id = {}",
            former.id
        ),
    ];
    for statement in statements {
        world.execute(&statement).await;
    }
    let waiting = "select string_agg(right(p.record_id::text, 4) || case when q.scheduled_at > \
                   now() then ' later' else '' end,
                       ',' order by q.attempts desc, p.record_id)
                   from embedding_queue q join passages p on p.id = q.passage_id";
    let before = world.text(waiting).await;

    let looked = world.done(HygieneTask::Embedding, true).await;
    assert_eq!(
        looked.counts,
        json!({"passages": 4, "missing_vectors": 3, "waiting": 0, "failed_vectors": 2,
               "previous_model_vectors": 2})
    );
    let findings = looked.findings.as_array().unwrap();
    assert_eq!(findings.len(), 1, "what somebody keeps to themselves is nobody's to hear of");
    let ending = failing.to_string().split_off(32);
    assert_eq!(findings[0]["place"], format!("https://wiki.example.org/{ending}"));
    assert_eq!(
        (&findings[0]["record"], &findings[0]["error"], &findings[0]["attempts"]),
        (&json!(failing), &json!("it is too long"), &json!(7))
    );
    assert_eq!(world.text(waiting).await, before);

    let done = world.done(HygieneTask::Embedding, false).await;
    assert_eq!((&done.counts["queued"], &done.counts["retried"]), (&json!(1), &json!(2)));
    let due = world.text(waiting).await;
    assert!(!due.contains("later"), "{due}");
    assert!(due.ends_with(&missing.to_string().split_off(32)), "{due}");
    let progress =
        vectors::progress(world.db.store(), world.project, &world.model, true).await.unwrap();
    assert_eq!((progress.waiting, progress.failed_count), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_policy_keeps_from_the_model_is_not_queued_for_it() {
    let world = World::new().await;
    let record = world.record(RETRY).await;
    world.execute(&passage_of(record)).await;
    world.execute("delete from embedding_queue").await;
    let policy = json!({"models": {"embedding": "local"}});
    world
        .execute(&format!(
            "select mc.set_policy('{}', '{}', null, '{policy}')",
            UserId::LOCAL.0,
            world.project.0
        ))
        .await;
    let done = world.done(HygieneTask::Embedding, false).await;
    assert_eq!(
        done.counts,
        json!({"passages": 1, "excluded_by_policy": 1, "previous_model_vectors": 0})
    );
    assert_eq!(world.text("select count(*)::text from embedding_queue").await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_older_than_the_policy_keeps_it_is_counted_and_deleted_in_its_project_alone() {
    let world = World::new().await;
    let other = world.db.project("other").await.id;
    let [removed, held] = [world.record(RETRY).await, world.record(RETOLD).await];
    world
        .execute(&format!(
            "update memory_records set state = 'deleted', updated_at = now() - interval '50 days'
             where id in ('{removed}', '{held}')"
        ))
        .await;
    world
        .execute(&format!("update memory_records set project_id = '{other}' where id = '{held}'"))
        .await;
    for project in [world.project, other] {
        for statement in old_rows(project) {
            world.execute(&statement).await;
        }
    }
    world.policy(json!({"retention_days": {"deleted_records": 40, "bundles": 40}})).await;
    let left = "select concat_ws(' ', (select count(*) from bundles), (select count(*) from \
                memory_records),
                    (select count(*) from quarantine_items where state = 'pending'), (select \
                    count(*) from quarantine_items),
                    (select count(*) from webhook_deliveries), (select count(*) from \
                    pull_requests))";
    let expected = json!({
        "bundles": 1, "deleted_records": 1, "quarantine_items": 1, "decided_quarantine_items": 1,
        "deliveries": 1, "provider_data": 1, "reports": 0,
        "events": 0,
    });

    let looked = world.done(HygieneTask::Retention, true).await;
    assert_eq!((&looked.counts, world.text(left).await.as_str()), (&expected, "2 2 2 4 2 2"));
    let done = world.done(HygieneTask::Retention, false).await;
    assert_eq!((&done.counts, world.text(left).await.as_str()), (&expected, "1 1 1 3 1 1"));
    let told = "select count(*)::text from audit_events where action = 'quarantine_item.expired'";
    assert_eq!(world.text(told).await, "1");
    let again = world.done(HygieneTask::Retention, false).await;
    assert!(
        again.counts.as_object().unwrap().values().all(|count| count == 0),
        "{:?}",
        again.counts
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_dry_run_of_retention_looks_others_add_to_the_audit() {
    let world = World::new().await;
    for statement in old_rows(world.project) {
        world.execute(&statement).await;
    }
    // What it would delete of deliveries is somebody else's for now.
    let mut other = world.db.store().begin().await.unwrap();
    let days = RetentionDays::default();
    let theirs =
        purge(&mut other, world.project, RetentionCategory::Deliveries, &days).await.unwrap();
    assert_eq!(theirs, 1);
    let id = world.asked(HygieneTask::Retention, true).await;
    world.waits(id).await;
    let mut tx = world.db.store().begin().await.unwrap();
    let event = [NewEvent::new(AuditAction::RecordSaved, id)];
    audit::add(&mut tx, Chain::Project(world.project), None, &event);
    tokio::time::timeout(TIMEOUT, tx.commit()).await.expect("the chain is nobody's").unwrap();
    other.commit().await.unwrap();
    let report = world.ended(id).await;
    assert_eq!((report.last_error, &report.counts["quarantine_items"]), (None, &json!(1)));
}

/// Statements that give a project one of each of what is kept for a time, older than that.
fn old_rows(project: ProjectId) -> [String; 5] {
    [
        format!(
            "insert into bundles (id, project_id, principal, request, confidence, token_count, \
             created_at)
             values (gen_random_uuid(), '{project}', 'ann', '{{}}', 1, 1, now() - interval '50 \
             days')"
        ),
        format!(
            "insert into quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext, \
             expires_at, state, decided_at)
             values (gen_random_uuid(), '{project}', 'save', '{{jwt}}', 'x', '\\x00', now() - \
             interval '1 day', 'pending', null),
                    (gen_random_uuid(), '{project}', 'save', '{{jwt}}', '', '', now() - interval \
                    '50 days', 'deleted',
                     now() - interval '50 days')"
        ),
        format!(
            "insert into webhooks (id, project_id, provider, secret)
             values (gen_random_uuid(), '{project}', 'github', '\\x00')"
        ),
        format!(
            "insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type, \
             event, received_at)
             select gen_random_uuid(), project_id, id, 'd', 'ping', '{{}}', now() - interval '15 \
             days' from webhooks
             where project_id = '{project}'"
        ),
        format!(
            "insert into pull_requests (id, project_id, external_id, title, state, \
             source_updated_at)
             values (gen_random_uuid(), '{project}', 'a/b!1', '', 'merged', now() - interval '2 \
             years')"
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expired_long_ago_is_taken_out_and_what_the_policy_deletes_is_said_before() {
    let world = World::new().await;
    let [long_ago, lately, private] =
        [world.record(RETRY).await, world.record(RETOLD).await, world.record("Mail waits").await];
    world.record("Carts expire at noon").await;
    for (id, days) in [(long_ago, 40), (lately, 3), (private, 40)] {
        world
            .execute(&format!(
                "update memory_records set ttl = now() - interval '{days} days' where id = '{id}'"
            ))
            .await;
    }
    world
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
         '{private}'",
            UserId::LOCAL
        ))
        .await;
    let removed = world.record("Exports run at two").await;
    world
        .execute(&format!(
            "update memory_records set state = 'deleted', updated_at = now() - interval '175 days' \
         where id = '{removed}'"
        ))
        .await;

    let looked = world.done(HygieneTask::Expiry, true).await;
    assert_eq!(
        (&looked.counts["expired"], &looked.counts["expired_long_ago"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(looked.counts["deleted_records_purged_within_7_days"], 1);
    assert_eq!((&looked.counts["retired"], world.live().await), (&Value::Null, "4".into()));

    let done = world.done(HygieneTask::Expiry, false).await;
    assert_eq!(
        (&done.counts["retired"], &done.findings),
        (&json!(2), &json!([{"record": long_ago}]))
    );
    assert_eq!(world.live().await, "2");
    let told =
        world.text("select details::text from audit_events where action = 'records.retired'").await;
    assert!(told.contains(&long_ago.to_string()) && !told.contains(&private.to_string()), "{told}");
    assert_eq!(world.done(HygieneTask::Expiry, false).await.counts["expired_long_ago"], 0);
}

/// So many facts of which nobody named the end, which comes in so many hours.
async fn ending(world: &World, count: usize, hours: i32) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(world.record(&format!("Shelf {n} of row {hours} holds spare parts")).await);
    }
    let all: Vec<_> = ids.iter().map(|id| format!("'{id}'")).collect();
    world
        .execute(&format!(
            "update memory_records set ttl = now() + interval '{hours} hours' where id in ({})",
            all.join(", ")
        ))
        .await;
    ids
}

const FOUND: &str = "select count(*)::text from memory_records
                     where state = 'active' and ttl > now() + interval '1 day'";

impl World {
    async fn decided(&self, decision: ExpiryDecision) -> Report {
        let mut tx =
            self.db.service().for_project(UserId::LOCAL, self.project).begin().await.unwrap();
        let (project, task) = (self.project, HygieneTask::Expiry);
        let asked =
            hygiene::request_with_decision(&mut tx, project, task, false, Some(decision)).await;
        tx.commit().await.unwrap();
        self.ended(asked.unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mass_expiry_waits_for_a_person_who_lets_it_happen() {
    let world = World::new().await;
    let ids = ending(&world, 21, 3).await;
    let looked = world.done(HygieneTask::Expiry, true).await;
    assert_eq!((&looked.counts["held_now"], world.text(FOUND).await), (&json!(21), "0".into()));
    assert_eq!(cleanup::sweep(world.db.store()).await.unwrap().held, 21);
    assert_eq!(world.text(FOUND).await, "21", "what waits is found on");

    let done = world.done(HygieneTask::Expiry, false).await;
    assert_eq!((&done.counts["held"], &done.counts["retired"]), (&json!(21), &Value::Null));
    assert_eq!(done.findings[0], json!({"record": ids[0], "end": "held"}));
    let used = ids[7];
    world
        .execute(&format!(
            "update memory_records set last_recalled_at = expiry_suspended_at + interval '1 \
             second' where id = '{used}'"
        ))
        .await;
    let decided = world.decided(ExpiryDecision::Confirm).await;
    assert_eq!((&decided.counts["ended"], &decided.counts["held"]), (&json!(20), &json!(0)));
    assert_eq!(world.text(FOUND).await, "1", "what was recalled meanwhile lives on");
    assert_eq!(cleanup::sweep(world.db.store()).await.unwrap().held, 0, "it is decided");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mass_expiry_that_nobody_wants_is_put_off() {
    let world = World::new().await;
    ending(&world, 30, 3).await;
    assert_eq!(world.done(HygieneTask::Expiry, false).await.counts["held"], 30);
    let decided = world.decided(ExpiryDecision::Extend).await;
    assert_eq!((&decided.counts["extended"], &decided.counts["held"]), (&json!(30), &json!(0)));
    let days =
        "select string_agg(distinct extract(day from ttl - now())::text, ' ') from memory_records";
    assert_eq!(world.text(days).await, "179", "as the policy has it, from now on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_ends_named_ends_and_a_small_share_of_a_project_come_as_they_are() {
    let few = World::new().await;
    ending(&few, 20, 3).await;
    assert_eq!(cleanup::sweep(few.db.store()).await.unwrap().held, 0);
    few.execute("update memory_records set is_ttl_explicit = true").await;
    ending(&few, 20, 2).await;
    assert_eq!(cleanup::sweep(few.db.store()).await.unwrap().held, 0, "a person named the others");
    let large = World::new().await;
    ending(&large, 22, 3).await;
    ending(&large, 198, 900).await;
    assert_eq!(cleanup::sweep(large.db.store()).await.unwrap().held, 0, "one in ten is not more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expired_long_ago_all_at_once_waits_as_well() {
    let world = World::new().await;
    ending(&world, 25, -24 * 40).await;
    let done = world.done(HygieneTask::Expiry, false).await;
    assert_eq!((&done.counts["held"], &done.counts["retired"]), (&json!(25), &Value::Null));
    assert_eq!(world.live().await, "25");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citations_that_nobody_checked_are_checked() {
    let world = World::new().await;
    let [gone, there] = [world.record(RETRY).await, world.record("Carts expire at noon").await];
    for (record, verdict) in [(gone, "fresh"), (there, "unchecked")] {
        world
            .execute(&format!(
                "insert into record_citations (id, record_id, project_id, file_path, verdict, \
             content_hash)
             values (gen_random_uuid(), '{record}', '{}', 'a.rb', '{verdict}', '\\x00')",
                world.project
            ))
            .await;
    }
    let stale =
        "select coalesce(string_agg(id::text, ','), '') from memory_records where state = 'stale'";
    let looked = world.done(HygieneTask::Citations, true).await;
    assert_eq!(looked.counts, json!({"records": 2, "turned_stale": 1, "turned_active": 0}));
    assert_eq!(world.text(stale).await, "");
    let done = world.done(HygieneTask::Citations, false).await;
    assert_eq!(done.counts["turned_stale"], 1);
    assert_eq!(world.text(stale).await, gone.to_string());
    assert_eq!(world.done(HygieneTask::Citations, false).await.counts["turned_stale"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repositories_that_nobody_had_read_for_long_are_read_again_once() {
    let world = World::new().await;
    for (name, days) in [("old", 8), ("young", 6)] {
        world
            .execute(&format!(
                "insert into repositories (id, project_id, owner, name, location, indexed_at)
             values (gen_random_uuid(), '{}', 'acme', '{name}', \
             'https://git.example.org/{name}.git',
                     now() - interval '{days} days')",
                world.project
            ))
            .await;
    }
    let runs = "select count(*)::text from ingest_runs";
    let looked = world.done(HygieneTask::Reindex, true).await;
    assert_eq!((&looked.counts["repositories"], world.text(runs).await), (&json!(1), "0".into()));
    assert_eq!(looked.findings[0]["repository"], "repo:acme/old");
    assert_eq!(world.done(HygieneTask::Reindex, false).await.counts["asked"], 1);
    // A run that fails is not asked for again before the days are over.
    world.execute("update ingest_runs set status = 'FAILED'").await;
    assert_eq!(world.done(HygieneTask::Reindex, false).await.counts["repositories"], 0);
    assert_eq!(world.text(runs).await, "1");
}

/// Runs a statement of which no trigger hears, as damage does.
async fn unheard(world: &World, sql: &str) {
    world
        .execute(&format!(
            "do $unheard$ begin
                 perform set_config('session_replication_role', 'replica', true); {sql};
             end $unheard$"
        ))
        .await;
}

/// Brings a look that finds nothing, damage of one sort, a look that only says so, and its repair.
async fn mended(world: &World, what: &str, damage: &str, is_whole: &str) {
    let quiet = world.done(HygieneTask::Consistency, false).await;
    assert!(
        quiet.counts.as_object().unwrap().values().all(|count| count == 0),
        "{what}: {:?}",
        quiet.counts
    );
    assert_eq!(world.text(is_whole).await, "true", "{what}, before");
    unheard(world, damage).await;
    assert_eq!(world.text(is_whole).await, "false", "{what}, damaged");
    let looked = world.done(HygieneTask::Consistency, true).await;
    assert_eq!(looked.counts[what], 1, "{:?}", looked.counts);
    assert_eq!(world.text(is_whole).await, "false", "{what}, looked at");
    let done = world.done(HygieneTask::Consistency, false).await;
    assert_eq!(done.counts[what], 1, "{:?}", done.counts);
    let told = "select details from audit_events where action = 'search_index.repaired' order by \
                seq desc limit 1";
    let told: Value = serde_json::from_str(&world.text(told).await).unwrap();
    assert_eq!(told[what], 1);
    assert_eq!(world.text(is_whole).await, "true", "{what}, mended");
}

/// One of each: a record, a document, a dialog and a piece of code, with what search sees of them.
async fn whole(world: &World) -> RecordId {
    let (id, p) = (world.record(RETRY).await, world.project);
    let sql = format!(
        "insert into repositories (id, project_id, owner, name, location, indexed_at)
         values (gen_random_uuid(), '{p}', 'acme', 'shop', 'https://git.example.org/shop.git', \
         now());
         insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
         language, line_count, chunker_version)
         select gen_random_uuid(), r.id, r.project_id, 'a.rb', '\\x01', 9, 'ruby', 1, 1 from \
         repositories r;
         insert into passages (id, project_id, file_id, text, content_hash)
         select gen_random_uuid(), f.project_id, f.id, 'class Cart', '\\x02' from files f;
         insert into code_chunks (passage_id, project_id, repository_id, file_id, chunk_index, \
         line_start, line_end,
             chunk_hash, span_hash)
         select p.id, p.project_id, f.repository_id, f.id, 0, 1, 1, '\\x00', '\\x00'
         from passages p join files f on f.id = p.file_id;
         insert into docs (id, project_id, source, doc_id, title, content)
         values (gen_random_uuid(), '{p}', 'wiki', 'adr-1', 'Units', '# Units' || chr(10) || \
         chr(10) || 'Count in minutes.');
         insert into passages (id, project_id, doc_id, title, location, text, content_hash)
         select gen_random_uuid(), d.project_id, d.id, 'Units', 'adr-1', 'Count in minutes.', \
         '\\x03' from docs d;
         insert into dialogs (id, project_id, distilled, is_searchable)
         values (gen_random_uuid(), '{p}', 'The units of both delays differ.', true);
         insert into passages (id, project_id, dialog_id, text, content_hash)
         select gen_random_uuid(), d.project_id, d.id, d.distilled, '\\x07' from dialogs d;
         insert into passages (id, project_id, record_id, record_kind, text, content_hash)
         values (gen_random_uuid(), '{p}', '{id}', 'fact', '{RETRY}', '\\x04');"
    );
    world.execute(&format!("do $whole$ begin {sql} end $whole$")).await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_damage_of_what_search_sees_is_found_said_and_mended() {
    let world = World::new().await;
    let id = whole(&world).await;
    mended(
        &world,
        "records_not_found",
        "delete from passages where record_id is not null",
        "select exists (select from passages where record_id is not null)::text",
    )
    .await;
    mended(
        &world,
        "records_not_found",
        "update passages set text = 'something else' where record_id is not null",
        &format!("select (text = '{RETRY}')::text from passages where record_id is not null"),
    )
    .await;
    mended(
        &world,
        "documents_not_found",
        "delete from passages where doc_id is not null",
        "select exists (select from passages where doc_id is not null and text like \
         '%minutes%')::text",
    )
    .await;
    for damage in [
        "delete from passages where dialog_id is not null",
        "update passages set text = 'something else' where dialog_id is not null",
    ] {
        let found = "select exists (select from passages p join dialogs d on d.id = p.dialog_id
                                    where p.text = d.distilled)::text";
        mended(&world, "dialogs_not_found", damage, found).await;
    }
    mended(
        &world,
        "passages_without_vector",
        "delete from embedding_queue where passage_id in (select id from passages where doc_id is \
         not null)",
        "select exists (select from embedding_queue q join passages p on p.id = q.passage_id
                        where p.doc_id is not null)::text",
    )
    .await;
    // Whose a vector is must never be more than whose its passage is.
    world
        .execute("insert into embedding_models (name, dimensions, provider) values ('m', 2, '{}')")
        .await;
    world
        .execute(
            "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
         embedding)
         select m.id, p.id, p.project_id, p.source_kind, p.content_hash, '[1,0]' from passages p, \
         embedding_models m
         where m.name = 'm' and p.record_id is not null",
        )
        .await;
    mended(
        &world,
        "vectors_of_others",
        &format!("update embeddings set private_to = '{}'", UserId::LOCAL),
        "select (private_to is null)::text from embeddings",
    )
    .await;
    mended(
        &world,
        "stray_passages",
        &format!(
            "insert into memory_records (id, project_id, kind, content, ttl, content_hash, \
             simhash, state)
             select gen_random_uuid(), project_id, 'fact', 'gone', ttl, '\\x05', 1, 'deleted' from \
             memory_records;
             insert into passages (id, project_id, record_id, record_kind, text, content_hash)
             select gen_random_uuid(), project_id, id, 'fact', 'gone', '\\x05' from memory_records \
             where id <> '{id}'"
        ),
        "select (not exists (select from passages where text = 'gone'))::text",
    )
    .await;
    mended(
        &world,
        "stray_passages",
        "update dialogs set is_searchable = false",
        "select (is_searchable = exists (select from passages where dialog_id is not null))::text \
         from dialogs",
    )
    .await;
    // Last: until its repository was read again there is less of it.
    mended(
        &world,
        "code_without_place",
        "delete from code_chunks",
        "select (not exists (select from passages p where p.file_id is not null
                 and not exists (select from code_chunks c where c.passage_id = p.id)))::text",
    )
    .await;
    assert_eq!(world.text("select (content_hash = '\\x')::text from files").await, "true");
    assert_eq!(
        world.text("select count(*)::text from ingest_runs where status = 'QUEUED'").await,
        "1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dialog_of_an_older_node_which_did_not_say_whether_it_is_found_stays_as_it_is() {
    let world = World::new().await;
    whole(&world).await;
    world
        .execute(&format!(
            "do $older$ begin
                 insert into dialogs (id, project_id, distilled)
                 values (gen_random_uuid(), '{p}', 'Delays are minutes.'), (gen_random_uuid(), \
                 '{p}', 'Nobody finds this.');
                 insert into passages (id, project_id, dialog_id, text, content_hash)
                 select gen_random_uuid(), d.project_id, d.id, d.distilled, '\\x08' from dialogs d
                 where d.distilled = 'Delays are minutes.';
             end $older$",
            p = world.project
        ))
        .await;
    let done = world.done(HygieneTask::Consistency, false).await;
    for what in ["stray_passages", "dialogs_not_found"] {
        assert_eq!(done.counts[what], 0, "{:?}", done.counts);
    }
    let passages = "select count(*)::text from passages where dialog_id is not null";
    assert_eq!(world.text(passages).await, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repositories_are_held_before_the_audit_and_a_look_asks_for_nothing() {
    let world = World::new().await;
    whole(&world).await;
    world
        .execute(&format!(
            "do $more$ begin
                 insert into repositories (id, project_id, owner, name, location, indexed_at)
                 values (gen_random_uuid(), '{}', 'acme', 'zoo', \
                 'https://git.example.org/zoo.git', now());
                 insert into files (id, repository_id, project_id, path, content_hash, size_bytes, \
                 language, line_count,
                     chunker_version)
                 select gen_random_uuid(), r.id, r.project_id, 'b.rb', '\\x01', 9, 'ruby', 1, 1
                 from repositories r where r.name = 'zoo';
                 insert into passages (id, project_id, file_id, text, content_hash)
                 select gen_random_uuid(), f.project_id, f.id, 'class Zoo', '\\x06' from files f \
                 where f.path = 'b.rb';
                 delete from code_chunks;
             end $more$",
            world.project
        ))
        .await;
    let runs = "select count(*)::text from ingest_runs";
    let looked = world.done(HygieneTask::Consistency, true).await;
    assert_eq!(
        (&looked.counts["code_without_place"], &looked.counts["and_more"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(world.text(runs).await, "0");

    // Somebody asks for the second meanwhile: it is held, and then the audit.
    let mut tx = world.db.store().begin().await.unwrap();
    let known = repositories::list_in(&mut tx, world.project).await.unwrap();
    let zoo = known.iter().find(|known| known.name == "zoo").unwrap();
    let asked_for = ingest_runs::last_requested_ref(&mut tx, zoo).await.unwrap();
    let id = world.asked(HygieneTask::Consistency, false).await;
    world.waits(id).await;
    ingest_runs::enqueue(&mut tx, zoo, &asked_for).await.unwrap();
    tx.commit().await.unwrap();
    let done = world.ended(id).await;
    assert_eq!((done.last_error, &done.counts["code_without_place"]), (None, &json!(2)));
    assert_eq!(world.text(runs).await, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_which_nothing_can_be_made_hide_no_others_and_comments_are_only_told_of() {
    let world = World::new().await;
    // Front matter says nothing to search. The ids are in the order of the numbers.
    world
        .execute(&format!(
            "insert into docs (id, project_id, source, doc_id, title, content)
             select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, '{}',
                    case when n = 1 then 'tracker:github' else 'wiki' end, 'page-' || n, 'Units',
                    case when n in (1, 502, 503) then 'ann: Count in minutes.'
                         else E'---\\ntags: [a]\\n---\\n' end
             from generate_series(1, 503) n",
            world.project
        ))
        .await;
    let cut = "select string_agg(d.doc_id, ',' order by d.id) from passages p join docs d on d.id \
               = p.doc_id";
    let done = world.done(HygieneTask::Consistency, false).await;
    assert_eq!(
        (&done.counts["documents_not_found"], &done.counts["conversations_not_found"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(done.findings, json!([{"document": "00000000-0000-7000-8000-000000000001"}]));
    assert_eq!(world.text(cut).await, "page-502,page-503");
}

/// A conversation that a client sends.
async fn sent(world: &World, said: &[(&str, &str)]) {
    let said = said.iter().map(|(author, text)| documents::ConversationMessage {
        author: Some((*author).to_owned()),
        sent_at: Some("2026-11-01T10:30:00Z".parse().unwrap()),
        text: (*text).to_owned(),
    });
    let document = Document {
        doc_id: "thread-1".to_owned(),
        title: "Units".to_owned(),
        body: Body::Conversation(said.collect()),
        url: String::new(),
        scope: Vec::new(),
        tags: vec!["units".to_owned()],
    };
    let source = "tracker:chat".to_owned();
    let incoming = vec![NewDocument { saved_by: None, connection: None, source, document }];
    let prepared = prepare_all(&Policy::default(), incoming, ReviewStatus::Unreviewed).await;
    let mut tx = world.db.store().begin().await.unwrap();
    prepared[0].write(&mut tx, world.project).await.unwrap();
    tx.commit().await.unwrap();
}

/// The same as comments that a tracker tells of.
async fn told(world: &World, said: &[(&str, &str)]) {
    let policy = serde_json::from_value(json!({ "trackers": {"import_comments": true } })).unwrap();
    let (external_id, title) = ("shop#1".to_owned(), "Units".to_owned());
    let thread = Thread { external_id, title, url: String::new() };
    let comment = |(id, (author, text)): (usize, &(&str, &str))| Comment {
        id: id.to_string(),
        author: Some((*author).to_owned()),
        text: (*text).to_owned(),
        sent_at: Some("2026-11-01T10:30:00Z".parse().unwrap()),
        updated_at: None,
        is_deleted: false,
    };
    let comments: Vec<_> = said.iter().enumerate().map(comment).collect();
    let of = (Provider::Github, &thread);
    let said =
        mc_jobs::apply::doc_parts::DocPartBatch::told(&policy, of, &comments, chrono::Utc::now());
    let mut tx = world.db.store().begin().await.unwrap();
    mc_jobs::apply::doc_parts::write(&mut tx, world.project, &policy, &said).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_are_cut_again_as_they_were() {
    let world = World::new().await;
    let said =
        [("Ann", "Minutes or hours?"), ("Bo", "Count in minutes.\n\n# Always\n\nEverywhere.")];
    sent(&world, &said).await;
    told(&world, &said).await;
    let found = "select json_agg(row(d.doc_id, p.ordinal, p.title, p.location, p.author, \
                 p.context, p.text, p.tags,
                         p.line_start, p.line_end, p.content_hash) order by d.doc_id, \
                         p.ordinal)::text
                 from passages p join docs d on d.id = p.doc_id";
    let before = world.text(found).await;
    assert!(before.contains("1 November 2026, 10:30\\nAnn: Minutes or hours?"), "{before}");
    unheard(&world, "delete from passages").await;
    let done = world.done(HygieneTask::Consistency, false).await;
    assert_eq!(done.counts["documents_not_found"], 2, "{:?}", done.counts);
    assert_eq!(world.text(found).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_says_where_there_is_more_than_it_counts() {
    let world = World::new().await;
    world
        .execute(&format!(
            "insert into docs (id, project_id, source, doc_id, title, content)
             select gen_random_uuid(), '{}', 'wiki', 'page-' || n, 'Units', 'Count in minutes.'
             from generate_series(1, 501) n",
            world.project
        ))
        .await;
    let looked = world.done(HygieneTask::Consistency, true).await;
    assert_eq!(
        (&looked.counts["documents_not_found"], &looked.counts["and_more"]),
        (&json!(500), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_eight_exports_are_kept_and_hold_what_the_team_knows() {
    let world = World::new().await;
    world.record(RETRY).await;
    let [private, proposed] =
        [world.record("Mail waits").await, world.record("Carts expire at noon").await];
    world
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
         '{private}'",
            UserId::LOCAL
        ))
        .await;
    world
        .execute(&format!(
            "update memory_records set visibility = 'proposed', trust = 'untrusted' where id = \
         '{proposed}'"
        ))
        .await;
    let looked = world.done(HygieneTask::Export, true).await;
    assert_eq!(looked.counts, json!({"records": 1}));
    assert!(exports::list(world.db.store(), world.project).await.unwrap().is_empty());
    for _ in 0..9 {
        world.done(HygieneTask::Export, false).await;
    }
    let kept = exports::list(world.db.store(), world.project).await.unwrap();
    assert_eq!(kept.len(), 8);
    assert!(kept.is_sorted_by(|a, b| a.id > b.id));
    let document =
        exports::document(world.db.store(), world.project, kept[0].id).await.unwrap().unwrap();
    let document = mc_memory::export::decompress(&document).unwrap();
    assert!(document.contains(RETRY), "{document}");
    assert!(!document.contains("Mail waits") && !document.contains("Carts expire"), "{document}");
}
