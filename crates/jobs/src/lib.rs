#![doc = include_str!("../README.md")]

pub mod apply;
mod cleanup;
mod hygiene;
mod index_repository;
mod job;
pub mod manage;
mod post_task_comment;
mod process_delivery;
mod schedule;
mod schedule_syncs;
mod sync_integration;
mod workers;

use mc_store::Store;
use tokio_util::sync::CancellationToken;

pub use cleanup::Cleanup;
pub use hygiene::{Embedding, RunHygieneTask, ScheduleHygiene, request_run};
use index_repository::RescueIndexRuns;
pub use index_repository::{IndexRepository, Indexing};
pub use job::{BackgroundJob, Enqueue, JobError};
pub use post_task_comment::PostTaskComment;
pub use process_delivery::ProcessDelivery;
pub use schedule::Schedule;
pub use schedule_syncs::ScheduleSyncs;
pub use sync_integration::{SyncContext, SyncIntegration};
pub use workers::{Timing, WorkerPool};

/// The workers of a node of the service: each kind of work, and when it is asked for by the clock. Both see every
/// project: `queue` is for taking work and saying how it ended, which must not wait for the work, done over `store`.
/// Other systems are asked as `connecting` has them; `embedding` is the model in use.
pub fn workers(
    queue: Store,
    store: &Store,
    connecting: SyncContext,
    embedding: Embedding,
) -> WorkerPool {
    let [of_all, told, looked_at, asking, writing, kept, asked] = [(); 7].map(|()| store.clone());
    let connected = connecting.clone();
    let workers = WorkerPool::new(queue)
        .register(move |_: Cleanup| cleanup::run(of_all.clone()))
        .register(move |delivered: ProcessDelivery| process_delivery::run(told.clone(), delivered))
        .register(move |_: ScheduleSyncs| schedule_syncs::run(looked_at.clone()))
        .register(move |due: SyncIntegration| {
            sync_integration::run(asking.clone(), connecting.clone(), due)
        })
        .register(move |links: PostTaskComment| {
            post_task_comment::run(writing.clone(), connected.clone(), links)
        })
        .register(move |work: RunHygieneTask| hygiene::run(kept.clone(), embedding.clone(), work))
        .register(move |round: ScheduleHygiene| hygiene::enqueue_all_projects(asked.clone(), round))
        .schedule(Schedule::new("0 7 * * * *", Cleanup {}))
        .schedule(Schedule::new("30 * * * * *", ScheduleSyncs {}));
    hygiene::schedules().fold(workers, WorkerPool::schedule)
}

/// The same, indexing repositories as well until `stop`; then what is at work is broken off, to be gone on with.
pub fn indexing(
    workers: WorkerPool,
    store: &Store,
    how: Indexing,
    stop: &CancellationToken,
) -> WorkerPool {
    let (context, stop, of_all) = (how.context(store.clone()), stop.clone(), store.clone());
    workers
        .register(move |work: IndexRepository| {
            index_repository::run(context.clone(), work, stop.clone())
        })
        .register(move |_: RescueIndexRuns| index_repository::rescue_runs(of_all.clone()))
        .schedule(Schedule::new("30 * * * * *", RescueIndexRuns {}))
}
