//! Concurrency limits of long work, such as the preparation of documents. Without them, this work
//! would run on one thread for each request, and slow down recalls. Users get permits round-robin,
//! and background jobs together have a turn like a user.

use std::sync::LazyLock;
use std::thread;

use mc_domain::UserId;

use super::fair_queue::{FairQueue, Permit};
use super::run_blocking;

/// Key among which queues share permits evenly: a user, or `None` for all background jobs.
pub type FairnessKey = Option<UserId>;

/// Permits for long work on blocking threads.
static LONG_WORK: LazyLock<FairQueue<FairnessKey>> = LazyLock::new(queue);
/// Permits for the work of long notes. They are separate, since that takes milliseconds: a save
/// would otherwise wait for a document, which may take a second.
pub(crate) static SAVES: LazyLock<FairQueue<FairnessKey>> = LazyLock::new(queue);
/// Permits for saves of a text that may be too long for a record, from the first step to the
/// commit, except while they wait for a chat model. Such a save also acquires permits of `SAVES`,
/// always after its own.
pub(crate) static LARGE_SAVES: LazyLock<FairQueue<FairnessKey>> = LazyLock::new(queue);
/// Permits for requests that prepare and write documents. Such a request also acquires permits of
/// `LONG_WORK`, always after its own. No deadlock is possible, since no other work acquires two
/// permits, and no save is part of such a request.
static BATCHES: LazyLock<FairQueue<FairnessKey>> = LazyLock::new(queue);

/// A permit to prepare and write the documents of a request.
pub type BatchPermit = Permit<FairnessKey>;
/// A permit to prepare and write a large save.
pub(crate) type SavePermit = Permit<FairnessKey>;

/// Creates a permit for each core but one, and at least one.
fn queue() -> FairQueue<FairnessKey> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    FairQueue::new(cores.saturating_sub(1).max(1))
}

/// Runs long work on a blocking thread like [`run_blocking`], with a permit. Call it for each part
/// of the work, so that other callers do not wait for all parts. Do not call it within a
/// transaction.
pub async fn run_limited<T: Send + 'static>(
    key: FairnessKey,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    run_with_permit(&LONG_WORK, key, work).await
}

/// Runs work of a long note like [`run_limited`], with a permit for such work.
pub(crate) async fn run_limited_save<T: Send + 'static>(
    key: FairnessKey,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    run_with_permit(&SAVES, key, work).await
}

/// Waits for a permit to prepare and write the documents of a request. Keep it until they are
/// written: prepared documents take several times their size in memory, and the database needs a
/// core to write them. Acquire it before the transaction begins.
pub async fn acquire_batch_permit(key: FairnessKey) -> BatchPermit {
    BATCHES.acquire(key).await
}

/// Runs work with a permit, which it keeps until it ends, even if the caller is cancelled.
async fn run_with_permit<T: Send + 'static>(
    permits: &FairQueue<FairnessKey>,
    key: FairnessKey,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let permit = permits.acquire(key).await;
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
    use std::sync::{Arc, Mutex, mpsc};

    use futures::FutureExt as _;
    use futures::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    const SERVICE: FairnessKey = None;

    #[tokio::test]
    async fn work_waits_for_a_permit() {
        let permits = FairQueue::new(1);
        let log = Arc::new(Mutex::new(Vec::new()));
        let (started, has_started) = oneshot::channel();
        let (release, released) = mpsc::channel();
        let (first_log, second_log) = (Arc::clone(&log), Arc::clone(&log));
        let mut first = pin!(run_with_permit(&permits, SERVICE, move || {
            started.send(()).expect("the test waits");
            released.recv().expect("the test releases it");
            first_log.lock().expect("no panic").push("first");
        }));
        assert!(first.as_mut().now_or_never().is_none());
        has_started.await.expect("the first one starts");
        let mut second = pin!(run_with_permit(&permits, SERVICE, move || {
            second_log.lock().expect("no panic").push("second");
        }));
        assert!(second.as_mut().now_or_never().is_none());
        release.send(()).expect("the first one waits");
        first.await;
        second.await;
        assert_eq!(*log.lock().expect("no panic"), ["first", "second"]);
        assert_eq!(permits.free(), 1);
    }

    #[tokio::test]
    async fn no_more_work_runs_at_once_than_there_are_permits() {
        let permits = FairQueue::new(2);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let each = (0..32).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            run_with_permit(&permits, SERVICE, move || {
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
    async fn work_of_another_user_starts_before_the_tenth_of_the_first() {
        let (permits, log) = (FairQueue::new(1), Arc::new(Mutex::new(Vec::new())));
        let run = |key: FairnessKey, name: &'static str| {
            let (permits, log) = (permits.clone(), Arc::clone(&log));
            async move {
                let started = move || log.lock().expect("no panic").push(name);
                run_with_permit(&permits, key, started).await;
            }
        };
        let permit = permits.acquire(None).await;
        let [first, second] = [(); 2].map(|()| Some(UserId::generate()));
        let ten = join_all((0..10).map(|_| run(first, "first")));
        let others = [run(second, "second"), run(SERVICE, "job")];
        let mut all = pin!(futures::future::join(ten, join_all(others)));
        // The first poll puts all of them into the queue, in this order.
        assert!(all.as_mut().now_or_never().is_none());
        drop(permit);
        all.await;
        let log = log.lock().expect("no panic");
        assert_eq!(log[..4], ["first", "second", "job", "first"]);
        assert_eq!(log.len(), 12);
    }

    /// A client may send a request and disconnect at once, again and again.
    #[tokio::test]
    async fn work_of_a_cancelled_request_keeps_its_permit_until_it_ends() {
        let permits = FairQueue::new(1);
        let (started, has_started) = oneshot::channel();
        let (release, released) = mpsc::channel::<()>();
        let mut cancelled = Box::pin(run_with_permit(&permits, SERVICE, move || {
            started.send(()).expect("the test waits");
            released.recv().expect("the test releases it");
        }));
        assert!((&mut cancelled).now_or_never().is_none());
        has_started.await.expect("it starts");
        drop(cancelled);
        assert_eq!(permits.free(), 0, "the work still runs");
        let mut next = pin!(run_with_permit(&permits, SERVICE, || 1));
        assert!(next.as_mut().now_or_never().is_none());
        release.send(()).expect("it still runs");
        assert_eq!(next.await, 1);
        assert_eq!(permits.free(), 1);
    }

    #[tokio::test]
    async fn a_permit_delays_work_until_it_is_dropped() {
        let permits = FairQueue::new(1);
        let permit = permits.acquire(None).await;
        let mut work = pin!(run_with_permit(&permits, SERVICE, || 1));
        assert!(work.as_mut().now_or_never().is_none());
        assert_eq!(permits.free(), 0);
        drop(permit);
        assert_eq!(work.await, 1);
    }

    #[tokio::test]
    async fn work_that_panics_releases_its_permit() {
        let permits = FairQueue::new(1);
        let panics = || -> u8 { panic!("requested by the test") };
        let panicking = tokio::spawn({
            let permits = permits.clone();
            async move { run_with_permit(&permits, SERVICE, panics).await }
        });
        assert!(panicking.await.is_err());
        assert_eq!(run_with_permit(&permits, SERVICE, || 1).await, 1);
    }
}
