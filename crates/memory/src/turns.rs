//! Who may write to a project's memory next.

use std::sync::Arc;

use mc_domain::ProjectId;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

/// Enough that few projects share a queue; those that do merely wait for each other.
const QUEUES: usize = 64;

/// Queues of saves before the database: those of a project come one after the other, and whoever
/// waits holds no connection. Between several nodes the project's lock in the database decides.
#[derive(Clone)]
pub(crate) struct Turns {
    queues: Arc<[Mutex<()>]>,
    writing: Arc<Semaphore>,
}

/// The right to write, until it is dropped.
pub(crate) struct Turn<'a> {
    _place: MutexGuard<'a, ()>,
    _writing: SemaphorePermit<'a>,
}

impl Turns {
    /// With at most so many saves in the database at once, of all projects.
    pub(crate) fn new(at_once: usize) -> Self {
        let queues = (0..QUEUES).map(|_| Mutex::default()).collect();
        Self { queues, writing: Arc::new(Semaphore::new(at_once)) }
    }

    /// Waits for the project's turn.
    pub(crate) async fn of(&self, project: ProjectId) -> Turn<'_> {
        let queue = project.0.as_u128() % self.queues.len() as u128;
        let queue = usize::try_from(queue).expect("less than the queues");
        let place = self.queues[queue].lock().await;
        let writing = self.writing.acquire().await.expect("the semaphore is never closed");
        Turn { _place: place, _writing: writing }
    }
}
