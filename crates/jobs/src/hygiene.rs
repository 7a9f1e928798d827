//! The jobs `schedule_hygiene` and `run_hygiene_task`. A hygiene task maintains the memory of one
//! project in small transactions, on a schedule or on request. Its run stores the counts and
//! findings of its changes, or of a dry run.

mod citations;
mod consistency;
mod duplicates;
mod embedding;
mod expiry;
mod export;
mod prompt;
mod quality;
mod reindex;
mod retention;

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use mc_chat::ChatModels;
use mc_contract::operations::hygiene::RunHygiene;
use mc_domain::{AuditAction, HygieneRunId, HygieneTask, ProjectId};
use mc_memory::Error;
use mc_memory::prompts::night::NightSettings;
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::hygiene::{self, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::JobContext;
use crate::job::{BackgroundJob, JobError};
use crate::schedule::Schedule;
use crate::settings::JobSettings;

pub use embedding::Embedding;

/// Default schedules of the tasks in every project; UTC, at night for most users.
pub const SCHEDULES: [(HygieneTask, &str); 10] = [
    // First, so that the other tasks do not process data that it deletes.
    (HygieneTask::Retention, "0 40 0 * * *"),
    (HygieneTask::Reindex, "0 5 1 * * *"),
    (HygieneTask::Expiry, "0 40 1 * * *"),
    (HygieneTask::Duplicates, "0 20 2 * * *"),
    (HygieneTask::Citations, "0 0 3 * * *"),
    // After `citations`: a stale record may be unused.
    (HygieneTask::Quality, "0 40 3 * * *"),
    // After the tasks that change most passages.
    (HygieneTask::Consistency, "0 20 4 * * *"),
    (HygieneTask::Embedding, "0 0 5 * * *"),
    (HygieneTask::Export, "0 30 5 * * Sun"),
    // Last, as it may request a chat model for some minutes.
    (HygieneTask::Prompt, "0 0 6 * * *"),
];

/// Part of the timeout that is reserved to store that a task timed out.
const STORE_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a hygiene task of one project, which is stored in its hygiene run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunHygieneTask {
    report: HygieneRunId,
}

impl BackgroundJob for RunHygieneTask {
    const NAME: &'static str = hygiene::JOB;
    // Runs of many projects must leave processors and connections to the service.
    const CONCURRENCY: usize = 1;
    const MAX_ATTEMPTS: u16 = hygiene::JOB_ATTEMPTS;
    const TIMEOUT: Duration = Duration::from_mins(30);
    const BACKOFF_BASE: Duration = Duration::from_mins(1);

    type Context = JobContext;

    /// Runs the task and stores its outcome. A later attempt continues an earlier one.
    async fn run(self, context: &JobContext) -> Result<(), JobError> {
        // Shorter than the job's own timeout, which would store nothing.
        let timeout = context.settings.kind::<Self>().timeout.saturating_sub(STORE_TIMEOUT);
        let JobContext { store, embedding, chat, prompts, .. } = context;
        let tools = TaskContext { store, embedding, chat, night: &prompts.night };
        run_with_timeout(timeout, tools, self.report).await
    }
}

/// What tasks work with.
#[derive(Clone, Copy)]
struct TaskContext<'a> {
    store: &'a Store,
    embedding: &'a Embedding,
    chat: &'a Arc<ChatModels>,
    night: &'a NightSettings,
}

/// Enqueues a hygiene task in every project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScheduleHygiene {
    task: HygieneTask,
}

impl ScheduleHygiene {
    /// Creates the job of a task.
    pub fn new(task: HygieneTask) -> Self {
        Self { task }
    }
}

impl BackgroundJob for ScheduleHygiene {
    const NAME: &'static str = "schedule_hygiene";
    const CONCURRENCY: usize = 1;
    const TIMEOUT: Duration = Duration::from_mins(5);

    type Context = JobContext;

    /// Enqueues the task at most once a day.
    async fn run(self, JobContext { store, .. }: &JobContext) -> Result<(), JobError> {
        let task = self.task;
        let key = format!("{task} {}", Utc::now().date_naive());
        let mut tx = store.begin().await?;
        let projects = hygiene::request_everywhere(&mut tx, task, &key).await?;
        tx.commit().await?;
        tracing::debug!(hygiene.task = %task, projects, "hygiene task enqueued");
        Ok(())
    }
}

/// Returns the schedule of each hygiene task.
pub fn schedules(settings: &JobSettings) -> impl Iterator<Item = Schedule> {
    settings
        .hygiene_schedules()
        .iter()
        .map(|(task, cron)| Schedule::new(cron, ScheduleHygiene::new(*task)))
}

/// Requests a hygiene run for a project, with its job and its audit event.
pub async fn request_run(
    store: &Store,
    project: ProjectId,
    request: &RunHygiene,
) -> Result<HygieneRunId, mc_store::Error> {
    let RunHygiene { task, dry_run, expiry_decision } = *request;
    let mut tx = store.begin().await?;
    let id = hygiene::request(&mut tx, project, task, dry_run, expiry_decision).await?;
    let details = json!(request);
    audit::record(&mut tx, NewEvent::new(AuditAction::HygieneRunRequested, id).with(details));
    tx.commit().await?;
    Ok(id)
}

/// Runs a task and stores its outcome or its error in the hygiene run.
async fn run_with_timeout(
    timeout: Duration,
    tools: TaskContext<'_>,
    run: HygieneRunId,
) -> Result<(), JobError> {
    let store = tools.store;
    let result = tokio::time::timeout(timeout, start_and_run(tools, run)).await;
    let job_error: JobError = match result {
        Ok(Ok(None)) => return Ok(()),
        Ok(Ok(Some(outcome))) => return Ok(hygiene::end(store, run, &outcome).await?),
        Ok(Err(error)) => error.into(),
        Err(_) => JobError::Retryable(format!("the task timed out after {} s", timeout.as_secs())),
    };
    hygiene::failed(store, run, &job_error.to_string()).await?;
    Err(job_error)
}

/// Runs the task of a hygiene run; `None` if the run is completed or its project deleted.
async fn start_and_run(
    TaskContext { store, embedding, chat, night }: TaskContext<'_>,
    run: HygieneRunId,
) -> Result<Option<Outcome>, Error> {
    let Some(target) = hygiene::begin(store, run).await? else { return Ok(None) };
    let outcome = match target.task {
        HygieneTask::Duplicates => duplicates::run(store, &target).await,
        HygieneTask::Quality => quality::run(store, &target).await,
        HygieneTask::Expiry => expiry::run(store, &target).await,
        HygieneTask::Citations => citations::run(store, &target).await,
        HygieneTask::Reindex => reindex::run(store, &target).await,
        HygieneTask::Consistency => consistency::run(store, &target).await,
        HygieneTask::Export => export::run(store, &target).await,
        HygieneTask::Embedding => embedding::run(store, &target, embedding).await,
        HygieneTask::Retention => retention::run(store, &target).await,
        HygieneTask::Prompt => prompt::run(store, chat, night, &target).await,
    }?;
    tracing::info!(project.id = %target.project, hygiene.task = %target.task,
        hygiene.dry_run = target.is_dry_run, counts = ?outcome.counts, "hygiene task completed");
    Ok(Some(outcome))
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
    async fn timeout_is_stored_in_the_hygiene_run() {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let mut tx = db.service().for_project(UserId::LOCAL, project).begin().await.unwrap();
        let id =
            hygiene::request(&mut tx, project, HygieneTask::Duplicates, false, None).await.unwrap();
        tx.commit().await.unwrap();
        let model = vectors::register_model(db.store(), "test-3", 3, &json!({})).await.unwrap();
        let embedding = Embedding { model, is_remote: false };
        // The lock keeps the task from starting.
        let _lock = hold(db.url(), "lock table projects in access exclusive mode").await.unwrap();
        let (chat, night) = (Arc::default(), NightSettings::default());
        let store = db.store();
        let tools = TaskContext { store, embedding: &embedding, chat: &chat, night: &night };
        let error = run_with_timeout(Duration::ZERO, tools, id).await.unwrap_err();
        assert_eq!(error, JobError::Retryable("the task timed out after 0 s".to_owned()));
        let run = hygiene::find(db.store(), project, id).await.unwrap().unwrap();
        assert!(run.completed_at.is_some());
        assert_eq!(run.last_error, Some(error.to_string()));
    }
}
