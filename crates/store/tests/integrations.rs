//! Connections to other systems as rows: when each is due, and who goes on with it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use mc_domain::{Capability, IntegrationId, ProjectId, UserId};
use mc_sanitizer::mask;
use mc_store::integrations::{self, NewIntegration};
use mc_store::tasks::{NewTask, Upserted};
use mc_store::testing::{execute, text};
use mc_store::{Error, Store, audit, deletion_candidates, tasks};
use mc_testkit::TestDatabase;
use serde_json::json;

fn new(what: &str, ability: Capability) -> NewIntegration {
    NewIntegration {
        id: IntegrationId::generate(),
        connector: "ours".to_owned(),
        resource: what.to_owned(),
        capability: ability,
        interval_minutes: 15,
        include_comments: true,
    }
}

async fn made(store: &Store, project: ProjectId, new: &NewIntegration) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    integrations::create(&mut tx, project, new).await?;
    tx.commit().await
}

/// A project, entered by its maintainer, and a connection of it.
async fn connected(db: &TestDatabase) -> (ProjectId, Store, IntegrationId) {
    let project = db.project("shop").await.id;
    let shop = db.service().for_project(UserId::LOCAL, project);
    let one = new("CS", Capability::Issues);
    made(&shop, project, &one).await.unwrap();
    (project, shop, one.id)
}

async fn syncs(db: &TestDatabase) -> String {
    let sql = "select count(*)::text from apalis.jobs where job_type = 'sync_integration'";
    text(db.store(), sql).await.unwrap()
}

#[tokio::test]
async fn a_part_of_a_system_is_connected_once_for_each_thing_that_it_is_asked_for() {
    let db = TestDatabase::create().await;
    let (project, shop, _) = connected(&db).await;
    let twice = made(&shop, project, &new("CS", Capability::Issues)).await;
    assert!(matches!(twice, Err(Error::Exists { .. })), "{twice:?}");
    made(&shop, project, &new("CS", Capability::Refs)).await.unwrap();
    let other = db.project("other").await.id;
    let there = db.service().for_project(UserId::LOCAL, other);
    made(&there, other, &new("CS", Capability::Issues)).await.unwrap();
    assert_eq!(integrations::list(&shop, project).await.unwrap().len(), 2);
}

#[tokio::test]
async fn each_time_that_it_is_due_it_is_asked_for_once() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = connected(&db).await;
    assert_eq!(syncs(&db).await, "1", "with its creation");
    assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), 0);
    let asking = integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    assert_eq!(
        (asking.project, asking.key.as_str(), asking.consecutive_failures),
        (project, "shop", 0)
    );
    let quarter = Utc::now() + TimeDelta::minutes(14);
    let connection = integrations::find(&shop, project, id).await.unwrap().unwrap();
    assert!(connection.next_sync_at > quarter, "also where nothing is heard of it any more");
    execute(db.url(), "update integrations set next_sync_at = now() - interval '1 s'")
        .await
        .unwrap();
    for expected in [1, 0] {
        assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), expected);
    }
    integrations::finish_sync(db.store(), id, Duration::from_mins(15)).await.unwrap();
    assert_eq!(integrations::enqueue_due_syncs(db.store()).await.unwrap(), 0);
    assert_eq!(syncs(&db).await, "2");
}

#[tokio::test]
async fn however_often_it_is_asked_for_one_sync_waits() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = connected(&db).await;
    let ask = async || {
        let mut tx = shop.begin().await.unwrap();
        assert!(integrations::request_sync(&mut tx, project, id).await.unwrap());
        tx.commit().await.unwrap();
    };
    let due = integrations::find(&shop, project, id).await.unwrap().unwrap().next_sync_at;
    for _ in 0..3 {
        ask().await;
    }
    assert_eq!(syncs(&db).await, "1", "that of its creation waits");
    let connection = integrations::find(&shop, project, id).await.unwrap().unwrap();
    assert_eq!(connection.next_sync_at, due, "or the next look would ask for another");
    // One at work may have passed what is new; what ended has.
    for (status, expected) in [("Running", "2"), ("Done", "3")] {
        let all = format!("update apalis.jobs set status = '{status}'");
        execute(db.url(), &all).await.unwrap();
        tokio::join!(ask(), ask());
        assert_eq!(syncs(&db).await, expected, "{status}");
    }
    // One that is begun again much later is not what people wait for.
    execute(db.url(), "update apalis.jobs set run_at = now() + interval '1 hour'").await.unwrap();
    ask().await;
    assert_eq!(syncs(&db).await, "4");
}

#[tokio::test]
async fn a_connection_takes_its_job_with_it_but_for_one_at_work() {
    let db = TestDatabase::create().await;
    let (project, shop, mut id) = connected(&db).await;
    let remove = async |id| {
        let mut tx = shop.begin().await.unwrap();
        assert!(integrations::remove(&mut tx, project, id).await.unwrap().is_some());
        tx.commit().await.unwrap();
    };
    for status in ["Pending", "Done", "Killed", "Running"] {
        let one = format!(
            "update apalis.jobs set status = '{status}' where job_type = 'sync_integration'"
        );
        execute(db.url(), &one).await.unwrap();
        remove(id).await;
        let left = if status == "Running" { "1" } else { "0" };
        assert_eq!(syncs(&db).await, left, "{status}");
        let next = new("CS", Capability::Issues);
        made(&shop, project, &next).await.unwrap();
        id = next.id;
    }
}

#[tokio::test]
async fn of_two_who_go_on_from_the_same_place_one_does() {
    let db = TestDatabase::create().await;
    let (.., id) = connected(&db).await;
    let [first, second] = [json!({"cursor": 1}), json!({"cursor": 2})];
    let mut tx = db.store().begin().await.unwrap();
    assert!(integrations::advance(&mut tx, id, None, &first).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = db.store().begin().await.unwrap();
    assert!(!integrations::advance(&mut tx, id, None, &second).await.unwrap());
    assert!(integrations::advance(&mut tx, id, Some(&first), &second).await.unwrap());
    drop(tx);
    let asking = integrations::start_sync(db.store(), id).await.unwrap().unwrap();
    assert_eq!(asking.sync_state, Some(first), "what is taken back is taken back whole");
}

#[tokio::test]
async fn failures_are_counted_until_one_succeeds_and_a_wait_is_none() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = connected(&db).await;
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
    integrations::finish_sync(db.store(), id, Duration::from_mins(15)).await.unwrap();
    let well = seen().await;
    assert_eq!((well.consecutive_failures, well.last_error), (0, None));
    assert!(well.last_success_at.is_some() && well.next_sync_at < hour);
}

#[tokio::test]
async fn what_is_removed_leaves_what_came_by_it() {
    let db = TestDatabase::create().await;
    let (project, shop, id) = connected(&db).await;
    let came = format!(
        "insert into tasks (id, project_id, external_id, title) values (gen_random_uuid(), '{project}', 'CS-1', 'T')"
    );
    execute(db.url(), &came).await.unwrap();
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
    let removed = integrations::remove(&mut tx, project, id).await.unwrap().unwrap();
    assert_eq!((removed.connector.as_str(), removed.resource.as_str()), ("ours", "CS"));
    let event = audit::NewEvent::new(mc_domain::AuditAction::IntegrationChanged, id);
    audit::record(&mut tx, event);
    tx.commit().await.unwrap();
    let left = "select title || ' ' || (integration_id is null)::text from tasks";
    assert_eq!(text(db.store(), left).await.unwrap(), "T true");
}

/// What a tracker said once.
fn word() -> NewTask {
    NewTask {
        external_id: "CS-1".to_owned(),
        title: mask("Carts hang").text,
        status: Some("open".to_owned()),
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        is_whole: true,
        source_updated_at: Some("2026-11-01T10:00:00Z".parse().unwrap()),
    }
}

#[tokio::test]
async fn what_was_not_listed_or_forgotten_comes_back_with_the_same_word() {
    let db = TestDatabase::create().await;
    let (project, _, id) = connected(&db).await;
    let requested_at = "2026-11-02T10:00:00Z".parse().unwrap();
    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &word()).await.unwrap(), Upserted::Created);
    integrations::assign_integration(&mut tx, project, id, &["CS-1".to_owned()], &[])
        .await
        .unwrap();
    let other = IntegrationId::generate();
    let withdrawn =
        tasks::mark_missing_deleted(&mut tx, project, other, "CS-1", requested_at).await;
    assert!(!withdrawn.unwrap(), "another connection has brought it since");
    assert!(tasks::mark_missing_deleted(&mut tx, project, id, "CS-1", requested_at).await.unwrap());
    tx.commit().await.unwrap();
    let told = "select title || ' ' || status from tasks";
    assert_eq!(text(db.store(), told).await.unwrap(), " deleted");

    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &word()).await.unwrap(), Upserted::Updated);
    let newer = NewTask { source_updated_at: Some(requested_at + TimeDelta::hours(1)), ..word() };
    tasks::upsert(&mut tx, project, &newer).await.unwrap();
    let withdrawn = tasks::mark_missing_deleted(&mut tx, project, id, "CS-1", requested_at).await;
    assert!(!withdrawn.unwrap(), "it was heard of since");
    assert_eq!(integrations::forget(&mut tx, project, id).await.unwrap(), (1, 0));
    tx.commit().await.unwrap();
    assert_eq!(text(db.store(), told).await.unwrap(), " unknown");

    let mut tx = db.store().begin().await.unwrap();
    assert_eq!(tasks::upsert(&mut tx, project, &word()).await.unwrap(), Upserted::Updated);
    tx.commit().await.unwrap();
    assert_eq!(text(db.store(), told).await.unwrap(), "Carts hang open");
}

#[tokio::test]
async fn what_is_said_about_a_task_goes_with_what_was_told_of_it() {
    let db = TestDatabase::create().await;
    let (project, shop, _) = connected(&db).await;
    for (forget, id) in [(false, "CS-1"), (true, "CS-2")] {
        for source in ["tracker:jira", "wiki:ours"] {
            let said = format!(
                "insert into docs (id, project_id, source, doc_id, title, content)
                 values (gen_random_uuid(), '{project}', '{source}', '{id}', 'T', 'said')"
            );
            execute(db.url(), &said).await.unwrap();
        }
        let mut tx = shop.begin().await.unwrap();
        tasks::ensure(&mut tx, project, id).await.unwrap();
        if forget {
            assert!(tasks::forget(&mut tx, project, id).await.unwrap().is_some());
        } else {
            assert!(tasks::mark_deleted(&mut tx, project, id, Utc::now()).await.unwrap());
        }
        tx.commit().await.unwrap();
        let left = format!("select string_agg(source, ' ') from docs where doc_id = '{id}'");
        assert_eq!(text(db.store(), &left).await.unwrap(), "wiki:ours");
    }
}
