//! Job kinds that run closures, and queries of the queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mc_contract::operations::job::Job;
use mc_jobs::{BackgroundJob, JobError, WorkerPool};
use mc_store::Store;
use mc_store::jobs::{self, JobFilter};

/// Longer than any step takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(2);
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The closure that runs a test job; its context.
pub type Handler<J> = Arc<dyn Fn(J) -> BoxFuture<'static, Result<(), JobError>> + Send + Sync>;

/// Registration of a test job with a closure that runs it.
pub trait Handle: Sized {
    fn handle<J, F, Fut>(self, run: F) -> Self
    where
        J: BackgroundJob<Context = Handler<J>>,
        F: Fn(J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static;
}

impl Handle for WorkerPool {
    fn handle<J, F, Fut>(self, run: F) -> Self
    where
        J: BackgroundJob<Context = Handler<J>>,
        F: Fn(J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        self.register::<J>(Arc::new(move |job| Box::pin(run(job))))
    }
}

/// Returns all jobs of a kind.
pub async fn list_jobs(store: &Store, kind: &str) -> Vec<Job> {
    let filter = JobFilter { kind: Some(kind.to_owned()), ..JobFilter::default() };
    jobs::list(store, &filter, 10_000).await.unwrap()
}

/// Waits until the jobs of a kind meet a condition, and returns them.
pub async fn wait_for_jobs(
    store: &Store,
    kind: &str,
    condition: impl Fn(&[Job]) -> bool,
) -> Vec<Job> {
    let started = Instant::now();
    loop {
        let jobs = list_jobs(store, kind).await;
        if condition(&jobs) {
            return jobs;
        }
        assert!(started.elapsed() < TIMEOUT, "{jobs:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
