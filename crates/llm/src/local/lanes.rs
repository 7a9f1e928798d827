//! The queue before the model: two lanes, the queries' first.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::Purpose;

type Answer = Result<Vec<f32>, String>;

/// A text and where its vector is awaited.
pub(super) struct Job {
    text: String,
    reply: oneshot::Sender<Answer>,
}

impl Job {
    pub(super) fn new(text: String) -> (Self, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Self { text, reply }, answer)
    }

    /// Answers with what `embed` makes of the text. A panic in it is an answer too: the thread must
    /// live on, or the texts behind this one would wait for ever.
    pub(super) fn run(self, embed: impl FnOnce(&str) -> Answer) {
        let answer = catch_unwind(AssertUnwindSafe(|| embed(&self.text)))
            .unwrap_or_else(|_| Err("the model's runtime panicked".to_owned()));
        // Nobody waits any more: their time was over while the model ran.
        drop(self.reply.send(answer));
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Jobs that wait for a thread. The callers hold a permit for each, which bounds the lanes.
#[derive(Default)]
pub(super) struct Lanes {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    queries: VecDeque<Job>,
    passages: VecDeque<Job>,
    closed: bool,
}

impl Lanes {
    pub(super) fn push(&self, job: Job, purpose: Purpose) {
        let mut waiting = self.lock();
        match purpose {
            Purpose::Query => waiting.queries.push_back(job),
            Purpose::Passage => waiting.passages.push_back(job),
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// The next job that someone still waits for; blocks until there is one, and answers `None` once
    /// the lanes are closed.
    pub(super) fn next(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            match waiting.queries.pop_front().or_else(|| waiting.passages.pop_front()) {
                Some(job) if job.is_abandoned() => {}
                Some(job) => return Some(job),
                None => {
                    let woken = self.changed.wait(waiting);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Lets the threads end. Jobs that wait are dropped with their callers' answers.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        *waiting = Waiting { closed: true, ..Waiting::default() };
        drop(waiting);
        self.changed.notify_all();
    }

    /// No code that can panic runs under the lock, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_text(lanes: &Lanes) -> String {
        lanes.next().expect("a job waits").text
    }

    #[test]
    fn a_query_goes_ahead_of_passages_that_came_before_it() {
        let lanes = Lanes::default();
        let (first, _first) = Job::new("passage 1".into());
        let (second, _second) = Job::new("passage 2".into());
        let (query, _query) = Job::new("query".into());
        lanes.push(first, Purpose::Passage);
        lanes.push(second, Purpose::Passage);
        lanes.push(query, Purpose::Query);
        let order = [next_text(&lanes), next_text(&lanes), next_text(&lanes)];
        assert_eq!(order, ["query", "passage 1", "passage 2"]);
    }

    #[test]
    fn a_job_nobody_waits_for_is_not_run() {
        let lanes = Lanes::default();
        let (abandoned, answer) = Job::new("abandoned".into());
        let (wanted, _wanted) = Job::new("wanted".into());
        drop(answer);
        lanes.push(abandoned, Purpose::Query);
        lanes.push(wanted, Purpose::Passage);
        assert_eq!(next_text(&lanes), "wanted");
    }

    #[test]
    fn a_panic_is_an_answer_and_closing_ends_the_wait() {
        let (job, mut answer) = Job::new("text".into());
        job.run(|_| panic!("in the runtime"));
        assert!(answer.try_recv().expect("it was answered").is_err());

        let lanes = Lanes::default();
        let (job, mut answer) = Job::new("text".into());
        lanes.push(job, Purpose::Passage);
        lanes.close();
        assert!(lanes.next().is_none());
        assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}
