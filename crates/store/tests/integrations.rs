//! Integrations: schedules, sync positions and imported tasks.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use mc_domain::{Capability, IntegrationId, ProjectId, UserId};
use mc_sanitizer::mask;
use mc_store::integrations::{self, IntegrationUpdate, NewIntegration};
use mc_store::tasks::NewTask;
use mc_store::testing::{execute, text};
use mc_store::{Error, Store, Upserted, audit, deletion_candidates, tasks};
use mc_testkit::TestDatabase;
use serde_json::json;

fn new(resource: &str, capability: Capability) -> NewIntegration {
    NewIntegration {
        id: IntegrationId::generate(),
        connector: "ours".to_owned(),
        resource: resource.to_owned(),
        capability,
        interval_minutes: 15,
        include_comments: true,
    }
}

async fn create(store: &Store, project: ProjectId, new: &NewIntegration) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    integrations::create(&mut tx, project, new).await?;
    tx.commit().await
}

/// Returns a project, a store acting in it, and an integration of it.
async fn with_integration(db: &TestDatabase) -> (ProjectId, Store, IntegrationId) {
    let project = db.project("shop").await.id;
    let shop = db.service().for_project(UserId::LOCAL, project);
    let integration = new("CS", Capability::Issues);
    create(&shop, project, &integration).await.unwrap();
    (project, shop, integration.id)
}

async fn update(store: &Store, project: ProjectId, id: IntegrationId, change: &IntegrationUpdate) {
    let mut tx = store.begin().await.unwrap();
    assert!(integrations::update(&mut tx, project, id, change).await.unwrap());
    tx.commit().await.unwrap();
}

fn interval(minutes: i32) -> IntegrationUpdate {
    IntegrationUpdate { interval_minutes: Some(minutes), ..Default::default() }
}

async fn syncs(db: &TestDatabase) -> String {
    let sql = "select count(*)::text from apalis.jobs where job_type = 'sync_integration'";
    text(db.store(), sql).await.unwrap()
}

#[tokio::test]
async fn resource_has_one_integration_per_capability() {
    let db = TestDatabase::create().await;
    let (project, shop, _) = with_integration(&db).await;
    let twice = create(&shop, project, &new("CS", Capability::Issues)).await;
    assert!(matches!(twice, Err(Error::AlreadyExists { .. })), "{twice:?}");
    create(&shop, project, &new("CS", Capability::Refs)).await.unwrap();
    let other = db.project("other").await.id;
    let there = db.service().for_project(UserId::LOCAL, other);
    create(&there, other, &new("CS", Capability::Issues)).await.unwrap();
    assert_eq!(integrations::list(&shop, project).await.unwrap().len(), 2);
}

#[tokio::test]
async fn due_integration_is_enqueued_once_per_due_time() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    assert_eq!(syncs(&db).await, "1", "with its creation");
    assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), 0);
    let target = integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    assert_eq!(
        (target.project, target.key.as_str(), target.consecutive_failures),
        (project, "shop", 0)
    );
    let quarter = Utc::now() + TimeDelta::minutes(14);
    let integration = integrations::find(&shop, project, id).await.unwrap().unwrap();
    assert!(integration.next_sync_at > quarter, "also where nothing is heard of it any more");
    execute(db.url(), "update integrations set next_sync_at = now() - interval '1 s'")
        .await
        .unwrap();
    for expected in [1, 0] {
        assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), expected);
    }
    integrations::finish_sync(db.store(), id).await.unwrap();
    assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), 0);
    assert_eq!(syncs(&db).await, "2");
}

#[tokio::test]
async fn repeated_requests_leave_one_waiting_sync() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    let request = async || {
        let mut tx = shop.begin().await.unwrap();
        assert!(integrations::request_sync(&mut tx, project, id).await.unwrap());
        tx.commit().await.unwrap();
    };
    let due = integrations::find(&shop, project, id).await.unwrap().unwrap().next_sync_at;
    for _ in 0..3 {
        request().await;
    }
    assert_eq!(syncs(&db).await, "1", "that of its creation waits");
    let integration = integrations::find(&shop, project, id).await.unwrap().unwrap();
    assert_eq!(integration.next_sync_at, due, "or the next look would ask for another");
    // A running sync may have passed new items; a completed one has.
    for (status, expected) in [("Running", "2"), ("Done", "3")] {
        let all = format!("update apalis.jobs set status = '{status}'");
        execute(db.url(), &all).await.unwrap();
        tokio::join!(request(), request());
        assert_eq!(syncs(&db).await, expected, "{status}");
    }
    // A job that is retried much later is not the requested sync.
    execute(db.url(), "update apalis.jobs set run_at = now() + interval '1 hour'").await.unwrap();
    request().await;
    assert_eq!(syncs(&db).await, "4");
}

#[tokio::test]
async fn deleting_an_integration_deletes_its_job_unless_running() {
    let db = TestDatabase::create().await;
    let (project, shop, mut id) = with_integration(&db).await;
    let remove = async |id| {
        let mut tx = shop.begin().await.unwrap();
        assert!(integrations::delete(&mut tx, project, id).await.unwrap().is_some());
        tx.commit().await.unwrap();
    };
    for status in ["Pending", "Done", "Killed", "Running"] {
        let integration = format!(
            "update apalis.jobs set status = '{status}' where job_type = 'sync_integration'"
        );
        execute(db.url(), &integration).await.unwrap();
        remove(id).await;
        let left = if status == "Running" { "1" } else { "0" };
        assert_eq!(syncs(&db).await, left, "{status}");
        let next = new("CS", Capability::Issues);
        create(&shop, project, &next).await.unwrap();
        id = next.id;
    }
}

#[tokio::test]
async fn sync_position_is_moved_by_one_of_two_workers() {
    let db = TestDatabase::create().await;
    let (.., id) = with_integration(&db).await;
    let [first, second] = [json!({"cursor": 1}), json!({"cursor": 2})];
    let mut tx = db.store().begin().await.unwrap();
    assert!(integrations::advance(&mut tx, id, None, &first).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = db.store().begin().await.unwrap();
    assert!(!integrations::advance(&mut tx, id, None, &second).await.unwrap());
    assert!(integrations::advance(&mut tx, id, Some(&first), &second).await.unwrap());
    drop(tx);
    let target = integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    assert_eq!(target.sync_state, Some(first), "what is taken back is taken back whole");
}

#[tokio::test]
async fn only_a_shorter_interval_brings_the_next_sync_forward() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    // As after failures.
    let later = Duration::from_hours(2);
    integrations::reschedule(db.store(), id, Some("it was away"), later).await.unwrap();
    let due_at =
        async || integrations::find(&shop, project, id).await.unwrap().unwrap().next_sync_at;
    let rescheduled_at = due_at().await;
    let apply = async |change: IntegrationUpdate| update(&shop, project, id, &change).await;
    let flags = |is_set: bool| IntegrationUpdate {
        interval_minutes: None,
        include_comments: Some(is_set),
        is_paused: Some(!is_set),
    };
    for change in [flags(false), flags(true), interval(15), interval(60)] {
        apply(change).await;
        assert_eq!(due_at().await, rescheduled_at, "{change:?}");
    }
    apply(interval(10)).await;
    assert!(due_at().await < Utc::now() + TimeDelta::minutes(11));
}

#[tokio::test]
async fn a_shorter_interval_does_not_cut_the_wait_that_a_provider_demands() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    integrations::reschedule(db.store(), id, None, Duration::from_hours(2)).await.unwrap();
    let due_at =
        async || integrations::find(&shop, project, id).await.unwrap().unwrap().next_sync_at;
    let allowed_at = due_at().await;
    update(&shop, project, id, &interval(10)).await;
    assert_eq!(due_at().await, allowed_at);
    let paused = IntegrationUpdate { is_paused: Some(true), ..interval(5) };
    update(&shop, project, id, &paused).await;
    assert_eq!(due_at().await, allowed_at);
    integrations::finish_sync(db.store(), id).await.unwrap();
    let next = due_at().await;
    assert!(next < Utc::now() + TimeDelta::minutes(7), "the new interval applies: {next}");
}

#[tokio::test]
async fn a_pause_does_not_cut_the_wait_that_a_provider_demands() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    integrations::reschedule(db.store(), id, None, Duration::from_hours(2)).await.unwrap();
    let seen = async || integrations::find(&shop, project, id).await.unwrap().unwrap();
    let allowed_at = seen().await.next_sync_at;
    let pause = |is_paused| IntegrationUpdate { is_paused: Some(is_paused), ..Default::default() };
    for (change, is_running) in
        [(pause(true), false), (interval(10), false), (pause(false), true), (interval(5), true)]
    {
        update(&shop, project, id, &change).await;
        let integration = seen().await;
        assert_eq!(integration.next_sync_at, allowed_at, "{change:?}");
        assert_eq!(integration.current_run.is_some(), is_running, "{change:?}");
    }
}

#[tokio::test]
async fn failures_are_counted_until_a_sync_succeeds() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    let later = Duration::from_hours(2);
    let seen = async || integrations::find(&shop, project, id).await.unwrap().unwrap();
    for failures in 1..=2 {
        integrations::reschedule(db.store(), id, Some("it was away"), later).await.unwrap();
        assert_eq!(seen().await.consecutive_failures, failures);
    }
    integrations::reschedule(db.store(), id, None, later).await.unwrap();
    let failing = seen().await;
    assert_eq!(
        (failing.consecutive_failures, failing.last_error.as_deref()),
        (2, Some("it was away"))
    );
    let hour = Utc::now() + TimeDelta::hours(1);
    assert!(failing.next_sync_at > hour, "{}", failing.next_sync_at);
    let health = integrations::health(&shop, Some(project)).await.unwrap();
    assert_eq!((health[0].integration_count, health[0].failing_count), (1, 1));
    integrations::finish_sync(db.store(), id).await.unwrap();
    let succeeded = seen().await;
    assert_eq!((succeeded.consecutive_failures, succeeded.last_error), (0, None));
    assert!(succeeded.last_success_at.is_some() && succeeded.next_sync_at < hour);
}

#[tokio::test]
async fn deleting_an_integration_keeps_its_data() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = with_integration(&db).await;
    let imported = format!(
        "insert into tasks (id, project_id, external_id, title) values (gen_random_uuid(),
             '{project}', 'CS-1', 'T')"
    );
    execute(db.url(), &imported).await.unwrap();
    let mut tx = db.store().begin().await.unwrap();
    integrations::assign_integration(&mut tx, project, id, &["CS-1".to_owned()], &[])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(deletion_candidates::seed_tasks(&mut tx, id).await.unwrap(), 1);
    assert_eq!(deletion_candidates::take(&mut tx, id, 9).await.unwrap(), ["CS-1"]);
    assert!(!deletion_candidates::has_any(&mut tx, id).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = shop.begin().await.unwrap();
    let removed = integrations::delete(&mut tx, project, id).await.unwrap().unwrap();
    assert_eq!((removed.connector.as_str(), removed.resource.as_str()), ("ours", "CS"));
    let event = audit::NewEvent::new(mc_domain::AuditAction::IntegrationChanged, id);
    audit::record(&mut tx, event);
    tx.commit().await.unwrap();
    let left = "select title || ' ' || (integration_id is null)::text from tasks";
    assert_eq!(text(db.store(), left).await.unwrap(), "T true");
}

/// A state of a task at its tracker.
fn task() -> NewTask {
    NewTask {
        external_id: "CS-1".to_owned(),
        title: mask("Carts hang").text,
        status: Some("open".to_owned()),
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: None,
        closed_at: None,
        is_whole: true,
        source_updated_at: Some("2026-11-01T10:00:00Z".parse().unwrap()),
    }
}

#[tokio::test]
async fn same_state_restores_a_missing_or_erased_task() {
    let db = TestDatabase::create().await;
    let (project, _, id) = with_integration(&db).await;
    let requested_at = "2026-11-02T10:00:00Z".parse().unwrap();
    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &task()).await.unwrap(), Upserted::Created);
    integrations::assign_integration(&mut tx, project, id, &["CS-1".to_owned()], &[])
        .await
        .unwrap();
    let other = IntegrationId::generate();
    let cleared = tasks::mark_missing_deleted(&mut tx, project, other, "CS-1", requested_at).await;
    assert!(!cleared.unwrap(), "another connection has brought it since");
    assert!(tasks::mark_missing_deleted(&mut tx, project, id, "CS-1", requested_at).await.unwrap());
    tx.commit().await.unwrap();
    let stored = "select title || ' ' || status from tasks";
    assert_eq!(text(db.store(), stored).await.unwrap(), " deleted");

    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &task()).await.unwrap(), Upserted::Updated);
    let newer = NewTask { source_updated_at: Some(requested_at + TimeDelta::hours(1)), ..task() };
    tasks::upsert(&mut tx, project, &newer).await.unwrap();
    let cleared = tasks::mark_missing_deleted(&mut tx, project, id, "CS-1", requested_at).await;
    assert!(!cleared.unwrap(), "it was heard of since");
    assert_eq!(integrations::purge(&mut tx, project, id).await.unwrap(), (1, 0));
    tx.commit().await.unwrap();
    assert_eq!(text(db.store(), stored).await.unwrap(), " unknown");

    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &task()).await.unwrap(), Upserted::Updated);
    tx.commit().await.unwrap();
    assert_eq!(text(db.store(), stored).await.unwrap(), "Carts hang open");
}

#[tokio::test]
async fn comments_are_deleted_with_the_content_of_their_task() {
    let db = TestDatabase::create().await;
    let (project, shop, _) = with_integration(&db).await;
    for (forget, id) in [(false, "CS-1"), (true, "CS-2")] {
        for source in ["tracker:jira", "wiki:ours"] {
            let comment = format!(
                "insert into docs (id, project_id, source, doc_id, title, content)
                 values (gen_random_uuid(), '{project}', '{source}', '{id}', 'T', 'said')"
            );
            execute(db.url(), &comment).await.unwrap();
        }
        let mut tx = shop.begin().await.unwrap();
        tasks::ensure(&mut tx, project, id).await.unwrap();
        if forget {
            assert!(tasks::erase(&mut tx, project, id).await.unwrap().is_some());
        } else {
            assert!(tasks::mark_deleted(&mut tx, project, id, Utc::now()).await.unwrap());
        }
        tx.commit().await.unwrap();
        let left = format!("select string_agg(source, ' ') from docs where doc_id = '{id}'");
        assert_eq!(text(db.store(), &left).await.unwrap(), "wiki:ours");
    }
}
