//! What the workers of a node share: its name, who wakes them, and who looks after what the queue leaves lying.

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

/// After so many days what was done is forgotten, later than any schedule looks back; what is dead stays.
const KEPT_DAYS: i32 = 40;
/// The library may be looking into the queue while a job comes, and then waits without having seen it. So it
/// is told once more, after any such look is over.
const ECHO: Duration = Duration::from_millis(25);

/// What the workers of a node share.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Store,
    /// What the library takes jobs off the queue with.
    pub(super) library: ApalisPool,
    pub(super) timing: Timing,
    /// Those who look for jobs.
    pub(super) bells: Wakeups,
}

impl Node {
    /// A node whose process is the one of that name, if it has one.
    pub(super) fn new(name: Option<String>, store: Store, timing: Timing) -> Self {
        Self {
            name: process_name(name),
            library: jobs::queue(&store),
            store,
            timing,
            bells: Wakeups::default(),
        }
    }
}

/// Those who wait for work, by its kind.
#[derive(Default)]
pub(super) struct Wakeups(Mutex<HashMap<&'static str, Arc<Wakeup>>>);

impl Wakeups {
    /// A bell for the worker of a kind instead of the former one's, and what it is heard by.
    pub(super) fn subscribe(&self, kind: &'static str) -> (Arc<Wakeup>, mpsc::Receiver<()>) {
        let (sender, woken) = mpsc::channel(1);
        let bell = Arc::new(Wakeup { woken: Mutex::new(sender), again: Notify::new() });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, Arc::clone(&bell));
        (bell, woken)
    }

    /// Wakes the workers of a kind, or all.
    pub(super) fn wake(&self, kind: Option<&str>) {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, bell) in bells.iter().filter(|(of, _)| kind.is_none_or(|kind| kind == **of)) {
            bell.ring();
            bell.again.notify_one();
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
            tokio::time::sleep(ECHO).await;
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
        tracing::warn!(%error, "what this node left when it ended is free when it was silent for long");
    }
}

/// Wakes the workers when jobs come. While nobody can be listened to they look by themselves.
pub(super) async fn listen(node: Arc<Node>, stop: CancellationToken) {
    while let Some(ended) = stop.run_until_cancelled(listen_for_jobs(&node)).await {
        let Err(error) = ended;
        tracing::warn!(%error, "nobody tells of new jobs; they are looked for");
        let _ = stop.run_until_cancelled(tokio::time::sleep(node.timing.look)).await;
    }
}

async fn listen_for_jobs(node: &Node) -> Result<Infallible, mc_store::Error> {
    let mut inserted = jobs::listen(&node.store).await?;
    // Some may have come before.
    node.bells.wake(None);
    loop {
        node.bells.wake(inserted.next().await?.as_deref());
    }
}

/// Looks after what the queue leaves lying.
pub(super) async fn sweep(node: Arc<Node>, stop: CancellationToken) {
    let timing = node.timing;
    let mut due = tokio::time::interval(timing.sweep);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(due.tick()).await.is_some() {
        match jobs::maintain(&node.store, timing.silence, timing.apart, KEPT_DAYS).await {
            Ok(swept) if swept == MaintenanceReport::default() => {}
            Ok(MaintenanceReport { rescued, discarded, pruned }) => {
                tracing::info!(rescued, discarded, pruned, "looked after the queue");
                if rescued > 0 {
                    node.bells.wake(None);
                }
            }
            Err(error) => tracing::warn!(%error, "the queue could not be looked after"),
        }
    }
}
