//! Concurrency limit of long work, such as the preparation of documents. Without it, this work
//! would run on one thread for each request, and slow down recalls.

use std::sync::{Arc, LazyLock};
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::run_blocking;

/// Permits for long work on blocking threads.
static LONG_WORK: LazyLock<Arc<Semaphore>> = LazyLock::new(permits);
/// Permits for requests that prepare and write documents. Such a request also acquires permits of
/// `LONG_WORK`, always after its own, so that no deadlock is possible.
static BATCHES: LazyLock<Arc<Semaphore>> = LazyLock::new(permits);

/// Creates a permit for each core but one, and at least one.
fn permits() -> Arc<Semaphore> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)))
}

/// Runs long work on a blocking thread like [`run_blocking`], with a permit, which callers get in
/// the order of their calls. Call it for each part of the work, so that other callers do not wait
/// for all parts. Do not call it within a transaction.
pub async fn run_limited<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    run_with_permit(&LONG_WORK, work).await
}

/// Waits for a permit to prepare and write the documents of a request. Keep it until they are
/// written: prepared documents take several times their size in memory, and the database needs a
/// core to write them. Acquire it before the transaction begins.
pub async fn acquire_batch_permit() -> OwnedSemaphorePermit {
    acquire(&BATCHES).await
}

async fn acquire(permits: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = Arc::clone(permits).acquire_owned().await;
    permit.expect("the semaphore is never closed")
}

/// Runs work with a permit, which it keeps until it ends, even if the caller is cancelled.
async fn run_with_permit<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let permit = acquire(permits).await;
    run_blocking(move || {
        let _permit = permit;
        work()
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, mpsc};

    use futures::FutureExt as _;
    use futures::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_waits_for_a_permit() {
        let permits = Arc::new(Semaphore::new(1));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (started, has_started) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let (first_log, second_log) = (Arc::clone(&log), Arc::clone(&log));
        let mut first = pin!(run_with_permit(&permits, move || {
            started.send(()).expect("the test waits");
            released.recv().expect("the test releases it");
            first_log.lock().expect("no panic").push("first");
        }));
        assert!(first.as_mut().now_or_never().is_none());
        has_started.await.expect("the first one starts");
        let mut second = pin!(run_with_permit(&permits, move || {
            second_log.lock().expect("no panic").push("second");
        }));
        assert!(second.as_mut().now_or_never().is_none());
        release.send(()).expect("the first one waits");
        first.await;
        second.await;
        assert_eq!(*log.lock().expect("no panic"), ["first", "second"]);
        assert_eq!(permits.available_permits(), 1);
    }

    #[tokio::test]
    async fn no_more_work_runs_at_once_than_there_are_permits() {
        let permits = Arc::new(Semaphore::new(2));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let each = (0..32).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            run_with_permit(&permits, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                (0..100).for_each(|_| thread::yield_now());
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        join_all(each).await;
        let most = most.load(Ordering::SeqCst);
        assert!((1..=2).contains(&most), "{most}");
    }

    #[tokio::test]
    async fn a_permit_delays_work_until_it_is_dropped() {
        let permits = Arc::new(Semaphore::new(1));
        let permit = acquire(&permits).await;
        let mut work = pin!(run_with_permit(&permits, || 1));
        assert!(work.as_mut().now_or_never().is_none());
        assert_eq!(permits.available_permits(), 0);
        drop(permit);
        assert_eq!(work.await, 1);
    }

    #[tokio::test]
    async fn work_that_panics_releases_its_permit() {
        let permits = Arc::new(Semaphore::new(1));
        let panics = || -> u8 { panic!("requested by the test") };
        let panicking = tokio::spawn({
            let permits = Arc::clone(&permits);
            async move { run_with_permit(&permits, panics).await }
        });
        assert!(panicking.await.is_err());
        assert_eq!(run_with_permit(&permits, || 1).await, 1);
    }
}
