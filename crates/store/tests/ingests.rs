//! The queue of index runs.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_domain::{IngestStatus, ProjectId};
use mc_store::Store;
use mc_store::ingests::{self, Counts, Ingest};
use mc_store::repositories::{self, Repository};
use mc_testkit::TestDatabase;

async fn repository(store: &Store, project: ProjectId) -> Repository {
    let mut tx = store.begin().await.unwrap();
    let repository = repositories::ensure(&mut tx, project, "o", "n", "/src").await.unwrap();
    tx.commit().await.unwrap();
    repository
}

async fn enqueue(store: &Store, repository: &Repository) -> Ingest {
    let mut tx = store.begin().await.unwrap();
    let run = ingests::enqueue(&mut tx, repository, "").await.unwrap();
    tx.commit().await.unwrap();
    run
}

#[tokio::test]
async fn a_repository_has_one_run_at_a_time_and_one_waiting() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("queue").await.id;
    let repository = repository(store, project).await;
    let first = enqueue(store, &repository).await;
    assert_eq!(enqueue(store, &repository).await.id, first.id);

    let claimed = ingests::claim(store, "w1", 30.0).await.unwrap().unwrap();
    assert_eq!((claimed.id, claimed.attempt), (first.id, 1));
    let second = enqueue(store, &repository).await;
    assert_ne!(second.id, first.id, "what is asked for during a run is a run of its own");
    assert!(ingests::claim(store, "w2", 30.0).await.unwrap().is_none());

    ingests::succeed(store, first.id, "w1").await.unwrap();
    let next = ingests::claim(store, "w2", 30.0).await.unwrap().unwrap();
    assert_eq!(next.id, second.id);
}

#[tokio::test]
async fn a_silent_worker_loses_its_run_and_can_no_longer_report() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("silent").await.id;
    let repository = repository(store, project).await;
    let run = enqueue(store, &repository).await;
    ingests::claim(store, "dead", 30.0).await.unwrap().unwrap();
    // Zero seconds of silence are allowed: every running run counts as abandoned.
    let taken = ingests::claim(store, "alive", 0.0).await.unwrap().unwrap();
    assert_eq!((taken.id, taken.attempt), (run.id, 2));
    let counts = Counts::default();
    assert!(!ingests::progress(store, run.id, "dead", &counts).await.unwrap());
    assert!(ingests::progress(store, run.id, "alive", &counts).await.unwrap());
}

#[tokio::test]
async fn a_failing_run_ends_after_its_attempts() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("failing").await.id;
    let repository = repository(store, project).await;
    let run = enqueue(store, &repository).await;
    let mut statuses = vec![];
    while let Some(claimed) = ingests::claim(store, "w", 30.0).await.unwrap() {
        let status = ingests::fail(store, claimed.id, "w", "no such path", Some(0.0)).await;
        statuses.push(status.unwrap());
    }
    assert_eq!(statuses.len(), 5);
    assert_eq!(statuses.last(), Some(&IngestStatus::Failed));
    let ended = ingests::find(store, run.id).await.unwrap().unwrap();
    assert_eq!(ended.last_error.unwrap()["message"], "no such path");
}

#[tokio::test]
async fn a_run_whose_process_died_in_its_last_attempt_is_not_taken_over() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("deadly").await.id;
    let repository = repository(store, project).await;
    let run = enqueue(store, &repository).await;
    for attempt in 1..=run.max_attempts {
        let claimed = ingests::claim(store, "dies", 0.0).await.unwrap().unwrap();
        assert_eq!((claimed.attempt, claimed.is_resumed), (attempt, attempt > 1));
    }
    // It may still be at work on its last attempt.
    assert!(ingests::claim(store, "other", 30.0).await.unwrap().is_none());
    assert_eq!(ingests::find(store, run.id).await.unwrap().unwrap().status, IngestStatus::Running);
    assert!(ingests::claim(store, "other", 0.0).await.unwrap().is_none());
    let ended = ingests::find(store, run.id).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.attempt), (IngestStatus::Failed, run.max_attempts));
    let message = ended.last_error.unwrap()["message"].to_string();
    assert!(message.contains("the process died in attempt 5 of 5"), "{message}");
}

#[tokio::test]
async fn a_clean_stop_gives_the_attempt_back_and_a_crash_does_not() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("stops").await.id;
    let repository = repository(store, project).await;
    enqueue(store, &repository).await;
    ingests::claim(store, "w", 30.0).await.unwrap().unwrap();
    assert_eq!(ingests::release(store, "w").await.unwrap(), 1);
    let again = ingests::claim(store, "w", 30.0).await.unwrap().unwrap();
    assert_eq!((again.attempt, again.is_resumed), (1, true));
    assert_eq!(ingests::recover(store, "w").await.unwrap(), 1);
    let again = ingests::claim(store, "w", 30.0).await.unwrap().unwrap();
    assert_eq!((again.attempt, again.is_resumed), (2, true));
}
