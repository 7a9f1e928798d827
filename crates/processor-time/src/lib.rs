//! The processor time of threads, and of the work that they do for a request.
//!
//! [`measure`] charges a future to a [`Meter`] while a thread polls it. Work that the future hands
//! to another thread is measured there: [`spawn_blocking`] does so by itself, and a queue keeps
//! [`Meter::current`] with its entries for [`measure_blocking`]. Each moment of a thread is charged
//! to one meter at most, the innermost one.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinHandle;

/// By how much a measured time may exceed the processor time.
const TOLERANCE: Duration = Duration::from_micros(200);
/// Time that a meter collects before it charges it.
const CHARGED_AT_ONCE: Duration = Duration::from_millis(1);

thread_local! {
    /// Processor time of child processes and other threads for this thread.
    static OF_HELPERS: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// The last measurement of this thread.
    static ESTIMATE: Cell<Option<Estimate>> = const { Cell::new(None) };
    /// The work that this thread does now.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Returns the processor time of this thread, and of the child processes and threads that worked
/// for it.
pub fn thread_time() -> Duration {
    own_time() + OF_HELPERS.get()
}

fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds)
}

/// Returns [`thread_time`] or at most [`TOLERANCE`] more, and never less than before. A request is
/// measured at each poll, and the exact time takes a system call (0.4 µs; this takes 0.04).
fn estimated_thread_time() -> Duration {
    let now = Instant::now();
    let last = ESTIMATE.get();
    let recent = last.filter(|last| now.duration_since(last.read_at) <= TOLERANCE);
    let (read_at, own) = recent.map_or_else(|| (now, own_time()), |last| (last.read_at, last.own));
    // The thread has run all the time since then, or less.
    let estimate = own + now.duration_since(read_at);
    let estimate = last.map_or(estimate, |last| last.time.max(estimate));
    ESTIMATE.set(Some(Estimate { read_at, own, time: estimate }));
    estimate + OF_HELPERS.get()
}

/// An estimate of the processor time of a thread.
#[derive(Clone, Copy)]
struct Estimate {
    /// When the exact time was read.
    read_at: Instant,
    /// The exact time.
    own: Duration,
    /// The estimated time.
    time: Duration,
}

/// Adds the processor time of a child process, or of another thread that worked for this one, to
/// that of this thread.
pub fn add_helper_time(time: Duration) {
    OF_HELPERS.set(OF_HELPERS.get() + time);
}

/// Receives the processor time of work, such as that of a request. Cheap to clone.
#[derive(Clone)]
pub struct Meter(Arc<Account>);

impl Meter {
    /// Creates a meter that calls `charge` about each millisecond of the work, and at its end, when
    /// the last copy of the meter is dropped.
    pub fn new(charge: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Account { charge: Box::new(charge), pending: AtomicU64::new(0) }))
    }

    /// Returns the meter of the work that this thread does now; `None` for work that is not
    /// measured.
    pub fn current() -> Option<Self> {
        RUNNING.with_borrow(|running| running.as_ref().map(|running| running.meter.clone()))
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Meter").finish_non_exhaustive()
    }
}

struct Account {
    charge: Box<dyn Fn(Duration) + Send + Sync>,
    /// Nanoseconds that are not yet charged.
    pending: AtomicU64,
}

impl Account {
    fn add(&self, time: Duration) {
        let added = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let pending = Duration::from_nanos(self.pending.fetch_add(added, Ordering::Relaxed));
        if pending + time >= CHARGED_AT_ONCE {
            self.charge_pending();
        }
    }

    fn charge_pending(&self) {
        (self.charge)(Duration::from_nanos(self.pending.swap(0, Ordering::Relaxed)));
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.charge_pending();
    }
}

/// Runs a future, and measures it with the meter, if there is one.
pub async fn measure<F: Future>(meter: Option<Meter>, work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|context| measure_blocking(meter.clone(), || work.as_mut().poll(context))).await
}

/// Runs work on this thread, and measures it with the meter, if there is one, also if it panics.
pub fn measure_blocking<T>(meter: Option<Meter>, work: impl FnOnce() -> T) -> T {
    let _entered = meter.map(Entered::new);
    work()
}

/// Runs work on a blocking thread like [`tokio::task::spawn_blocking`], measured with the current
/// meter.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let meter = Meter::current();
    tokio::task::spawn_blocking(move || measure_blocking(meter, work))
}

/// Work of a thread that is being measured.
struct Running {
    meter: Meter,
    /// The time of the thread up to which its work is charged.
    since: Duration,
}

/// While it exists, the work of this thread is charged to a meter, then to the former one again.
struct Entered {
    outer: Option<Meter>,
}

impl Entered {
    fn new(meter: Meter) -> Self {
        Self { outer: switch(Some(meter)) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        switch(self.outer.take());
    }
}

/// Charges the work of this thread until now to its meter, which is returned. Further work is
/// charged to `next`.
fn switch(next: Option<Meter>) -> Option<Meter> {
    let now = estimated_thread_time();
    let next = next.map(|meter| Running { meter, since: now });
    let last = RUNNING.replace(next)?;
    last.meter.0.add(now.saturating_sub(last.since));
    Some(last.meter)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};
    use std::thread;

    use futures::FutureExt as _;
    use futures::future::join;

    use super::*;

    const PART: Duration = Duration::from_millis(20);

    /// A meter, and the sum of what was charged to it.
    fn meter() -> (Meter, Arc<Mutex<Duration>>) {
        let sum = Arc::new(Mutex::new(Duration::ZERO));
        let charged = Arc::clone(&sum);
        (Meter::new(move |time| *charged.lock().expect("no panic") += time), sum)
    }

    /// Uses this processor time.
    fn compute(time: Duration) {
        let end = thread_time() + time;
        while thread_time() < end {
            std::hint::spin_loop();
        }
    }

    /// Asserts that this number of parts was charged, more or less than half a part.
    fn assert_parts(sum: &Mutex<Duration>, parts: u32) {
        let sum = *sum.lock().expect("no panic") + PART / 2;
        assert!(PART * parts <= sum && sum < PART * (parts + 1), "{sum:?}, not {parts} parts");
    }

    #[tokio::test]
    async fn work_is_measured_on_each_thread_that_it_uses() {
        let (meter, sum) = meter();
        let work = async {
            compute(PART);
            tokio::task::yield_now().await;
            compute(PART);
            let handed_over = Meter::current();
            let queue = thread::spawn(|| measure_blocking(handed_over, || compute(PART)));
            queue.join().expect("no panic");
            spawn_blocking(|| compute(PART)).await.expect("no panic");
        };
        measure(Some(meter), work).await;
        assert_parts(&sum, 4);
        assert!(Meter::current().is_none());
        compute(PART);
        assert_parts(&sum, 4);
    }

    /// Tasks of one thread wait in turn, and one may call another.
    #[tokio::test]
    async fn each_moment_is_charged_once() {
        let ((first, of_first), (second, of_second)) = (meter(), meter());
        let inner = second.clone();
        let calls_another = async {
            compute(PART);
            measure(Some(inner), async { compute(PART) }).await;
            tokio::task::yield_now().await;
            compute(PART);
        };
        let alone = async {
            tokio::task::yield_now().await;
            compute(PART);
        };
        join(measure(Some(first), calls_another), measure(Some(second), alone)).await;
        assert_parts(&of_first, 2);
        assert_parts(&of_second, 2);
    }

    #[tokio::test]
    async fn work_is_charged_if_its_request_is_cancelled() {
        let (meter, sum) = meter();
        let (release, released) = mpsc::channel();
        let work = async {
            compute(PART);
            let blocking = spawn_blocking(move || {
                released.recv().expect("the test releases it");
                compute(PART);
            });
            blocking.await.expect("no panic");
        };
        let mut request = Box::pin(measure(Some(meter), work));
        assert!(request.as_mut().now_or_never().is_none());
        assert_parts(&sum, 1);
        drop(request);
        release.send(()).expect("it still runs");
        // The work has the last copy of the meter.
        while Arc::strong_count(&sum) > 1 {
            thread::yield_now();
        }
        assert_parts(&sum, 2);
    }

    #[test]
    fn work_that_panics_is_charged() {
        let (meter, sum) = meter();
        let panicking = thread::spawn(move || {
            measure_blocking(Some(meter), || {
                compute(PART);
                panic!("requested by the test");
            });
        });
        assert!(panicking.join().is_err());
        // The message of the panic is a part of its work.
        assert!(*sum.lock().expect("no panic") >= PART / 2);
    }

    #[test]
    fn time_of_a_child_process_counts_for_the_thread_that_used_it() {
        let (meter, sum) = meter();
        measure_blocking(Some(meter), || add_helper_time(PART));
        assert_parts(&sum, 1);
        thread::spawn(|| assert!(thread_time() < PART)).join().expect("no panic");
    }

    /// A thread is not charged for the time that it waits or that others use its processor.
    #[test]
    fn estimates_follow_the_exact_time() {
        const ROUNDS: u32 = 100;
        for round in 0..ROUNDS {
            let before = thread_time();
            let estimate = estimated_thread_time();
            let after = thread_time();
            assert!(before <= estimate && estimate <= after + TOLERANCE, "round {round}");
            match round % 3 {
                0 => thread::sleep(TOLERANCE / 4),
                1 => compute(TOLERANCE / 4),
                _ => compute(TOLERANCE * 2),
            }
        }
    }

    #[test]
    fn short_work_is_charged_at_the_end_of_all_of_it() {
        let (meter, sum) = meter();
        for _ in 0..2 {
            measure_blocking(Some(meter.clone()), || add_helper_time(CHARGED_AT_ONCE / 8));
            assert_eq!(*sum.lock().expect("no panic"), Duration::ZERO);
        }
        drop(meter);
        assert!(*sum.lock().expect("no panic") >= CHARGED_AT_ONCE / 4);
    }
}
