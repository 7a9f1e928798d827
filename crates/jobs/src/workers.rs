//! The worker pool of a node: a worker for each job kind, schedules and maintenance.

mod executor;
mod node;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use mc_store::Store;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::executor::JobKind;
use self::node::Node;
use crate::job::BackgroundJob;
use crate::schedule::Schedule;
use crate::settings::JobSettings;

/// Intervals and limits of the queue.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Time between two polls of the queue, for jobs without a notification.
    pub poll_interval: Duration,
    /// Time between two heartbeats of a worker.
    pub heartbeat: Duration,
    /// A worker without a heartbeat for this long is dead, and its jobs are rescued.
    pub heartbeat_timeout: Duration,
    /// Time between two rescues of jobs of dead workers.
    pub maintenance_interval: Duration,
    /// Jobs that ran in a process that died restart at different times within this, and within
    /// twice as much after each attempt, so that a job that ends its process soon does so alone.
    pub rescue_spread: Duration,
    /// How long running jobs may continue after shutdown began. Heartbeats end then, so this and
    /// `heartbeat` together must be less than `heartbeat_timeout`.
    pub grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            poll_interval: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
            heartbeat_timeout: Duration::from_secs(30),
            maintenance_interval: Duration::from_secs(15),
            rescue_spread: Duration::from_secs(2),
            grace: Duration::from_secs(20),
        }
    }
}

/// The workers of one node.
pub struct WorkerPool {
    store: Store,
    node: Option<String>,
    timing: Timing,
    settings: JobSettings,
    kinds: Vec<JobKind>,
    schedules: Vec<Schedule>,
}

impl WorkerPool {
    /// Creates a pool without job kinds. `store` has access to every project.
    pub fn new(store: Store) -> Self {
        let (timing, settings) = (Timing::default(), JobSettings::default());
        Self { store, node: None, timing, settings, kinds: Vec::new(), schedules: Vec::new() }
    }

    /// Names the node, whose former process is dead: its jobs are rescued at once.
    pub fn node_name(self, name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..self }
    }

    /// Sets intervals and limits of the queue.
    pub fn with_timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Sets the operator's settings of the kinds that are registered from now on.
    pub fn with_settings(self, settings: JobSettings) -> Self {
        Self { settings, ..self }
    }

    /// Registers a job kind with the dependencies of its jobs.
    pub fn register<J: BackgroundJob>(mut self, context: J::Context) -> Self {
        self.kinds.push(JobKind::new::<J>(&self.settings, context));
        self
    }

    /// Adds a schedule.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedules.push(schedule);
        self
    }

    /// Runs jobs until `stop`; then lets running jobs complete, releases the others and returns.
    pub async fn run(self, stop: CancellationToken) {
        if let Some(node) = &self.node {
            node::expire_former_workers(&self.store, node).await;
        }
        let node = Arc::new(Node::new(self.node, self.store, self.timing));
        let mut tasks = JoinSet::new();
        for kind in self.kinds {
            tasks.spawn(worker::supervise(Arc::clone(&node), kind, stop.clone()));
        }
        for schedule in self.schedules {
            tasks.spawn(schedule.run(node.store.clone(), stop.clone()));
        }
        tasks.spawn(node::listen(Arc::clone(&node), stop.clone()));
        tasks.spawn(node::maintain(Arc::clone(&node), stop));
        while let Some(result) = tasks.join_next().await {
            if let Err(error) = result {
                tracing::error!(%error, "task of the worker pool panicked");
            }
        }
        node.apalis.close().await;
    }
}
