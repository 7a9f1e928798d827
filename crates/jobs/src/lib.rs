#![doc = include_str!("../README.md")]

pub mod apply;
mod cleanup;
mod commit_prompts;
mod fetch_pull_request_files;
mod fetch_workspace;
mod hygiene;
mod index_repository;
mod job;
mod judge_record;
pub mod manage;
mod metrics;
mod post_task_comment;
mod process_delivery;
mod reindex;
mod schedule;
mod schedule_syncs;
mod settings;
mod sync_integration;
mod workers;

use std::path::PathBuf;
use std::sync::Arc;

use mc_chat::ChatModels;
use mc_memory::prompts::night::NightSettings;
use mc_store::Store;
use mc_workspaces::fetch::FetchContext;
use tokio_util::sync::CancellationToken;

pub use cleanup::Cleanup;
pub use commit_prompts::CommitPrompts;
pub use fetch_pull_request_files::FetchPullRequestFiles;
pub use fetch_workspace::FetchWorkspace;
use fetch_workspace::FetchWorkspaceContext;
pub use hygiene::{Embedding, RunHygieneTask, ScheduleHygiene, request_run};
use index_repository::{IndexContext, RescueIndexRuns};
pub use index_repository::{IndexRepository, IndexSettings};
pub use job::{BackgroundJob, JobError, enqueue};
pub use judge_record::JudgeRecord;
pub use metrics::register_metrics;
pub use post_task_comment::PostTaskComment;
pub use process_delivery::ProcessDelivery;
pub use schedule::Schedule;
pub use schedule_syncs::ScheduleSyncs;
pub use settings::{JobSettings, KindSettings, SettingsError};
pub use sync_integration::{SyncContext, SyncIntegration};
pub use workers::{Timing, WorkerPool};

/// Dependencies of jobs, besides their arguments; cheap to clone.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// The database, with access to every project.
    pub store: Store,
    /// Dependencies of jobs that send requests to providers.
    pub sync: SyncContext,
    /// The active embedding model.
    pub embedding: Embedding,
    /// The configured chat models.
    pub chat: Arc<ChatModels>,
    /// How system prompts are optimized.
    pub prompts: PromptSettings,
    /// Settings of the job kinds.
    pub settings: JobSettings,
}

/// Settings of the optimization of system prompts.
#[derive(Debug, Clone, Default)]
pub struct PromptSettings {
    /// Those of nights.
    pub night: NightSettings,
    /// Checkout to which the prompts in use are committed.
    pub checkout: Option<PathBuf>,
}

/// The kinds of jobs that only enqueue or clean up: the schedule enqueues them each minute or hour.
pub const HOUSEKEEPING: [&str; 5] = [
    Cleanup::NAME,
    CommitPrompts::NAME,
    ScheduleSyncs::NAME,
    ScheduleHygiene::NAME,
    RescueIndexRuns::NAME,
];

/// Returns the worker pool of a node with every job kind except those of indexing, and their
/// schedules. `queue` has connections of its own, so that fetching and completing jobs never waits
/// for the queries of running jobs.
pub fn workers(queue: Store, context: &JobContext) -> WorkerPool {
    let workers = WorkerPool::new(queue)
        .with_settings(context.settings.clone())
        .register::<Cleanup>(context.clone())
        .register::<ProcessDelivery>(context.clone())
        .register::<ScheduleSyncs>(context.clone())
        .register::<SyncIntegration>(context.clone())
        .register::<PostTaskComment>(context.clone())
        .register::<JudgeRecord>(context.clone())
        .register::<FetchPullRequestFiles>(context.clone())
        .register::<RunHygieneTask>(context.clone())
        .register::<ScheduleHygiene>(context.clone())
        .schedule(Schedule::new("0 7 * * * *", Cleanup {}))
        .schedule(Schedule::new("30 * * * * *", ScheduleSyncs {}));
    let workers = hygiene::schedules(&context.settings).fold(workers, WorkerPool::schedule);
    if context.prompts.checkout.is_none() {
        return workers;
    }
    workers
        .register::<CommitPrompts>(context.clone())
        .schedule(Schedule::new("0 * * * * *", CommitPrompts {}))
}

/// Adds the job kinds of indexing. `stop` interrupts a running index run, which resumes later.
pub fn indexing(
    workers: WorkerPool,
    context: &JobContext,
    settings: IndexSettings,
    stop: &CancellationToken,
) -> WorkerPool {
    let index = IndexContext::new(settings, context, stop.clone());
    workers
        .register::<IndexRepository>(index)
        .register::<RescueIndexRuns>(context.clone())
        .schedule(Schedule::new("30 * * * * *", RescueIndexRuns {}))
}

/// Adds the job kind that fetches workspaces. Only nodes that serve requests run it, since the node
/// that fetches a workspace answers the requests for its files. `stop` interrupts a fetch, which
/// starts again later.
pub fn fetching_workspaces(
    workers: WorkerPool,
    fetch: FetchContext,
    stop: &CancellationToken,
) -> WorkerPool {
    workers.register::<FetchWorkspace>(FetchWorkspaceContext { fetch, stop: stop.clone() })
}
