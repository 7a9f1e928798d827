//! The comment that tells a task's tracker what belongs to it: written where and as was agreed to,
//! and once.

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

use crate::fixture::{CARTS, CUSTOMERS, Issue, World, redmine};

const STATE: &str = "select coalesce(max(state), '') from task_comments";
const COMMENT: &str = "select comment_id from task_comments";
const ISSUE: &str = "/issues/1.json";
const WHO: &str = "/users/current.json";
/// Whom the credential is for.
const ME: u32 = 1;

/// A task that came by a connection; nobody is at work.
async fn carts() -> (World, TaskId) {
    let world = World::of(Provider::Redmine, redmine).await;
    let updated = "2026-11-01T10:00:00Z".parse().unwrap();
    let issue = Issue { id: 1, subject: "Carts hang", updated, said: Vec::new() };
    world.has(|upstream| upstream.issues = vec![issue]);
    world.set_policy(json!({ "trackers": { "post_comments": true } })).await;
    let node = world.node();
    let id = world.connect("carts").await;
    world.until(id, |one| one.last_success_at.is_some()).await;
    node.stop().await;
    let task = world.text("select id::text from tasks").await.parse().unwrap();
    (world, task)
}

/// What a person is shown.
async fn shown(world: &World, task: TaskId) -> TaskCommentText {
    let project = ProjectKey::parse("shop").unwrap();
    let subject = Subject {
        project: &project,
        task,
        external_id: "redmine#1",
        tracker: Provider::Redmine,
        connector: "ours",
        resource: "carts",
    };
    compose_comment(world.db.store(), &Policy::default(), subject).await.unwrap()
}

async fn agree(world: &World, task: TaskId, comment: &TaskCommentText) {
    let mut tx = world.shop().begin().await.unwrap();
    task_comments::approve(&mut tx, world.project, task, &comment.digest).await.unwrap();
    tx.commit().await.unwrap();
}

async fn standing(world: &World, task: TaskId) -> TaskComment {
    task_comments::find(&world.shop(), task).await.unwrap().unwrap()
}

fn me() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "user": { "id": ME, "login": "bot" } }))
}

async fn introduce(world: &World) {
    let who = Mock::given(path(WHO)).respond_with(me()).with_priority(1);
    who.mount(&world.server).await;
}

/// Has the tracker show such notes and take more, but change none, as before Redmine 5.0.
async fn takes_notes(world: &World, notes: Vec<Value>) -> Arc<Mutex<Vec<Value>>> {
    takes_notes_in(world, CARTS.1, notes).await
}

/// The same, where the issue is in that project by then.
async fn takes_notes_in(world: &World, project: u32, notes: Vec<Value>) -> Arc<Mutex<Vec<Value>>> {
    let notes = Arc::new(Mutex::new(notes));
    let theirs = Arc::clone(&notes);
    let show = move |_: &Request| {
        let journals = theirs.lock().unwrap().clone();
        let body =
            json!({ "issue": { "id": 1, "project": { "id": project }, "journals": journals } });
        ResponseTemplate::new(200).set_body_json(body)
    };
    let reading = Mock::given(method("GET")).and(path(ISSUE)).respond_with(show);
    reading.with_priority(1).mount(&world.server).await;
    let theirs = Arc::clone(&notes);
    let take = move |request: &Request| {
        let body: Value = request.body_json().unwrap();
        let mut notes = theirs.lock().unwrap();
        let id = notes.len() + 1;
        notes.push(json!({ "id": id, "user": { "id": ME }, "notes": body["issue"]["notes"] }));
        ResponseTemplate::new(204)
    };
    let writing = Mock::given(method("PUT")).and(path(ISSUE)).respond_with(take);
    writing.with_priority(1).mount(&world.server).await;
    notes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_comment_is_left_alone_and_ours_is_written_beside_it() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    let strangers = json!({ "id": 1, "user": { "id": 9 }, "notes": comment.text });
    introduce(&world).await;
    let notes = takes_notes(&world, vec![strangers.clone()]).await;
    agree(&world, task, &comment).await;
    let node = world.node();
    world.until_text(STATE, "posted").await;
    let said = notes.lock().unwrap().clone();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((&said[0], &said[1]["notes"]), (&strangers, &json!(comment.text)));
    assert_eq!(world.text(COMMENT).await, "2");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_and_not_noted_is_not_written_again() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    let text = comment.text.replace('\n', "\r\n");
    introduce(&world).await;
    let written = json!({ "id": 1, "user": { "id": ME }, "notes": text.trim() });
    let notes = takes_notes(&world, vec![written]).await;
    agree(&world, task, &comment).await;
    let node = world.node();
    world.until_text(STATE, "posted").await;
    assert_eq!(world.text(COMMENT).await, "1");
    assert_eq!(notes.lock().unwrap().len(), 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_turned_off_while_the_comment_is_looked_for_is_not_written() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    let (open, gate) = mpsc::channel::<()>();
    let (asked, gate) = (Arc::new(AtomicBool::new(false)), Mutex::new(gate));
    let is_asked = Arc::clone(&asked);
    let wait = move |_: &Request| {
        is_asked.store(true, Ordering::SeqCst);
        // Until the other end is dropped.
        let _ = gate.lock().unwrap().recv();
        me()
    };
    let who = Mock::given(path(WHO)).respond_with(wait).with_priority(1);
    who.mount(&world.server).await;
    let notes = takes_notes(&world, Vec::new()).await;
    agree(&world, task, &comment).await;
    let node = world.node();
    while !asked.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    world.set_policy(json!({ "trackers": { "post_comments": false } })).await;
    drop(open);
    world.until_text(STATE, "failed").await;
    let reason = standing(&world, task).await.reason;
    assert!(reason.contains("trackers.post_comments"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_agreed_to_for_one_place_is_written_at_no_other() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    introduce(&world).await;
    let notes = takes_notes_in(&world, CUSTOMERS.1, Vec::new()).await;
    agree(&world, task, &comment).await;
    let other = world.connect(CUSTOMERS.0).await;
    world.execute(&format!("update tasks set integration_id = '{other}'")).await;
    let node = world.node();
    world.until_text(STATE, "failed").await;
    let reason = standing(&world, task).await.reason;
    assert!(reason.contains("have changed since the comment was approved"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issue_that_was_moved_to_another_project_is_told_nothing() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    introduce(&world).await;
    let notes = takes_notes_in(&world, CUSTOMERS.1, Vec::new()).await;
    agree(&world, task, &comment).await;
    let node = world.node();
    world.until_text(STATE, "failed").await;
    let reason = standing(&world, task).await.reason;
    assert!(reason.contains("moved or renamed"), "{reason}");
    assert!(notes.lock().unwrap().is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_waited_for_and_what_is_given_up_for_it_has_failed() {
    let (world, task) = carts().await;
    let comment = shown(&world, task).await;
    world.has(|upstream| upstream.trouble = Some((503, "")));
    agree(&world, task, &comment).await;
    let node = world.node();
    let waits = "select (run_at > now() + interval '1 minute')::text from apalis.jobs where \
                 job_type = 'post_task_comment'";
    world.until_text(waits, "true").await;
    let waiting = standing(&world, task).await;
    assert_eq!(waiting.state, "pending");
    assert!(waiting.reason.contains("unavailable"), "{waiting:?}");
    node.stop().await;
    world
        .execute("update apalis.jobs set status = 'Killed' where job_type = 'post_task_comment'")
        .await;
    let given_up = standing(&world, task).await;
    assert_eq!((given_up.state.as_str(), given_up.reason), ("failed", waiting.reason));
}
