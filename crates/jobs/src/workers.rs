//! Those who do the work: for each kind a worker of apalis's, watched, and what the queue needs besides.

mod executor;
mod node;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mc_store::Store;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::node::Node;
use crate::job::{BackgroundJob, JobError};
use crate::schedule::Schedule;

/// How often, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Between two looks into the queue that nobody called for.
    pub look: Duration,
    /// Between two signs of life of a worker.
    pub heartbeat: Duration,
    /// A worker that gave none for so long is dead, and others take what it had.
    pub silence: Duration,
    /// Between two sweeps of what the dead left.
    pub sweep: Duration,
    /// What was at work in a process that died is begun again at different times within this, and within twice
    /// as much after each start: whatever ends the process soon does so alone.
    pub apart: Duration,
    /// For so long work may go on after it was told to stop. With a heartbeat less than the silence, or others
    /// begin it: a worker that stops gives no sign of life.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            sweep: Duration::from_secs(15),
            apart: Duration::from_secs(2),
            grace: Duration::from_secs(20),
        }
    }
}

/// The workers of one node.
pub struct WorkerPool {
    store: Store,
    node: Option<String>,
    timing: Timing,
    kinds: Vec<Kind>,
    schedules: Vec<Schedule>,
}

/// Does the work of a kind until it is told to stop.
type Kind = Box<dyn FnOnce(Arc<Node>, CancellationToken) -> BoxFuture<'static, ()> + Send>;

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("timing", &self.timing)
            .field("kinds", &self.kinds.len())
            .field("schedules", &self.schedules)
            .finish_non_exhaustive()
    }
}

impl WorkerPool {
    /// Workers that do nothing yet, over connections that see every project.
    pub fn new(store: Store) -> Self {
        let timing = Timing::default();
        let (kinds, schedules) = (Vec::new(), Vec::new());
        Self { store, node: None, timing, kinds, schedules }
    }

    /// The same in the name of a node that has one process at a time: what the one before held when it died is
    /// taken up at once.
    pub fn node_name(self, name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..self }
    }

    /// The same at another pace.
    pub fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// The same, doing work of a kind.
    pub fn register<W, F, Fut>(mut self, run: F) -> Self
    where
        W: BackgroundJob,
        F: Fn(W) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        self.kinds.push(Box::new(move |node, stop| {
            Box::pin(worker::supervise::<W, F, Fut>(node, run, stop))
        }));
        self
    }

    /// The same, asking for work by the clock.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Works until `stop`; then lets what is at work end, gives back the rest and returns.
    pub async fn run(self, stop: CancellationToken) {
        if let Some(node) = &self.node {
            node::expire_former_workers(&self.store, node).await;
        }
        let node = Arc::new(Node::new(self.node, self.store, self.timing));
        let mut tasks = JoinSet::new();
        for kind in self.kinds {
            tasks.spawn(kind(Arc::clone(&node), stop.clone()));
        }
        for schedule in self.schedules {
            tasks.spawn(schedule.run(node.store.clone(), stop.clone()));
        }
        tasks.spawn(node::listen(Arc::clone(&node), stop.clone()));
        tasks.spawn(node::sweep(Arc::clone(&node), stop));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a part of the background work ended by a fault");
            }
        }
        node.library.close().await;
    }
}
