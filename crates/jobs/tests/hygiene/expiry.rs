//! The task `expiry`.

use mc_contract::operations::hygiene::HygieneRun;
use mc_domain::{ExpiryDecision, HygieneTask, RecordId, UserId};
use mc_store::cleanup;
use mc_store::hygiene;
use serde_json::{Value, json};

use crate::fixture::{Fixture, RETRY, RETRY_REWORDED};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expiry_deletes_long_expired_records_and_counts_due_ones() {
    let fixture = Fixture::new().await;
    let [long_ago, lately, private] = [
        fixture.record(RETRY).await,
        fixture.record(RETRY_REWORDED).await,
        fixture.record("Mail waits").await,
    ];
    fixture.record("Carts expire at noon").await;
    for (id, days) in [(long_ago, 40), (lately, 3), (private, 40)] {
        fixture
            .execute(&format!(
                "update memory_records set ttl = now() - interval '{days} days' where id = '{id}'"
            ))
            .await;
    }
    fixture
        .execute(&format!(
            "update memory_records set visibility = 'private', private_to = '{}' where id = \
         '{private}'",
            UserId::LOCAL
        ))
        .await;
    let deleted = fixture.record("Exports run at two").await;
    fixture
        .execute(&format!(
            "update memory_records set state = 'deleted', updated_at = now() - interval '175 days' \
         where id = '{deleted}'"
        ))
        .await;

    let dry_run = fixture.run(HygieneTask::Expiry, true).await;
    assert_eq!(
        (&dry_run.counts["expired"], &dry_run.counts["expired_long_ago"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(dry_run.counts["deleted_records_purged_within_7_days"], 1);
    assert_eq!(
        (&dry_run.counts["deleted"], fixture.live_record_count().await),
        (&Value::Null, "4".into())
    );

    let applied = fixture.run(HygieneTask::Expiry, false).await;
    assert_eq!(
        (&applied.counts["deleted"], &applied.findings),
        (&json!(2), &json!([{"record": long_ago}]))
    );
    assert_eq!(fixture.live_record_count().await, "2");
    let details = fixture
        .text("select details::text from audit_events where action = 'records.retired'")
        .await;
    assert!(details.contains(&long_ago.to_string()), "{details}");
    assert!(!details.contains(&private.to_string()), "{details}");
    assert_eq!(fixture.run(HygieneTask::Expiry, false).await.counts["expired_long_ago"], 0);
}

/// Creates facts without an explicit expiry that expire in so many hours.
async fn create_expiring(fixture: &Fixture, count: usize, hours: i32) -> Vec<RecordId> {
    let mut ids = Vec::new();
    for n in 0..count {
        ids.push(fixture.record(&format!("Shelf {n} of row {hours} holds spare parts")).await);
    }
    let all: Vec<_> = ids.iter().map(|id| format!("'{id}'")).collect();
    fixture
        .execute(&format!(
            "update memory_records set ttl = now() + interval '{hours} hours' where id in ({})",
            all.join(", ")
        ))
        .await;
    ids
}

/// Number of records that search finds for at least another day.
const UNEXPIRED: &str = "select count(*)::text from memory_records
                         where state = 'active' and ttl > now() + interval '1 day'";

impl Fixture {
    async fn run_expiry(&self, decision: ExpiryDecision) -> HygieneRun {
        let mut tx =
            self.db.service().for_project(UserId::LOCAL, self.project).begin().await.unwrap();
        let (project, task) = (self.project, HygieneTask::Expiry);
        let id = hygiene::request(&mut tx, project, task, false, Some(decision)).await;
        tx.commit().await.unwrap();
        self.wait_for_end(id.unwrap()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mass_expiry_is_suspended_until_confirmed() {
    let fixture = Fixture::new().await;
    let ids = create_expiring(&fixture, 21, 3).await;
    let dry_run = fixture.run(HygieneTask::Expiry, true).await;
    assert_eq!(
        (&dry_run.counts["newly_suspended"], fixture.text(UNEXPIRED).await),
        (&json!(21), "0".into())
    );
    assert_eq!(cleanup::sweep(fixture.db.store()).await.unwrap().suspended, 21);
    assert_eq!(fixture.text(UNEXPIRED).await, "21", "suspended records stay searchable");

    let applied = fixture.run(HygieneTask::Expiry, false).await;
    assert_eq!(
        (&applied.counts["suspended"], &applied.counts["deleted"]),
        (&json!(21), &Value::Null)
    );
    assert_eq!(applied.findings[0], json!({"record": ids[0], "expiry": "suspended"}));
    let used = ids[7];
    fixture
        .execute(&format!(
            "update memory_records set last_recalled_at = expiry_suspended_at + interval '1 \
             second' where id = '{used}'"
        ))
        .await;
    let decided = fixture.run_expiry(ExpiryDecision::Confirm).await;
    assert_eq!(
        (&decided.counts["confirmed"], &decided.counts["suspended"]),
        (&json!(20), &json!(0))
    );
    assert_eq!(fixture.text(UNEXPIRED).await, "1", "a record recalled meanwhile is kept");
    assert_eq!(
        cleanup::sweep(fixture.db.store()).await.unwrap().suspended,
        0,
        "the decision is final"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suspended_expiry_can_be_extended() {
    let fixture = Fixture::new().await;
    create_expiring(&fixture, 30, 3).await;
    assert_eq!(fixture.run(HygieneTask::Expiry, false).await.counts["suspended"], 30);
    let decided = fixture.run_expiry(ExpiryDecision::Extend).await;
    assert_eq!(
        (&decided.counts["extended"], &decided.counts["suspended"]),
        (&json!(30), &json!(0))
    );
    let days =
        "select string_agg(distinct extract(day from ttl - now())::text, ' ') from memory_records";
    assert_eq!(fixture.text(days).await, "179", "extended by the lifetime of the policy");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_or_explicit_expiries_are_not_suspended() {
    let few = Fixture::new().await;
    create_expiring(&few, 20, 3).await;
    assert_eq!(cleanup::sweep(few.db.store()).await.unwrap().suspended, 0);
    few.execute("update memory_records set is_ttl_explicit = true").await;
    create_expiring(&few, 20, 2).await;
    assert_eq!(
        cleanup::sweep(few.db.store()).await.unwrap().suspended,
        0,
        "explicit expiries do not count"
    );
    let large = Fixture::new().await;
    create_expiring(&large, 22, 3).await;
    create_expiring(&large, 198, 900).await;
    assert_eq!(
        cleanup::sweep(large.db.store()).await.unwrap().suspended,
        0,
        "a tenth is not more than the limit"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_of_many_long_expired_records_is_suspended() {
    let fixture = Fixture::new().await;
    create_expiring(&fixture, 25, -24 * 40).await;
    let applied = fixture.run(HygieneTask::Expiry, false).await;
    assert_eq!(
        (&applied.counts["suspended"], &applied.counts["deleted"]),
        (&json!(25), &Value::Null)
    );
    assert_eq!(fixture.live_record_count().await, "25");
}
