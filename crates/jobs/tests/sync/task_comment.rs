//! Posting of approved task comments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mc_connectors::client::Provider;
use mc_domain::{Policy, ProjectKey, TaskId};
use mc_memory::task_comment::{Subject, TaskCommentText, compose_comment};
use mc_store::task_comments::{self, TaskComment};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, Request, ResponseTemplate};

use crate::fixture::{CARTS, CUSTOMERS, Fixture, Issue, redmine};

const STATE: &str = "select coalesce(max(state), '') from task_comments";
const COMMENT: &str = "select comment_id from task_comments";
const ISSUE: &str = "/issues/1.json";
const CURRENT_USER: &str = "/users/current.json";
/// Id of the credential's user.
const OWN_USER: u32 = 1;

/// An imported task; no node is running.
async fn imported_task() -> (Fixture, TaskId) {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let updated = "2026-11-01T10:00:00Z".parse().unwrap();
    let issue = Issue { id: 1, subject: "Carts hang", updated, comments: Vec::new() };
    fixture.update_upstream(|upstream| upstream.issues = vec![issue]);
    fixture.set_policy(json!({ "trackers": { "post_comments": true } })).await;
    let node = fixture.node();
    let id = fixture.create_integration("carts").await;
    fixture.wait_for(id, |integration| integration.last_success_at.is_some()).await;
    node.stop().await;
    let task = fixture.text("select id::text from tasks").await.parse().unwrap();
    (fixture, task)
}

/// Returns the comment that a person would review.
async fn preview(fixture: &Fixture, task: TaskId) -> TaskCommentText {
    let project = ProjectKey::parse("shop").unwrap();
    let subject = Subject {
        project: &project,
        task,
        external_id: "redmine#1",
        tracker: Provider::Redmine,
        connector: "ours",
        resource: "carts",
    };
    compose_comment(fixture.db.store(), &Policy::default(), subject).await.unwrap()
}

async fn approve(fixture: &Fixture, task: TaskId, comment: &TaskCommentText) {
    let mut tx = fixture.project_store().begin().await.unwrap();
    task_comments::approve(&mut tx, fixture.project, task, &comment.digest).await.unwrap();
    tx.commit().await.unwrap();
}

async fn stored_comment(fixture: &Fixture, task: TaskId) -> TaskComment {
    task_comments::find(&fixture.project_store(), task).await.unwrap().unwrap()
}

fn current_user() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "user": { "id": OWN_USER, "login": "bot" } }))
}

/// Makes the tracker return the credential's user.
async fn mock_current_user(fixture: &Fixture) {
    let mock = Mock::given(path(CURRENT_USER)).respond_with(current_user()).with_priority(1);
    mock.mount(&fixture.server).await;
}

/// Makes the tracker return these notes and add new ones. It can't update notes, as Redmine before
/// 5.0.
async fn mock_notes(fixture: &Fixture, notes: Vec<Value>) -> Arc<Mutex<Vec<Value>>> {
    mock_notes_in_project(fixture, CARTS.1, notes).await
}

/// Does the same for an issue that was moved to this project.
async fn mock_notes_in_project(
    fixture: &Fixture,
    project: u32,
    notes: Vec<Value>,
) -> Arc<Mutex<Vec<Value>>> {
    let notes = Arc::new(Mutex::new(notes));
    let stored = Arc::clone(&notes);
    let list = move |_: &Request| {
        let journals = stored.lock().unwrap().clone();
        let body =
            json!({ "issue": { "id": 1, "project": { "id": project }, "journals": journals } });
        ResponseTemplate::new(200).set_body_json(body)
    };
    let reads = Mock::given(method("GET")).and(path(ISSUE)).respond_with(list);
    reads.with_priority(1).mount(&fixture.server).await;
    let stored = Arc::clone(&notes);
    let add = move |request: &Request| {
        let body: Value = request.body_json().unwrap();
        let mut notes = stored.lock().unwrap();
        let id = notes.len() + 1;
        notes
            .push(json!({ "id": id, "user": { "id": OWN_USER }, "notes": body["issue"]["notes"] }));
        ResponseTemplate::new(204)
    };
    let writes = Mock::given(method("PUT")).and(path(ISSUE)).respond_with(add);
    writes.with_priority(1).mount(&fixture.server).await;
    notes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_of_another_user_is_not_replaced() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    let foreign = json!({ "id": 1, "user": { "id": 9 }, "notes": comment.text });
    mock_current_user(&fixture).await;
    let notes = mock_notes(&fixture, vec![foreign.clone()]).await;
    approve(&fixture, task, &comment).await;
    let node = fixture.node();
    fixture.wait_for_text(STATE, "posted").await;
    let notes = notes.lock().unwrap().clone();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!((&notes[0], &notes[1]["notes"]), (&foreign, &json!(comment.text)));
    assert_eq!(fixture.text(COMMENT).await, "2");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_posted_before_a_crash_is_not_posted_again() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    let text = comment.text.replace('\n', "\r\n");
    mock_current_user(&fixture).await;
    let posted = json!({ "id": 1, "user": { "id": OWN_USER }, "notes": text.trim() });
    let notes = mock_notes(&fixture, vec![posted]).await;
    approve(&fixture, task, &comment).await;
    let node = fixture.node();
    fixture.wait_for_text(STATE, "posted").await;
    assert_eq!(fixture.text(COMMENT).await, "1");
    assert_eq!(notes.lock().unwrap().len(), 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policy_change_during_the_search_prevents_the_comment() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    let (unblock, blocked) = mpsc::channel::<()>();
    let (is_requested, blocked) = (Arc::new(AtomicBool::new(false)), Mutex::new(blocked));
    let requested = Arc::clone(&is_requested);
    let wait = move |_: &Request| {
        requested.store(true, Ordering::SeqCst);
        // Returns when the sender is dropped.
        let _ = blocked.lock().unwrap().recv();
        current_user()
    };
    let mock = Mock::given(path(CURRENT_USER)).respond_with(wait).with_priority(1);
    mock.mount(&fixture.server).await;
    let notes = mock_notes(&fixture, Vec::new()).await;
    approve(&fixture, task, &comment).await;
    let node = fixture.node();
    while !is_requested.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    fixture.set_policy(json!({ "trackers": { "post_comments": false } })).await;
    drop(unblock);
    fixture.wait_for_text(STATE, "failed").await;
    let reason = stored_comment(&fixture, task).await.reason;
    assert!(reason.contains("trackers.post_comments"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_approved_for_one_resource_is_posted_to_no_other() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    mock_current_user(&fixture).await;
    let notes = mock_notes_in_project(&fixture, CUSTOMERS.1, Vec::new()).await;
    approve(&fixture, task, &comment).await;
    let other = fixture.create_integration(CUSTOMERS.0).await;
    fixture.execute(&format!("update tasks set integration_id = '{other}'")).await;
    let node = fixture.node();
    fixture.wait_for_text(STATE, "failed").await;
    let reason = stored_comment(&fixture, task).await.reason;
    assert!(reason.contains("have changed since the comment was approved"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comment_is_not_posted_to_a_moved_issue() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    mock_current_user(&fixture).await;
    let notes = mock_notes_in_project(&fixture, CUSTOMERS.1, Vec::new()).await;
    approve(&fixture, task, &comment).await;
    let node = fixture.node();
    fixture.wait_for_text(STATE, "failed").await;
    let reason = stored_comment(&fixture, task).await.reason;
    assert!(reason.contains("moved or renamed"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outage_delays_the_comment_until_its_job_is_discarded() {
    let (fixture, task) = imported_task().await;
    let comment = preview(&fixture, task).await;
    fixture.update_upstream(|upstream| upstream.error = Some((503, "")));
    approve(&fixture, task, &comment).await;
    let node = fixture.node();
    let is_delayed = "select (run_at > now() + interval '1 minute')::text from apalis.jobs where \
                 job_type = 'post_task_comment'";
    fixture.wait_for_text(is_delayed, "true").await;
    let pending = stored_comment(&fixture, task).await;
    assert_eq!(pending.state, "pending");
    assert!(pending.reason.contains("unavailable"), "{pending:?}");
    node.stop().await;
    fixture
        .execute("update apalis.jobs set status = 'Killed' where job_type = 'post_task_comment'")
        .await;
    let failed = stored_comment(&fixture, task).await;
    assert_eq!((failed.state.as_str(), failed.reason), ("failed", pending.reason));
}
