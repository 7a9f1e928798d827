//! Index runs: order, attempts and ends.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_contract::operations::job::Job;
use mc_domain::{IngestRunId, IngestStatus, ProjectId};
use mc_store::Store;
use mc_store::ingest_runs::{self, Counts, Failure, IngestRun, StartOutcome};
use mc_store::jobs::{self, JobFilter};
use mc_store::repositories::{self, Repository};
use mc_store::testing::{execute, write};
use mc_testkit::TestDatabase;

async fn repository(store: &Store, project: ProjectId, name: &str) -> Repository {
    let mut tx = store.begin().await.unwrap();
    let repository = repositories::ensure(&mut tx, project, "o", name, "/src").await.unwrap();
    tx.commit().await.unwrap();
    repository
}

async fn enqueue(store: &Store, repository: &Repository) -> IngestRun {
    let mut tx = store.begin().await.unwrap();
    let run = ingest_runs::enqueue(&mut tx, repository, "").await.unwrap();
    tx.commit().await.unwrap();
    run
}

async fn start(store: &Store, id: IngestRunId, worker: &str) -> IngestRun {
    match ingest_runs::begin(store, id, worker).await.unwrap() {
        StartOutcome::Started(run) => *run,
        outcome => panic!("{outcome:?}"),
    }
}

async fn is_waiting(store: &Store, id: IngestRunId) -> bool {
    matches!(ingest_runs::begin(store, id, "another").await.unwrap(), StartOutcome::Waiting)
}

async fn has_ended(store: &Store, id: IngestRunId) -> bool {
    matches!(ingest_runs::begin(store, id, "another").await.unwrap(), StartOutcome::Ended)
}

/// Returns the enqueued jobs, oldest first.
async fn list_jobs(store: &Store) -> Vec<Job> {
    let filter = JobFilter { kind: Some(ingest_runs::JOB.to_owned()), ..JobFilter::default() };
    let mut jobs = jobs::list(store, &filter, 100).await.unwrap();
    jobs.reverse();
    jobs
}

async fn list_job_runs(store: &Store) -> Vec<IngestRunId> {
    let run = |job: Job| job.args["run"].as_str().unwrap().parse().unwrap();
    list_jobs(store).await.into_iter().map(run).collect()
}

async fn find(store: &Store, id: IngestRunId) -> IngestRun {
    ingest_runs::find(store, id).await.unwrap().unwrap()
}

#[tokio::test]
async fn repository_has_one_running_and_one_queued_run() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("queue").await.id;
    let repository = repository(store, project, "n").await;
    let first = enqueue(store, &repository).await;
    assert_eq!(enqueue(store, &repository).await.id, first.id);
    assert_eq!(list_job_runs(store).await, [first.id]);

    let run = start(store, first.id, "w1").await;
    assert_eq!((run.id, run.attempt, run.is_resumed), (first.id, 1, false));
    let second = enqueue(store, &repository).await;
    assert_ne!(second.id, first.id, "what is asked for during a run is a run of its own");
    assert!(is_waiting(store, second.id).await);

    ingest_runs::succeed(store, first.id, "w1").await.unwrap();
    assert_eq!(list_job_runs(store).await, [first.id, second.id, second.id]);
    start(store, second.id, "w2").await;
    assert!(has_ended(store, first.id).await);
}

#[tokio::test]
async fn runs_of_a_project_run_one_at_a_time_in_order() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let (one, other) = (db.project("one").await.id, db.project("other").await.id);
    let mut runs = Vec::new();
    for name in ["a", "b", "c"] {
        runs.push(enqueue(store, &repository(store, one, name).await).await.id);
    }
    let elsewhere = enqueue(store, &repository(store, other, "a").await).await.id;
    start(store, runs[0], "w1").await;
    start(store, elsewhere, "w2").await;
    assert!(is_waiting(store, runs[2]).await);
    assert!(is_waiting(store, runs[1]).await);
    assert_eq!(list_jobs(store).await.len(), 4);
    // After a failure that is retried, other runs go first.
    let status = ingest_runs::fail(store, runs[0], "w1", failure("away", false)).await.unwrap();
    assert_eq!(status, IngestStatus::Queued);
    assert_eq!(list_job_runs(store).await[4..], [runs[1]]);
    start(store, runs[1], "w3").await;
    assert!(is_waiting(store, runs[0]).await);
    ingest_runs::fail(store, runs[1], "w3", failure("gone", true)).await.unwrap();
    assert_eq!(list_job_runs(store).await[5..], [runs[0]], "it was asked for first");
}

#[tokio::test]
async fn replaced_worker_can_no_longer_report() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("silent").await.id;
    let run = enqueue(store, &repository(store, project, "n").await).await;
    start(store, run.id, "dead").await;
    let taken = start(store, run.id, "alive").await;
    assert_eq!((taken.id, taken.attempt, taken.is_resumed), (run.id, 2, true));
    let counts = Counts::default();
    assert!(!ingest_runs::progress(store, run.id, "dead", &counts).await.unwrap());
    assert!(ingest_runs::progress(store, run.id, "alive", &counts).await.unwrap());
    ingest_runs::succeed(store, run.id, "dead").await.unwrap();
    ingest_runs::release(store, run.id, "dead").await.unwrap();
    assert_eq!(find(store, run.id).await.status, IngestStatus::Running);
}

#[tokio::test]
async fn failing_run_fails_after_its_attempts() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("failing").await.id;
    let run = enqueue(store, &repository(store, project, "n").await).await;
    let mut statuses = vec![];
    while !has_ended(store, run.id).await {
        let status =
            ingest_runs::fail(store, run.id, "another", failure("no such path", false)).await;
        statuses.push(status.unwrap());
    }
    assert_eq!(statuses.len(), 5);
    assert_eq!(statuses.last(), Some(&IngestStatus::Failed));
    assert_eq!(find(store, run.id).await.last_error.unwrap()["message"], "no such path");
}

#[tokio::test]
async fn run_fails_when_its_process_died_in_the_last_attempt() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("deadly").await.id;
    let run = enqueue(store, &repository(store, project, "n").await).await;
    for attempt in 1..=run.max_attempts {
        let run = start(store, run.id, "dies").await;
        assert_eq!((run.attempt, run.is_resumed), (attempt, attempt > 1));
    }
    let waiting = enqueue(store, &repository(store, project, "m").await).await;
    assert!(is_waiting(store, waiting.id).await);
    assert!(has_ended(store, run.id).await);
    let ended = find(store, run.id).await;
    assert_eq!((ended.status, ended.attempt), (IngestStatus::Failed, run.max_attempts));
    let message = ended.last_error.unwrap()["message"].to_string();
    assert!(message.contains("the process died in attempt 5 of 5"), "{message}");
    assert_eq!(list_job_runs(store).await.last(), Some(&waiting.id));
}

#[tokio::test]
async fn release_returns_the_attempt_and_a_crash_does_not() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("stops").await.id;
    let run = enqueue(store, &repository(store, project, "n").await).await;
    start(store, run.id, "w1").await;
    ingest_runs::release(store, run.id, "w1").await.unwrap();
    let again = start(store, run.id, "w2").await;
    assert_eq!((again.attempt, again.is_resumed), (1, true));
    let again = start(store, run.id, "w3").await;
    assert_eq!((again.attempt, again.is_resumed), (2, true));
}

#[tokio::test]
async fn orphaned_run_fails_and_waiting_run_is_enqueued() {
    let db = TestDatabase::create().await;
    let store = db.store();
    let project = db.project("left").await.id;
    let run = enqueue(store, &repository(store, project, "n").await).await;
    let waiting = enqueue(store, &repository(store, project, "m").await).await;
    assert_eq!(ingest_runs::rescue_orphans(store).await.unwrap(), 0, "both have jobs that wait");
    start(store, run.id, "w").await;
    assert!(is_waiting(store, waiting.id).await);
    assert_eq!(
        ingest_runs::rescue_orphans(store).await.unwrap(),
        0,
        "its turn comes when the other ends"
    );

    execute(db.url(), "update apalis.jobs set status = 'Killed'").await.unwrap();
    assert_eq!(ingest_runs::rescue_orphans(store).await.unwrap(), 2);
    let ended = find(store, run.id).await;
    assert_eq!(ended.status, IngestStatus::Failed);
    let message = ended.last_error.unwrap()["message"].to_string();
    assert!(message.contains("request the run again"), "{message}");
    assert_eq!(list_job_runs(store).await.last(), Some(&waiting.id));

    // A retried job restarts its run; a deleted one fails it.
    let job = list_jobs(store).await.remove(0).id;
    let mut tx = store.begin().await.unwrap();
    assert!(jobs::retry(&mut tx, &job).await.unwrap());
    tx.commit().await.unwrap();
    let revived = find(store, run.id).await;
    assert_eq!((revived.status, revived.attempt), (IngestStatus::Queued, 0));
    let mut tx = store.begin().await.unwrap();
    assert!(jobs::delete(&mut tx, &job).await.unwrap());
    tx.commit().await.unwrap();
    let ended = find(store, run.id).await;
    assert_eq!(ended.status, IngestStatus::Failed);
    assert!(ended.last_error.unwrap()["message"].to_string().contains("the job was deleted"));

    // A run without a job.
    write(store, "update ingest_runs set job_id = null").await.unwrap();
    assert_eq!(ingest_runs::rescue_orphans(store).await.unwrap(), 1);
    start(store, waiting.id, "w").await;
}

fn failure(message: &str, is_final: bool) -> Failure<'_> {
    Failure { message, causes: &[], is_final }
}
