//! Write queue: concurrent writes of a project share one transaction, which pays for one commit,
//! one read of the audit's head and one lock. Saves of a project are serialized anyway.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use mc_domain::{Classified as _, ErrorKind, ProjectId};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;

use crate::Error;

/// A write that can run alone or in a batch with others of its project.
pub(crate) trait QueuedWrite: Send + Sized + 'static {
    type Output: Send;

    /// How long the first write waits for others ([`WriteQueue::flush`] ends the wait). Zero if a
    /// caller waits for the result.
    const MAX_DELAY: Duration = Duration::ZERO;

    /// Maximum number of writes in one transaction. PostgreSQL caches up to 64 subtransactions, and
    /// the first write must not wait long for the last.
    const BATCH_MAX: usize = 32;

    fn project(&self) -> ProjectId;

    /// Runs the write in its own transaction.
    fn write_one(&mut self) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// Writes several of one project in one transaction and returns the result of each; an error if
    /// they have to be written one by one.
    fn write_batch(
        group: &mut [Self],
    ) -> impl Future<Output = Result<Vec<Result<Self::Output, Error>>, Error>> + Send;
}

/// Queued writes by project. Database locks order the writes of several nodes.
pub(crate) struct WriteQueue<W: QueuedWrite> {
    /// Every project in the map has a task that writes its queue.
    pending: Arc<Mutex<HashMap<ProjectId, Vec<Pending<W>>>>>,
    writing: Arc<Semaphore>,
    /// Counts flush requests, so that a task busy with something else misses none.
    flush: watch::Sender<u64>,
}

/// Number of concurrent transactions when each write of a batch has its own. Saves of a project
/// wait for each other, and each holds a connection meanwhile.
const SINGLE_WRITE_CONCURRENCY: usize = 2;

/// Attempts of a write that no caller waits for.
pub(crate) const ATTEMPTS: u32 = 3;

impl<W: QueuedWrite> Clone for WriteQueue<W> {
    fn clone(&self) -> Self {
        Self {
            pending: Arc::clone(&self.pending),
            writing: Arc::clone(&self.writing),
            flush: self.flush.clone(),
        }
    }
}

struct Pending<W: QueuedWrite> {
    work: W,
    answer: oneshot::Sender<Outcome<W>>,
}

/// Result of the write, and the write itself.
type Outcome<W> = (Result<<W as QueuedWrite>::Output, Error>, W);

impl<W: QueuedWrite> WriteQueue<W> {
    /// Creates a queue that writes at most `concurrency` batches at once, over all projects.
    pub(crate) fn new(concurrency: usize) -> Self {
        let writing = Arc::new(Semaphore::new(concurrency));
        Self { pending: Arc::default(), writing, flush: watch::Sender::default() }
    }

    /// Ends the delay of all queues, because a caller waits for some of their writes.
    pub(crate) fn flush(&self) {
        self.flush.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Writes it, in a batch with other queued writes of its project. A caller that gives up before
    /// its turn leaves nothing behind; after that, the write completes anyway.
    pub(crate) async fn write(&self, work: W) -> Outcome<W> {
        let project = work.project();
        let (answer, answered) = oneshot::channel();
        let is_first = {
            let mut projects = self.projects();
            let is_first = !projects.contains_key(&project);
            projects.entry(project).or_default().push(Pending { work, answer });
            is_first
        };
        if is_first {
            let flushes = self.flush.subscribe();
            tokio::spawn(self.clone().write_all(project, flushes));
        }
        answered.await.expect("the writer sends each outcome")
    }

    /// Writes after the response, and retries while the database is unavailable.
    pub(crate) async fn write_with_retries(&self, mut work: W) -> Result<W::Output, Error> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (written, unwritten) = self.write(work).await;
            if written.is_ok() || attempt == ATTEMPTS {
                return written;
            }
            work = unwritten;
            tokio::time::sleep(Duration::from_millis(200) * attempt).await;
        }
    }

    /// Writes the queue of a project until it is empty.
    async fn write_all(self, project: ProjectId, mut flushes: watch::Receiver<u64>) {
        loop {
            if !W::MAX_DELAY.is_zero() {
                // Either a flush or the delay ends the wait.
                let _ = timeout(W::MAX_DELAY, flushes.changed()).await;
            }
            let Some(group) = self.next(project) else { return };
            let _writing = self.writing.acquire().await.expect("the semaphore is never closed");
            write_group(group).await;
        }
    }

    /// Takes the next batch, the oldest writes first. An empty queue is removed with its project.
    fn next(&self, project: ProjectId) -> Option<Vec<Pending<W>>> {
        let mut projects = self.projects();
        let pending = projects.get_mut(&project)?;
        pending.retain(|pending| !pending.answer.is_closed());
        if pending.is_empty() {
            projects.remove(&project);
            return None;
        }
        let count = pending.len().min(W::BATCH_MAX);
        Some(pending.drain(..count).collect())
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Vec<Pending<W>>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a batch in one transaction. If the transaction fails, each write runs in its own, so
/// that one faulty write does not fail the others.
async fn write_group<W: QueuedWrite>(group: Vec<Pending<W>>) {
    let (mut works, answers): (Vec<_>, Vec<_>) =
        group.into_iter().map(|pending| (pending.work, pending.answer)).unzip();
    let write_batch = match works.as_mut_slice() {
        [_] => Err(SINGLE_WRITE_CONCURRENCY),
        // Without a database there are no connections to hold, so all fail at once.
        works => caught(W::write_batch(works)).await.map_err(|error| match error.kind() {
            ErrorKind::Unavailable => works.len(),
            _ => SINGLE_WRITE_CONCURRENCY,
        }),
    };
    let done = match write_batch {
        Ok(done) => done,
        Err(concurrency) => {
            let mut done = Vec::with_capacity(works.len());
            for some in works.chunks_mut(concurrency) {
                done.extend(join_all(some.iter_mut().map(|work| caught(work.write_one()))).await);
            }
            done
        }
    };
    for ((work, answer), done) in works.into_iter().zip(answers).zip(done) {
        // The caller may no longer wait.
        let _ = answer.send((done, work));
    }
}

/// Runs a write and turns its panic into an error for its caller.
async fn caught<T>(write: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(write).catch_unwind().await.unwrap_or(Err(Error::Panicked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write that may panic, and that is delayed until a flush.
    struct Fragile {
        project: ProjectId,
        panics: bool,
    }

    impl QueuedWrite for Fragile {
        type Output = ();

        const MAX_DELAY: Duration = Duration::from_hours(1);

        fn project(&self) -> ProjectId {
            self.project
        }

        async fn write_one(&mut self) -> Result<(), Error> {
            assert!(!self.panics, "requested by the test");
            Ok(())
        }

        async fn write_batch(group: &mut [Self]) -> Result<Vec<Result<(), Error>>, Error> {
            assert!(!group.iter().any(|one| one.panics), "requested by the test");
            Ok(group.iter().map(|_| Ok(())).collect())
        }
    }

    #[tokio::test]
    async fn panicking_write_does_not_fail_its_batch() {
        let (write_queue, project) = (WriteQueue::new(1), ProjectId::generate());
        let write = |panics| write_queue.write(Fragile { project, panics });
        let flush = async { write_queue.flush() };
        let ((before, _), (panicked, _), (after, _), ()) =
            tokio::join!(biased; write(false), write(true), write(false), flush);
        assert!(before.is_ok() && after.is_ok());
        assert!(matches!(panicked, Err(Error::Panicked)));
    }

    #[tokio::test]
    async fn flush_is_seen_by_a_writer_that_does_not_wait_yet() {
        let (write_queue, project) = (WriteQueue::new(1), ProjectId::generate());
        let write = || write_queue.write(Fragile { project, panics: false });
        for _ in 0..2 {
            // On one thread: the writing task has not started at the time of the flush.
            let ((written, _), ()) = tokio::join!(biased; write(), async { write_queue.flush() });
            assert!(written.is_ok());
        }
    }
}
