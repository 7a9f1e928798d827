//! Queue of texts for the model's threads: queries, then saves, then passages.
//!
//! As few threads as possible are at work. An idle thread is slow: its session's weights have left
//! the processor's caches, which makes a short text take half as long again. So the thread that
//! worked last works next, and saves and passages wait a moment for it before another one wakes.
//!
//! A text can't be interrupted. After a query, one of several threads takes neither passages nor
//! long saves for some time, so that the next query does not wait for them. The shortest query is
//! next, so that it does not wait for long queries of other callers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use mc_processor_time::{Meter, measure_blocking};
use tokio::sync::oneshot;

use crate::Purpose;

type Answer = Result<Vec<f32>, String>;

/// Text to embed, with the channel for its vector.
pub(super) struct EmbedRequest {
    text: String,
    /// The meter of the work that needs the vector.
    meter: Option<Meter>,
    reply: oneshot::Sender<Answer>,
}

impl EmbedRequest {
    pub(super) fn new(text: String) -> (Self, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Self { text, meter: Meter::current(), reply }, answer)
    }

    /// Embeds the text and sends the result. A panic becomes an error, as the thread continues.
    fn run(self, embed: impl FnOnce(&str) -> Answer) {
        let embed = || measure_blocking(self.meter, || embed(&self.text));
        let answer = catch_unwind(AssertUnwindSafe(embed))
            .unwrap_or_else(|_| Err("the model's runtime panicked".to_owned()));
        // Fails if the caller gave up while the model ran.
        drop(self.reply.send(answer));
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Bytes that the default model embeds in about ten milliseconds. If more bytes of saves and
/// passages wait, another thread is woken. A save with more bytes is long.
const SHORT_WORK_BYTES: usize = 1_024;
/// Number of passages and long saves that start after a query until all threads take them again.
/// The default model embeds them in about a second on one thread, and in more on a slow machine.
const LONG_AFTER_QUERY: usize = 64;
/// Maximum number of shorter queries that are served before the oldest one.
const MAX_PRECEDING: usize = 8;

/// Requests that wait for a thread. Each holds a permit, which bounds their number.
pub(super) struct PriorityQueue {
    threads: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    queries: VecDeque<EmbedRequest>,
    /// Number of shorter queries that were served before the oldest one.
    preceding: usize,
    short_saves: VecDeque<EmbedRequest>,
    long_saves: VecDeque<EmbedRequest>,
    passages: VecDeque<EmbedRequest>,
    /// Bytes of the texts of saves and passages.
    patient_bytes: usize,
    /// Threads without work, the one that worked last at the end.
    idle: Vec<Thread>,
    /// Number of passages and long saves that threads are embedding.
    running_long: usize,
    /// Number of further passages and long saves that start while one thread is kept free for
    /// queries.
    reserved: usize,
    closed: bool,
}

/// Request that a thread has taken.
pub(super) struct RunningRequest<'a> {
    request: EmbedRequest,
    _long: Option<RunningLong<'a>>,
}

/// Counts as a running passage or long save until it is dropped.
struct RunningLong<'a>(&'a PriorityQueue);

impl RunningRequest<'_> {
    /// Embeds the text and sends the result. A panic becomes an error, as the thread continues.
    pub(super) fn run(self, embed: impl FnOnce(&str) -> Answer) {
        self.request.run(embed);
    }
}

impl Drop for RunningLong<'_> {
    fn drop(&mut self) {
        self.0.lock().running_long -= 1;
    }
}

impl PriorityQueue {
    /// Creates a queue for this number of threads.
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, waiting: Mutex::default() }
    }

    pub(super) fn push(&self, job: EmbedRequest, purpose: Purpose) {
        let mut guard = self.lock();
        let waiting = &mut *guard;
        let is_query = matches!(purpose, Purpose::Query(_));
        if !is_query {
            waiting.patient_bytes += job.text.len();
        }
        match purpose {
            Purpose::Query(_) => waiting.queries.push_back(job),
            Purpose::Save if job.text.len() > SHORT_WORK_BYTES => waiting.long_saves.push_back(job),
            Purpose::Save => waiting.short_saves.push_back(job),
            Purpose::Passage => waiting.passages.push_back(job),
        }
        let is_much = waiting.patient_bytes > SHORT_WORK_BYTES;
        let is_urgent = is_query || (is_much && waiting.can_start(self.threads));
        let all_rest = waiting.idle.len() == self.threads;
        let woken = if all_rest || is_urgent { waiting.idle.pop() } else { None };
        drop(guard);
        if let Some(thread) = woken {
            thread.unpark();
        }
    }

    /// Waits for the next request whose caller still waits; `None` once the queue is closed.
    pub(super) fn next(&self) -> Option<RunningRequest<'_>> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            match waiting.pop(self.threads) {
                Some((request, _)) if request.is_abandoned() => {}
                Some((request, is_long)) => {
                    let long = is_long.then(|| {
                        waiting.start_long();
                        RunningLong(self)
                    });
                    return Some(RunningRequest { request, _long: long });
                }
                None => {
                    waiting.idle.push(thread::current());
                    drop(waiting);
                    thread::park();
                    waiting = self.lock();
                    // Parked threads may wake by themselves.
                    waiting.idle.retain(|idle| idle.id() != thread::current().id());
                }
            }
        }
    }

    /// Ends the threads. Waiting requests fail.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        let running_long = waiting.running_long;
        let closed = Waiting { closed: true, running_long, ..Waiting::default() };
        let before = std::mem::replace(&mut *waiting, closed);
        drop(waiting);
        before.idle.iter().for_each(Thread::unpark);
    }

    /// Locks the queue. No code that can panic runs under the lock, so its state is always valid.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Returns the next request, and whether it is a passage or a long save; `None` if none may
    /// start.
    fn pop(&mut self, threads: usize) -> Option<(EmbedRequest, bool)> {
        if let Some(query) = self.pop_query() {
            self.reserved = LONG_AFTER_QUERY;
            return Some((query, false));
        }
        let (patient, is_long) = match self.short_saves.pop_front() {
            Some(save) => (save, false),
            None if self.takes_long(threads) => {
                (self.long_saves.pop_front().or_else(|| self.passages.pop_front())?, true)
            }
            None => return None,
        };
        self.patient_bytes -= patient.text.len();
        Some((patient, is_long))
    }

    /// Returns the shortest query, or the oldest one if [`MAX_PRECEDING`] were served before it.
    fn pop_query(&mut self) -> Option<EmbedRequest> {
        let shortest = (0..self.queries.len()).min_by_key(|at| self.queries[*at].text.len())?;
        if shortest == 0 || self.preceding == MAX_PRECEDING {
            self.preceding = 0;
            return self.queries.pop_front();
        }
        self.preceding += 1;
        self.queries.remove(shortest)
    }

    /// Returns whether an idle thread could take a request.
    fn can_start(&self, threads: usize) -> bool {
        let is_long_waiting = !self.long_saves.is_empty() || !self.passages.is_empty();
        let is_short_waiting = !self.queries.is_empty() || !self.short_saves.is_empty();
        is_short_waiting || (is_long_waiting && self.takes_long(threads))
    }

    /// Returns whether another passage or long save may start. A single thread is never kept free.
    fn takes_long(&self, threads: usize) -> bool {
        let kept_free = usize::from(self.reserved > 0 && threads > 1);
        self.running_long + kept_free < threads
    }

    fn start_long(&mut self) {
        self.running_long += 1;
        self.reserved = self.reserved.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
