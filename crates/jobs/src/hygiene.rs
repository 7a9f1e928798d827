//! What keeps the memory in order, by the clock and when a maintainer asks: project by project, in
//! small transactions, each with a report of what it did, or would do.

mod citations;
mod consistency;
mod duplicates;
mod embedding;
mod expiry;
mod export;
mod quality;
mod reindex;
mod retention;

use std::time::Duration;

use chrono::Utc;
use mc_contract::operations::hygiene::RunHygiene;
use mc_domain::{AuditAction, HygieneRunId, HygieneTask, ProjectId};
use mc_memory::Error;
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::hygiene::{self, HygieneTarget, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::JobContext;
use crate::job::{BackgroundJob, JobError};
use crate::schedule::Schedule;
use crate::settings::JobSettings;

pub use embedding::Embedding;

/// Default schedule of each task in every project; UTC, at night for most who would notice.
pub const SCHEDULES: [(HygieneTask, &str); 9] = [
    // First: what goes anyway need not be looked at.
    (HygieneTask::Retention, "0 40 0 * * *"),
    (HygieneTask::Reindex, "0 5 1 * * *"),
    (HygieneTask::Expiry, "0 40 1 * * *"),
    (HygieneTask::Duplicates, "0 20 2 * * *"),
    (HygieneTask::Citations, "0 0 3 * * *"),
    // After the citations: what they say counts.
    (HygieneTask::Quality, "0 40 3 * * *"),
    // After what has changed most.
    (HygieneTask::Consistency, "0 20 4 * * *"),
    (HygieneTask::Embedding, "0 0 5 * * *"),
    (HygieneTask::Export, "0 30 5 * * Sun"),
];

/// Part of the timeout that is left to store that a task timed out.
const REPORT_TIME: Duration = Duration::from_mins(1);

/// A task in one project: what its report says that it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunHygieneTask {
    report: HygieneRunId,
}

impl BackgroundJob for RunHygieneTask {
    const NAME: &'static str = hygiene::JOB;
    // One after the other, so that a night of many projects leaves the service its processors and
    // connections.
    const CONCURRENCY: usize = 1;
    const MAX_ATTEMPTS: u16 = hygiene::JOB_ATTEMPTS;
    const TIMEOUT: Duration = Duration::from_mins(30);
    const BACKOFF_BASE: Duration = Duration::from_mins(1);

    type Context = JobContext;

    /// Runs the task and stores its outcome in the hygiene run. A later attempt continues an
    /// earlier one.
    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        // Ends before the job's own timeout does, which would store nothing.
        let time = context.settings.kind::<Self>().timeout.saturating_sub(REPORT_TIME);
        run_within(time, &context.store, &context.embedding, self.report).await
    }
}

/// A task in every project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleHygiene {
    task: HygieneTask,
}

impl ScheduleHygiene {
    /// Of this task.
    pub fn of(task: HygieneTask) -> Self {
        Self { task }
    }
}

impl BackgroundJob for ScheduleHygiene {
    const NAME: &'static str = "schedule_hygiene";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_mins(5);

    type Context = JobContext;

    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        enqueue_all_projects(&context.store, self.task).await
    }
}

/// Returns the schedule of each hygiene task.
pub fn schedules(settings: &JobSettings) -> impl Iterator<Item = Schedule> {
    settings
        .hygiene_schedules()
        .iter()
        .map(|(task, cron)| Schedule::new(cron, ScheduleHygiene::of(*task)))
}

/// Enqueues a task for every project, at most once a day.
async fn enqueue_all_projects(store: &Store, task: HygieneTask) -> Result<(), JobError> {
    let key = format!("{task} {}", Utc::now().date_naive());
    let asked = async {
        let mut tx = store.begin().await?;
        let projects = hygiene::request_everywhere(&mut tx, task, &key).await?;
        tx.commit().await?;
        Ok::<_, mc_store::Error>(projects)
    };
    let projects = asked.await.map_err(|error| JobError::classify(&error))?;
    tracing::info!(hygiene.task = %task, projects, "asked for a round of hygiene");
    Ok(())
}

/// Requests a hygiene run for a project, with its job and its audit event.
pub async fn request_run(
    store: &Store,
    project: ProjectId,
    request: &RunHygiene,
) -> Result<HygieneRunId, mc_store::Error> {
    let RunHygiene { task, dry_run, expiry_decision } = *request;
    let mut tx = store.begin().await?;
    let id =
        hygiene::request_with_decision(&mut tx, project, task, dry_run, expiry_decision).await?;
    let details = json!(request);
    audit::record(&mut tx, NewEvent::new(AuditAction::HygieneRunRequested, id).with(details));
    tx.commit().await?;
    Ok(id)
}

async fn run_within(
    time: Duration,
    store: &Store,
    embedding: &Embedding,
    report: HygieneRunId,
) -> Result<(), JobError> {
    let attended = tokio::time::timeout(time, begin_and_attend(store, embedding, report)).await;
    let failure = match attended {
        Ok(Ok(None)) => return Ok(()),
        Ok(Ok(Some(outcome))) => {
            let noted = hygiene::end(store, report, &outcome).await;
            return noted.map_err(|error| JobError::classify(&error));
        }
        Ok(Err(error)) => JobError::classify(&error),
        Err(_) => JobError::Retryable(format!("the task timed out after {} s", time.as_secs())),
    };
    let noted = hygiene::failed(store, report, &failure.to_string()).await;
    Err(noted.err().map_or(failure, |away| JobError::classify(&away)))
}

async fn begin_and_attend(
    store: &Store,
    embedding: &Embedding,
    report: HygieneRunId,
) -> Result<Option<Outcome>, Error> {
    let Some(given) = hygiene::begin(store, report).await? else { return Ok(None) };
    let outcome = run_task(store, embedding, &given).await?;
    tracing::info!(project.id = %given.project, hygiene.task = %given.task,
        hygiene.dry_run = given.is_dry_run, counts = ?outcome.counts, "hygiene is done");
    Ok(Some(outcome))
}

async fn run_task(
    store: &Store,
    embedding: &Embedding,
    given: &HygieneTarget,
) -> Result<Outcome, Error> {
    match given.task {
        HygieneTask::Duplicates => duplicates::run(store, given).await,
        HygieneTask::Quality => quality::run(store, given).await,
        HygieneTask::Expiry => expiry::run(store, given).await,
        HygieneTask::Citations => citations::run(store, given).await,
        HygieneTask::Reindex => reindex::run(store, given).await,
        HygieneTask::Consistency => consistency::run(store, given).await,
        HygieneTask::Export => export::run(store, given).await,
        HygieneTask::Embedding => embedding::run(store, given, embedding).await,
        HygieneTask::Retention => retention::run(store, given).await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]

    use mc_domain::UserId;
    use mc_store::testing::hold;
    use mc_store::vectors;
    use mc_testkit::TestDatabase;
    use serde_json::json;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_takes_too_long_is_said_in_its_report() {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let mut tx = db.service().for_project(UserId::LOCAL, project).begin().await.unwrap();
        let id = hygiene::request(&mut tx, project, HygieneTask::Duplicates, false).await.unwrap();
        tx.commit().await.unwrap();
        let model = vectors::register_model(db.store(), "test-3", 3, &json!({})).await.unwrap();
        let embedding = Embedding { model, is_remote: false };
        // It does not get so far as to begin.
        let _held = hold(db.url(), "lock table projects in access exclusive mode").await.unwrap();
        let failure = run_within(Duration::ZERO, db.store(), &embedding, id).await.unwrap_err();
        assert_eq!(failure, JobError::Retryable("the task timed out after 0 s".to_owned()));
        let report = hygiene::find(db.store(), project, id).await.unwrap().unwrap();
        assert!(report.completed_at.is_some());
        assert_eq!(report.last_error, Some(failure.to_string()));
    }
}
