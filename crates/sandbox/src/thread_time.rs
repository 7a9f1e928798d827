//! The processor time of a thread, and of the child processes that parse its texts.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

thread_local! {
    /// Processor time of child processes for the calls of this thread.
    static OF_CHILDREN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Returns the processor time of this thread, and of child processes for its calls of parsers.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    let own = Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds);
    own + OF_CHILDREN.get()
}

/// Adds the processor time of a child process to that of this thread.
pub(crate) fn add(time: Duration) {
    OF_CHILDREN.set(OF_CHILDREN.get() + time);
}
