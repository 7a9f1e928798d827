//! What the workers of a node share: its name, wake-ups, and maintenance of the queue.

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

/// Days until a completed job is pruned, more than any schedule looks back; discarded jobs stay.
const RETENTION_DAYS: i32 = 40;
/// The library may be looking into the queue while a job comes, and then waits without having seen
/// it. So it is told once more, after any such look is over.
const SECOND_WAKE_DELAY: Duration = Duration::from_millis(25);

/// What the workers of a node share.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Store,
    /// The library's own connections.
    pub(super) library: ApalisPool,
    pub(super) timing: Timing,
    /// Wake-ups of the workers.
    pub(super) wakeups: Wakeups,
}

impl Node {
    /// A node whose process is the one of that name, if it has one.
    pub(super) fn new(name: Option<String>, store: Store, timing: Timing) -> Self {
        Self {
            name: process_name(name),
            library: jobs::queue(&store),
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
    /// A wakeup for the worker of a kind instead of the former one's, and what it is heard by.
    pub(super) fn subscribe(&self, kind: &'static str) -> (Arc<Wakeup>, mpsc::Receiver<()>) {
        let (sender, woken) = mpsc::channel(1);
        let wakeup = Arc::new(Wakeup { woken: Mutex::new(sender), again: Notify::new() });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, Arc::clone(&wakeup));
        (wakeup, woken)
    }

    /// Wakes the workers of a kind, or all.
    pub(super) fn wake(&self, kind: Option<&str>) {
        let wakeups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, wakeup) in wakeups.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == **of)) {
            wakeup.ring();
            wakeup.again.notify_one();
        }
    }
}

/// Wakes the workers of one kind.
pub(super) struct Wakeup {
    woken: Mutex<mpsc::Sender<()>>,
    again: Notify,
}

impl Wakeup {
    fn ring(&self) {
        // One that is full wakes them already.
        let _ = self.woken.lock().unwrap_or_else(PoisonError::into_inner).try_send(());
    }

    /// Rings once more after each time.
    pub(super) async fn wake_again(&self) -> ! {
        loop {
            self.again.notified().await;
            tokio::time::sleep(SECOND_WAKE_DELAY).await;
            self.ring();
        }
    }
}

/// Between the name of a node and what tells its processes apart.
const PROCESS: &str = ", process ";

/// One that no other process has, nor ever had.
fn process_name(node: Option<String>) -> String {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let node = node.unwrap_or_else(host);
    format!("{node}{PROCESS}{} {}", std::process::id(), Uuid::now_v7())
}

/// Has the first sweep free what the node's former processes held.
pub(super) async fn expire_former_workers(store: &Store, node: &str) {
    if let Err(error) = jobs::expire_workers(store, &format!("{node}{PROCESS}")).await {
        tracing::warn!(%error, "jobs of this node's former process are rescued only after the \
                                heartbeat timeout");
    }
}

/// Wakes the workers when jobs come. While nobody can be listened to they look by themselves.
pub(super) async fn listen(node: Arc<Node>, stop: CancellationToken) {
    while let Some(ended) = stop.run_until_cancelled(listen_for_jobs(&node)).await {
        let Err(error) = ended;
        tracing::warn!(%error, "notifications of new jobs failed; the queue is polled");
        let _ = stop.run_until_cancelled(tokio::time::sleep(node.timing.poll_interval)).await;
    }
}

async fn listen_for_jobs(node: &Node) -> Result<Infallible, mc_store::Error> {
    let mut inserted = jobs::listen(&node.store).await?;
    // Some may have come before.
    node.wakeups.wake(None);
    loop {
        node.wakeups.wake(inserted.next().await?.as_deref());
    }
}

/// Rescues the jobs of dead workers and prunes completed jobs.
pub(super) async fn maintain(node: Arc<Node>, stop: CancellationToken) {
    let timing = node.timing;
    let mut due = tokio::time::interval(timing.maintenance_interval);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(due.tick()).await.is_some() {
        match jobs::maintain(
            &node.store,
            timing.heartbeat_timeout,
            timing.rescue_spread,
            RETENTION_DAYS,
        )
        .await
        {
            Ok(swept) if swept == MaintenanceReport::default() => {}
            Ok(MaintenanceReport { rescued, discarded, pruned }) => {
                tracing::info!(rescued, discarded, pruned, "maintained the queue");
                if rescued > 0 {
                    node.wakeups.wake(None);
                }
            }
            Err(error) => tracing::warn!(%error, "the queue can't be maintained; trying again"),
        }
    }
}
