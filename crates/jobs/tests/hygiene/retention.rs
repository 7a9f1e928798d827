//! The task `retention`.

use mc_domain::policy::RetentionDays;
use mc_domain::{AuditAction, HygieneTask, ProjectId};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::retention::{RetentionCategory, purge};
use serde_json::json;

use crate::fixture::{Fixture, RETRY, RETRY_REWORDED, TIMEOUT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_deletes_old_data_of_its_project_only() {
    let fixture = Fixture::new().await;
    let other = fixture.db.project("other").await.id;
    let [deleted, foreign] = [fixture.record(RETRY).await, fixture.record(RETRY_REWORDED).await];
    fixture
        .execute(&format!(
            "update memory_records set state = 'deleted', updated_at = now() - interval '50 days'
             where id in ('{deleted}', '{foreign}')"
        ))
        .await;
    fixture
        .execute(&format!(
            "update memory_records set project_id = '{other}' where id = '{foreign}'"
        ))
        .await;
    for project in [fixture.project, other] {
        for statement in old_rows(project) {
            fixture.execute(&statement).await;
        }
    }
    fixture.set_policy(json!({"retention_days": {"deleted_records": 40, "bundles": 40}})).await;
    let counts = "select concat_ws(' ', (select count(*) from bundles), (select count(*) from \
                memory_records),
                    (select count(*) from quarantine_items where state = 'pending'), (select \
                    count(*) from quarantine_items),
                    (select count(*) from webhook_deliveries), (select count(*) from \
                    pull_requests))";
    let expected = json!({
        "bundles": 1, "usage_data": 0, "deleted_records": 1, "quarantine_items": 1,
        "decided_quarantine_items": 1,
        "webhook_deliveries": 1, "provider_data": 1, "hygiene_runs": 0,
        "audit_events": 0,
    });

    let dry_run = fixture.run(HygieneTask::Retention, true).await;
    assert_eq!((&dry_run.counts, fixture.text(counts).await.as_str()), (&expected, "2 2 2 4 2 2"));
    let applied = fixture.run(HygieneTask::Retention, false).await;
    assert_eq!((&applied.counts, fixture.text(counts).await.as_str()), (&expected, "1 1 1 3 1 1"));
    let events = "select count(*)::text from audit_events where action = 'quarantine_item.expired'";
    assert_eq!(fixture.text(events).await, "1");
    let again = fixture.run(HygieneTask::Retention, false).await;
    assert!(
        again.counts.as_object().unwrap().values().all(|count| count == 0),
        "{:?}",
        again.counts
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_dry_run_does_not_block_the_audit() {
    let fixture = Fixture::new().await;
    for statement in old_rows(fixture.project) {
        fixture.execute(&statement).await;
    }
    // Another transaction has locked the deliveries that the dry run would delete.
    let mut other = fixture.db.store().begin().await.unwrap();
    let days = RetentionDays::default();
    let locked =
        purge(&mut other, fixture.project, RetentionCategory::Deliveries, &days).await.unwrap();
    assert_eq!(locked, 1);
    let id = fixture.request(HygieneTask::Retention, true).await;
    fixture.wait_for_lock(id).await;
    let mut tx = fixture.db.store().begin().await.unwrap();
    let event = [NewEvent::new(AuditAction::RecordSaved, id)];
    audit::add(&mut tx, Chain::Project(fixture.project), None, &event);
    tokio::time::timeout(TIMEOUT, tx.commit()).await.expect("the chain is not locked").unwrap();
    other.commit().await.unwrap();
    let dry_run = fixture.wait_for_end(id).await;
    assert_eq!((dry_run.last_error, &dry_run.counts["quarantine_items"]), (None, &json!(1)));
}

/// Returns statements that create a row past its retention in each category.
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
