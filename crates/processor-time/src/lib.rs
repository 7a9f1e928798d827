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
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinHandle;

thread_local! {
    /// Processor time of child processes and other threads for this thread.
    static OF_HELPERS: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// The work that this thread does now.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Returns the processor time of this thread, and of the child processes and threads that worked
/// for it.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    let own = Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds);
    own + OF_HELPERS.get()
}

/// Adds the processor time of a child process, or of another thread that worked for this one, to
/// that of this thread.
pub fn add_helper_time(time: Duration) {
    OF_HELPERS.set(OF_HELPERS.get() + time);
}

/// Receives the processor time of work. Cheap to clone.
#[derive(Clone)]
pub struct Meter(Arc<dyn Fn(Duration) + Send + Sync>);

impl Meter {
    /// Creates a meter that calls `charge` each time a part of the work ends. Keep it short: work
    /// calls it each time it has to wait.
    pub fn new(charge: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(charge))
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
    let now = thread_time();
    let next = next.map(|meter| Running { meter, since: now });
    let last = RUNNING.replace(next)?;
    last.meter.0(now.saturating_sub(last.since));
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

    /// Asserts that these parts were charged, and not one more.
    fn assert_parts(sum: &Mutex<Duration>, parts: u32) {
        let sum = *sum.lock().expect("no panic");
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
        assert!(*sum.lock().expect("no panic") >= PART);
    }

    #[test]
    fn time_of_a_child_process_counts_for_the_thread_that_used_it() {
        let (meter, sum) = meter();
        measure_blocking(Some(meter), || add_helper_time(PART));
        assert_parts(&sum, 1);
        thread::spawn(|| assert!(thread_time() < PART)).join().expect("no panic");
    }
}
