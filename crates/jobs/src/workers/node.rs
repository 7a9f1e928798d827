//! State that the workers of a node share: its name, its wake-ups and the queue's maintenance.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc;
use mc_store::Store;
use mc_store::jobs::{self, ApalisPool, MaintenanceReport};
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Timing;

/// Days until a completed job is pruned: more than the longest lookback of a schedule, whose ticks
/// are unique keys. Discarded jobs stay.
const RETENTION_DAYS: i32 = 40;
/// Delay of the second wake-up. apalis may poll the queue while a job is inserted, miss the job,
/// and then sleep; the second wake-up comes after that poll.
const SECOND_WAKE_DELAY: Duration = Duration::from_millis(25);

/// State that the workers of a node share.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Store,
    /// The connections of apalis.
    pub(super) apalis: ApalisPool,
    pub(super) timing: Timing,
    /// Wake-ups of the workers.
    pub(super) wakeups: Wakeups,
}

impl Node {
    /// Creates a node. Its name defaults to the host's name.
    pub(super) fn new(name: Option<String>, store: Store, timing: Timing) -> Self {
        Self {
            name: process_name(name),
            apalis: jobs::queue(&store),
            store,
            timing,
            wakeups: Wakeups::default(),
        }
    }
}

/// Wake-ups of the workers, by job kind.
#[derive(Default)]
pub(super) struct Wakeups(Mutex<HashMap<&'static str, Arc<Wakeup>>>);

impl Wakeups {
    /// Replaces the wake-up of a kind's worker, and returns it with its receiver.
    pub(super) fn subscribe(&self, kind: &'static str) -> (Arc<Wakeup>, mpsc::Receiver<()>) {
        let (sender, receiver) = mpsc::channel(1);
        let wakeup = Arc::new(Wakeup { sender: Mutex::new(sender), second: Notify::new() });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, Arc::clone(&wakeup));
        (wakeup, receiver)
    }

    /// Wakes the worker of a kind, or all workers.
    pub(super) fn wake(&self, kind: Option<&str>) {
        let wakeups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let selected = wakeups.iter().filter(|(name, _)| kind.is_none_or(|kind| kind == **name));
        for (_, wakeup) in selected {
            wakeup.send();
            wakeup.second.notify_one();
        }
    }
}

/// The wake-up of one kind's worker.
pub(super) struct Wakeup {
    sender: Mutex<mpsc::Sender<()>>,
    second: Notify,
}

impl Wakeup {
    fn send(&self) {
        // A full channel holds a wake-up already.
        let _ = self.sender.lock().unwrap_or_else(PoisonError::into_inner).try_send(());
    }

    /// Sends a second wake-up after each one.
    pub(super) async fn wake_again(&self) -> ! {
        loop {
            self.second.notified().await;
            tokio::time::sleep(SECOND_WAKE_DELAY).await;
            self.send();
        }
    }
}

/// Separator between a node's name and the id of its process.
const PROCESS_SEPARATOR: &str = ", process ";

/// Returns a name that no other process ever has.
fn process_name(node: Option<String>) -> String {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let node = node.unwrap_or_else(host);
    format!("{node}{PROCESS_SEPARATOR}{} {}", std::process::id(), Uuid::now_v7())
}

/// Expires the workers of the node's former processes, so that their jobs are rescued at once.
pub(super) async fn expire_former_workers(store: &Store, node: &str) {
    if let Err(error) = jobs::expire_workers(store, &format!("{node}{PROCESS_SEPARATOR}")).await {
        tracing::warn!(%error, "former workers of this node can't be expired; their jobs are \
                                rescued after the heartbeat timeout");
    }
}

/// Wakes the workers when jobs are inserted. If notifications fail, the workers poll the queue.
pub(super) async fn listen(node: Arc<Node>, stop: CancellationToken) {
    while let Some(result) = stop.run_until_cancelled(listen_for_jobs(&node)).await {
        let Err(error) = result;
        tracing::warn!(%error, "job notifications lost; polling the queue");
        let _ = stop.run_until_cancelled(tokio::time::sleep(node.timing.poll_interval)).await;
    }
}

async fn listen_for_jobs(node: &Node) -> Result<Infallible, mc_store::Error> {
    let mut inserted = jobs::listen(&node.store).await?;
    // Jobs may have been inserted before.
    node.wakeups.wake(None);
    loop {
        node.wakeups.wake(inserted.next().await?.as_deref());
    }
}

/// Rescues the jobs of dead workers and prunes completed jobs.
pub(super) async fn maintain(node: Arc<Node>, stop: CancellationToken) {
    let timing = node.timing;
    let mut interval = tokio::time::interval(timing.maintenance_interval);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(interval.tick()).await.is_some() {
        match jobs::maintain(
            &node.store,
            timing.heartbeat_timeout,
            timing.rescue_spread,
            RETENTION_DAYS,
        )
        .await
        {
            Ok(report) if report == MaintenanceReport::default() => {}
            Ok(MaintenanceReport { rescued, discarded, pruned }) => {
                tracing::info!(rescued, discarded, pruned, "job queue maintained");
                if rescued > 0 {
                    node.wakeups.wake(None);
                }
            }
            Err(error) => tracing::warn!(%error, "job queue can't be maintained; retrying"),
        }
    }
}
