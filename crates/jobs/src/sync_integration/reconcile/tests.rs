//! Reconciliation against a scripted listing.

use std::sync::Mutex;
use std::time::Instant;

use futures::future::BoxFuture;
use mc_connectors::client::Error;
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::IntegrationId;
use mc_store::Store;
use mc_store::integrations::{NewIntegration, SyncTarget};
use mc_store::testing::{execute, text};
use mc_testkit::TestDatabase;

use super::super::TIME_SLICE;
use super::*;

fn page(items: &[&str], next: u32, is_last: bool) -> Page<String> {
    let items = items.iter().map(|&id| id.to_owned()).collect();
    Page { items, next: Cursor(json!(next)), is_last }
}

/// A resource whose listing is a function of the cursor and the number of earlier requests; `None`
/// is an outage.
struct FakeListing<F> {
    respond: F,
    requests: Mutex<Vec<serde_json::Value>>,
}

impl<F: Fn(&Cursor, usize) -> Option<Page<String>> + Send + Sync> FakeListing<F> {
    fn new(respond: F) -> Self {
        Self { respond, requests: Mutex::default() }
    }

    /// Returns the cursors of all requests.
    fn requests(&self) -> Vec<serde_json::Value> {
        self.requests.lock().expect("no test panics with the lock").clone()
    }
}

impl<F: Fn(&Cursor, usize) -> Option<Page<String>> + Send + Sync> ListIds for FakeListing<F> {
    fn list_ids<'a>(&'a self, from: &'a Cursor) -> BoxFuture<'a, Result<Page<String>, Error>> {
        let mut requests = self.requests.lock().expect("no test panics with the lock");
        let response = (self.respond)(from, requests.len());
        requests.push(from.0.clone());
        let unavailable =
            || Error::Unavailable { connector: "ours".to_owned(), reason: "it stopped".to_owned() };
        Box::pin(std::future::ready(response.ok_or_else(unavailable)))
    }
}

/// A project with an integration that has imported tasks, and whose reconciliation is due.
struct Fixture {
    db: TestDatabase,
    id: IntegrationId,
}

impl Fixture {
    async fn with_tasks(external_ids: &[&str]) -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let id = IntegrationId::generate();
        let integration = NewIntegration {
            id,
            connector: "ours".to_owned(),
            resource: "CS".to_owned(),
            capability: Capability::Issues,
            interval_minutes: 15,
            include_comments: false,
        };
        let mut tx = db.store().begin().await.expect("a transaction");
        integrations::create(&mut tx, project, &integration).await.expect("an integration");
        tx.commit().await.expect("a commit");
        for external_id in external_ids {
            let sql = format!(
                "insert into tasks (id, project_id, external_id, title, status, \
                 integration_id, source_updated_at)
                 values (gen_random_uuid(), '{project}', '{external_id}', 'T', 'open', '{id}', \
                 '2026-11-01')"
            );
            execute(db.url(), &sql).await.expect("a task");
        }
        let a_day_passes = "update integrations set reconciled_at = now() - interval '25 hours'";
        execute(db.url(), a_day_passes).await.expect("an update");
        Self { db, id }
    }

    fn store(&self) -> &Store {
        self.db.store()
    }

    async fn target(&self) -> SyncTarget {
        let target = integrations::start_sync(self.store(), self.id).await;
        target.expect("a query").expect("an integration")
    }

    /// Reconciles as the next job does.
    async fn reconcile(&self, resource: &impl ListIds) -> Result<SyncOutcome, SyncError> {
        self.reconcile_since(Instant::now(), resource).await
    }

    async fn reconcile_since(
        &self,
        started: Instant,
        resource: &impl ListIds,
    ) -> Result<SyncOutcome, SyncError> {
        let target = self.target().await;
        let encryptor = Encryptor::new(EncryptionKey::generate(), Vec::new());
        let (store, encryptor) = (self.store(), &encryptor);
        let session = SyncSession { store, encryptor, target: &target, started };
        session.reconcile(Position::load(&target), resource).await
    }

    /// Returns the ids of deleted tasks, and whether the reconciliation is complete.
    async fn deleted_tasks(&self) -> (String, bool) {
        let deleted = "select coalesce(string_agg(external_id, ' ' order by external_id), '')
                       from tasks where status = 'deleted'";
        let complete = "select (reconciled_at > now() - interval '1 hour')::text from integrations";
        let complete = text(self.store(), complete).await.expect("an integration");
        (text(self.store(), deleted).await.expect("tasks"), complete == "true")
    }
}

fn is_completed(result: &Result<SyncOutcome, SyncError>) -> bool {
    matches!(result, Ok(SyncOutcome::Completed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_missing_from_two_listings_is_deleted() {
    let fixture = Fixture::with_tasks(&["a", "b", "c"]).await;
    let listing = FakeListing::new(|from: &Cursor, _| {
        let is_second = from.0 == json!(1);
        Some(if is_second { page(&["c"], 2, true) } else { page(&["a"], 1, false) })
    });
    assert!(is_completed(&fixture.reconcile(&listing).await));
    assert_eq!(fixture.deleted_tasks().await, ("b".to_owned(), true));
    assert_eq!(listing.requests().len(), 4, "two pages of two listings");
    let events = "select string_agg(action || details, ' ') from audit_events
                  where target = (select id::text from integrations)";
    let events = text(fixture.store(), events).await.expect("events");
    assert!(events.contains(r#"tasks.synced{"withdrawn":1}"#), "{events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_missing_from_one_listing_is_kept() {
    let fixture = Fixture::with_tasks(&["a", "b"]).await;
    let listing = FakeListing::new(|_: &Cursor, earlier| {
        Some(if earlier == 0 { page(&["a"], 1, true) } else { page(&["a", "b"], 1, true) })
    });
    assert!(is_completed(&fixture.reconcile(&listing).await));
    assert_eq!(fixture.deleted_tasks().await, (String::new(), true));
    assert_eq!(listing.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_listing_resumes_and_deletes_only_after_its_end() {
    let fixture = Fixture::with_tasks(&["a", "b", "c", "d"]).await;
    // The first request for the third page fails.
    let listing = FakeListing::new(|from: &Cursor, earlier| match from.0.as_u64() {
        None => Some(page(&["a"], 1, false)),
        Some(1) => Some(page(&["b"], 2, false)),
        Some(_) => (earlier > 2).then(|| page(&["c"], 3, true)),
    });
    assert!(fixture.reconcile(&listing).await.is_err());
    assert_eq!(fixture.deleted_tasks().await, (String::new(), false));
    let candidates =
        "select string_agg(external_id, ' ' order by external_id) from deletion_candidates";
    assert_eq!(text(fixture.store(), candidates).await.expect("candidates"), "c d");

    // A task that was updated meanwhile is kept, though the listing lacks it.
    let update = "update tasks set source_updated_at = now() + interval '1 minute' where \
                  external_id = 'd'";
    execute(fixture.db.url(), update).await.expect("an update");
    assert!(is_completed(&fixture.reconcile(&listing).await));
    let null = json!(null);
    let interrupted = [null.clone(), json!(1), json!(2)];
    let resumed = [json!(2), null, json!(1), json!(2)];
    assert_eq!(listing.requests(), [&interrupted[..], &resumed[..]].concat());
    assert_eq!(fixture.deleted_tasks().await, (String::new(), true));
    assert!(is_completed(&fixture.reconcile(&listing).await));
    assert_eq!(listing.requests().len(), 7, "the next reconciliation is due a day later");
}

/// A listing of two pages. The first request for the second one fails.
fn second_page_fails_once(from: &Cursor, earlier: usize) -> Option<Page<String>> {
    match from.0.as_u64() {
        None => Some(page(&["a"], 1, false)),
        Some(_) => (earlier > 1).then(|| page(&["b"], 2, true)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_reconciliation_restarts() {
    let fixture = Fixture::with_tasks(&["a", "b"]).await;
    let listing = FakeListing::new(second_page_fails_once);
    assert!(fixture.reconcile(&listing).await.is_err());
    let days_pass = "update integrations set sync_state =
        jsonb_set(sync_state, '{sweep,started_at}', to_jsonb(now() - interval '3 days'))";
    execute(fixture.db.url(), days_pass).await.expect("an update");
    assert!(is_completed(&fixture.reconcile(&listing).await));
    let null = json!(null);
    assert_eq!(listing.requests(), [null.clone(), json!(1), null, json!(1)]);
    assert_eq!(fixture.deleted_tasks().await, (String::new(), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconciliation_with_too_many_ids_fails_and_restarts() {
    let fixture = Fixture::with_tasks(&["a", "b"]).await;
    let listing = FakeListing::new(second_page_fails_once);
    assert!(fixture.reconcile(&listing).await.is_err());
    let many = "update integrations set sync_state = jsonb_set(sync_state, '{sweep,listed}', \
                '500000')";
    execute(fixture.db.url(), many).await.expect("an update");
    let error = fixture.reconcile(&listing).await.expect_err("too many").to_string();
    assert!(error.contains("more than 500000"), "{error}");
    assert!(is_completed(&fixture.reconcile(&listing).await), "the listing may be shorter now");
    let null = json!(null);
    assert_eq!(listing.requests(), [null.clone(), json!(1), json!(1), null, json!(1)]);
    assert_eq!(fixture.deleted_tasks().await, (String::new(), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn next_job_continues_after_the_time_slice() {
    let fixture = Fixture::with_tasks(&["a", "b"]).await;
    let listing = FakeListing::new(|from: &Cursor, _| {
        let is_second = from.0 == json!(1);
        Some(if is_second { page(&["b"], 2, true) } else { page(&["a"], 1, false) })
    });
    let long_ago = Instant::now().checked_sub(TIME_SLICE).expect("a time");
    let outcome = fixture.reconcile_since(long_ago, &listing).await;
    assert!(matches!(outcome, Ok(SyncOutcome::Incomplete)));
    assert_eq!(listing.requests(), [json!(null)]);
    assert!(is_completed(&fixture.reconcile(&listing).await));
    assert_eq!(listing.requests(), [json!(null), json!(1)]);
    assert_eq!(fixture.deleted_tasks().await, (String::new(), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_or_repeated_listing_deletes_nothing() {
    let fixture = Fixture::with_tasks(&["a", "b"]).await;
    let empty = FakeListing::new(|_: &Cursor, _| Some(page(&[], 1, true)));
    let error = fixture.reconcile(&empty).await.expect_err("an empty listing").to_string();
    assert!(error.contains("lists nothing"), "{error}");
    let repeated = FakeListing::new(|_: &Cursor, _| Some(page(&["a"], 1, false)));
    let error = fixture.reconcile(&repeated).await.expect_err("the same page").to_string();
    assert!(error.contains("same page"), "{error}");
    assert_eq!(fixture.deleted_tasks().await, (String::new(), false));
}
