//! Queue of texts for the model's threads: queries, then saves, then passages.
//!
//! As few threads as possible are at work. An idle thread is slow: its session's weights have left
//! the processor's caches, which makes a short text take half as long again. So the thread that
//! worked last works next, and saves and passages wait a moment for it before another one wakes.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use tokio::sync::oneshot;

use crate::Purpose;

type Answer = Result<Vec<f32>, String>;

/// Text to embed, with the channel for its vector.
pub(super) struct EmbedRequest {
    text: String,
    reply: oneshot::Sender<Answer>,
}

impl EmbedRequest {
    pub(super) fn new(text: String) -> (Self, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Self { text, reply }, answer)
    }

    /// Embeds the text and sends the result. A panic becomes an error, as the thread continues.
    pub(super) fn run(self, embed: impl FnOnce(&str) -> Answer) {
        let answer = catch_unwind(AssertUnwindSafe(|| embed(&self.text)))
            .unwrap_or_else(|_| Err("the model's runtime panicked".to_owned()));
        // Fails if the caller gave up while the model ran.
        drop(self.reply.send(answer));
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Bytes of saves and passages that may wait for a busy thread before another one is woken: about
/// ten milliseconds of work for the default model.
const WAITING_MAX: usize = 1_024;

/// Requests that wait for a thread. Each holds a permit, which bounds their number.
pub(super) struct PriorityQueue {
    threads: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    queries: VecDeque<EmbedRequest>,
    saves: VecDeque<EmbedRequest>,
    passages: VecDeque<EmbedRequest>,
    /// Bytes of the texts in `saves` and `passages`.
    patient_bytes: usize,
    /// Threads without work, the one that worked last at the end.
    idle: Vec<Thread>,
    closed: bool,
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
            Purpose::Save => waiting.saves.push_back(job),
            Purpose::Passage => waiting.passages.push_back(job),
        }
        let is_urgent = is_query || waiting.patient_bytes > WAITING_MAX;
        let all_rest = waiting.idle.len() == self.threads;
        let woken = if all_rest || is_urgent { waiting.idle.pop() } else { None };
        drop(guard);
        if let Some(thread) = woken {
            thread.unpark();
        }
    }

    /// Waits for the next request whose caller still waits; `None` once the queue is closed.
    pub(super) fn next(&self) -> Option<EmbedRequest> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            match waiting.pop() {
                Some(job) if job.is_abandoned() => {}
                Some(job) => return Some(job),
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
        let closed = Waiting { closed: true, ..Waiting::default() };
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
    fn pop(&mut self) -> Option<EmbedRequest> {
        if let Some(query) = self.queries.pop_front() {
            return Some(query);
        }
        let patient = self.saves.pop_front().or_else(|| self.passages.pop_front())?;
        self.patient_bytes -= patient.text.len();
        Some(patient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a question of the one project there is.
    fn asking() -> Purpose {
        Purpose::Query("00000000-0000-0000-0000-000000000001".parse().expect("an id"))
    }

    fn next_text(lanes: &PriorityQueue) -> String {
        lanes.next().expect("a job waits").text
    }

    #[test]
    fn queries_precede_saves_and_saves_precede_passages() {
        let lanes = PriorityQueue::new(1);
        let (first, _first) = EmbedRequest::new("passage 1".into());
        let (second, _second) = EmbedRequest::new("passage 2".into());
        let (saved, _saved) = EmbedRequest::new("saved".into());
        let (query, _query) = EmbedRequest::new("query".into());
        lanes.push(first, Purpose::Passage);
        lanes.push(second, Purpose::Passage);
        lanes.push(saved, Purpose::Save);
        lanes.push(query, asking());
        let order = [(); 4].map(|()| next_text(&lanes));
        assert_eq!(order, ["query", "saved", "passage 1", "passage 2"]);
    }

    #[test]
    fn abandoned_request_is_not_run() {
        let lanes = PriorityQueue::new(1);
        let (abandoned, answer) = EmbedRequest::new("abandoned".into());
        let (wanted, _wanted) = EmbedRequest::new("wanted".into());
        drop(answer);
        lanes.push(abandoned, asking());
        lanes.push(wanted, Purpose::Passage);
        assert_eq!(next_text(&lanes), "wanted");
    }

    /// Lets two threads work off the lanes until `test` is done.
    fn with_two_threads(embed: impl Fn(&str) + Sync, test: impl FnOnce(&PriorityQueue)) {
        let lanes = PriorityQueue::new(2);
        let work = || {
            while let Some(job) = lanes.next() {
                job.run(|text| {
                    embed(text);
                    Ok(vec![])
                });
            }
        };
        thread::scope(|scope| {
            // Also when the test fails, or the scope would wait for ever.
            let _closing = Closing(&lanes);
            scope.spawn(work);
            scope.spawn(work);
            test(&lanes);
        });
    }

    struct Closing<'a>(&'a PriorityQueue);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    /// Waits until so many threads rest; the one that would be woken.
    fn resting(lanes: &PriorityQueue, threads: usize) -> thread::ThreadId {
        loop {
            let waiting = lanes.lock();
            if waiting.idle.len() == threads {
                return waiting.idle.last().expect("one that rests").id();
            }
            drop(waiting);
            thread::yield_now();
        }
    }

    #[test]
    fn most_recent_thread_runs_next() {
        with_two_threads(
            |_| {},
            |lanes| {
                let first = resting(lanes, 2);
                for _ in 0..20 {
                    let (job, answer) = EmbedRequest::new("text".into());
                    lanes.push(job, asking());
                    assert_eq!(answer.blocking_recv(), Ok(Ok(vec![])));
                    assert_eq!(resting(lanes, 2), first);
                }
            },
        );
    }

    #[test]
    fn second_thread_wakes_for_a_query_or_a_long_queue() {
        let long = "long ".repeat(WAITING_MAX);
        for (text, purpose) in [("query", asking()), (&*long, Purpose::Passage)] {
            let gate = Mutex::new(());
            let closed = gate.lock().expect("no one has panicked");
            let pass = |text: &str| {
                if text == "held up" {
                    drop(gate.lock());
                }
            };
            with_two_threads(pass, |lanes| {
                resting(lanes, 2);
                let (held_up, first) = EmbedRequest::new("held up".into());
                lanes.push(held_up, Purpose::Passage);
                resting(lanes, 1);
                let (short, second) = EmbedRequest::new("short".into());
                lanes.push(short, Purpose::Passage);
                assert_eq!(lanes.lock().idle.len(), 1, "a short text waits for the first thread");
                let (urgent, third) = EmbedRequest::new(text.into());
                lanes.push(urgent, purpose);
                // The first one is still held up: the second has run both.
                assert!(second.blocking_recv().is_ok() && third.blocking_recv().is_ok());
                drop(closed);
                assert!(first.blocking_recv().is_ok());
            });
        }
    }

    #[test]
    fn panic_fails_its_request_and_close_ends_the_wait() {
        let (job, mut answer) = EmbedRequest::new("text".into());
        job.run(|_| panic!("in the runtime"));
        assert!(answer.try_recv().expect("it was answered").is_err());

        let lanes = PriorityQueue::new(1);
        let (job, mut answer) = EmbedRequest::new("text".into());
        lanes.push(job, Purpose::Passage);
        lanes.close();
        assert!(lanes.next().is_none());
        assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}
