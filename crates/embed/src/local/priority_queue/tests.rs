use std::sync::Arc;
use std::time::Duration;

use super::*;

/// For a question of the one project there is.
fn query_purpose() -> Purpose {
    Purpose::Query("00000000-0000-0000-0000-000000000001".parse().expect("an id"))
}

/// Runs the next request, and returns its text.
fn next_text(queue: &PriorityQueue) -> String {
    queue.next().expect("a job waits").request.text
}

/// Adds a request; it is abandoned when the receiver is dropped.
fn push(queue: &PriorityQueue, text: &str, purpose: Purpose) -> oneshot::Receiver<Answer> {
    let (request, answer) = EmbedRequest::new(text.into());
    queue.push(request, purpose);
    answer
}

#[test]
fn queries_precede_saves_and_saves_precede_passages() {
    let queue = PriorityQueue::new(1);
    let (first, _first) = EmbedRequest::new("passage 1".into());
    let (second, _second) = EmbedRequest::new("passage 2".into());
    let (saved, _saved) = EmbedRequest::new("saved".into());
    let (query, _query) = EmbedRequest::new("query".into());
    queue.push(first, Purpose::Passage);
    queue.push(second, Purpose::Passage);
    queue.push(saved, Purpose::Save);
    queue.push(query, query_purpose());
    let order = [(); 4].map(|()| next_text(&queue));
    assert_eq!(order, ["query", "saved", "passage 1", "passage 2"]);
}

#[test]
fn a_short_query_precedes_long_ones() {
    let queue = PriorityQueue::new(1);
    let answers =
        ["long query 1", "long query 2", "short"].map(|text| push(&queue, text, query_purpose()));
    let order = [(); 3].map(|()| next_text(&queue));
    assert_eq!(order, ["short", "long query 1", "long query 2"]);
    drop(answers);
}

#[test]
fn a_long_query_does_not_wait_for_all_short_ones() {
    let queue = PriorityQueue::new(1);
    let long = push(&queue, "long query", query_purpose());
    let short = [(); 2 * MAX_PRECEDING].map(|()| push(&queue, "short", query_purpose()));
    for _ in 0..MAX_PRECEDING {
        assert_eq!(next_text(&queue), "short");
    }
    assert_eq!(next_text(&queue), "long query");
    assert_eq!(next_text(&queue), "short");
    drop((long, short));
}

#[test]
fn a_thread_takes_no_passage_after_a_query() {
    let queue = PriorityQueue::new(2);
    let answers =
        [("one", Purpose::Passage), ("two", Purpose::Passage), ("query", query_purpose())]
            .map(|(text, purpose)| push(&queue, text, purpose));
    assert_eq!(next_text(&queue), "query");
    let first = queue.next().expect("a passage");
    assert!(queue.lock().pop(2).is_none(), "the other thread stays free");
    let query = push(&queue, "query", query_purpose());
    assert_eq!(next_text(&queue), "query", "it does not wait for the passage");
    drop(first);
    assert_eq!(next_text(&queue), "two");
    drop((answers, query));
}

#[test]
fn a_short_save_takes_the_free_thread() {
    let queue = PriorityQueue::new(2);
    let answers = [("passage", Purpose::Passage), ("query", query_purpose())]
        .map(|(text, purpose)| push(&queue, text, purpose));
    assert_eq!(next_text(&queue), "query");
    let passage = queue.next().expect("a passage");
    let save = push(&queue, "save", Purpose::Save);
    assert_eq!(next_text(&queue), "save");
    drop((answers, passage, save));
}

#[test]
fn long_saves_leave_a_thread_free_after_a_query() {
    let queue = PriorityQueue::new(2);
    let [one, two] = ["one", "two"].map(|name| name.repeat(SHORT_WORK_BYTES));
    let requests: [(&str, Purpose); 4] = [
        ("passage", Purpose::Passage),
        (&one, Purpose::Save),
        (&two, Purpose::Save),
        ("query", query_purpose()),
    ];
    let answers = requests.map(|(text, purpose)| push(&queue, text, purpose));
    assert_eq!(next_text(&queue), "query");
    let save = queue.next().expect("a save");
    assert_eq!(save.request.text, one, "saves precede passages");
    assert!(queue.lock().pop(2).is_none(), "the other thread stays free");
    let short = push(&queue, "short save", Purpose::Save);
    assert_eq!(next_text(&queue), "short save");
    drop(save);
    assert_eq!([(); 2].map(|()| next_text(&queue)), [&two, "passage"]);
    drop((answers, short));
}

#[test]
fn all_threads_take_passages_some_time_after_a_query() {
    let queue = PriorityQueue::new(2);
    let query = push(&queue, "query", query_purpose());
    assert_eq!(next_text(&queue), "query");
    let answers = [(); LONG_AFTER_QUERY + 2].map(|()| push(&queue, "", Purpose::Passage));
    for _ in 0..LONG_AFTER_QUERY {
        next_text(&queue);
    }
    let running = queue.next().expect("a passage");
    assert!(queue.lock().takes_long(2));
    drop((query, answers, running));
}

#[test]
fn a_single_thread_takes_passages_after_a_query() {
    let queue = PriorityQueue::new(1);
    let answers = [("query", query_purpose()), ("passage", Purpose::Passage)]
        .map(|(text, purpose)| push(&queue, text, purpose));
    assert_eq!([(); 2].map(|()| next_text(&queue)), ["query", "passage"]);
    drop(answers);
}

#[test]
fn abandoned_request_is_not_run() {
    let queue = PriorityQueue::new(1);
    let (abandoned, answer) = EmbedRequest::new("abandoned".into());
    let (wanted, _wanted) = EmbedRequest::new("wanted".into());
    drop(answer);
    queue.push(abandoned, query_purpose());
    queue.push(wanted, Purpose::Passage);
    assert_eq!(next_text(&queue), "wanted");
}

/// Lets two threads work off the lanes until `test` is done.
fn with_two_threads(embed: impl Fn(&str) + Sync, test: impl FnOnce(&PriorityQueue)) {
    let queue = PriorityQueue::new(2);
    let work = || {
        while let Some(job) = queue.next() {
            job.run(|text| {
                embed(text);
                Ok(vec![])
            });
        }
    };
    thread::scope(|scope| {
        // Also when the test fails, or the scope would wait for ever.
        let _closing = Closing(&queue);
        scope.spawn(work);
        scope.spawn(work);
        test(&queue);
    });
}

struct Closing<'a>(&'a PriorityQueue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Waits until so many threads rest; the one that would be woken.
fn resting(queue: &PriorityQueue, threads: usize) -> thread::ThreadId {
    loop {
        let waiting = queue.lock();
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
        |queue| {
            let first = resting(queue, 2);
            for _ in 0..20 {
                let (job, answer) = EmbedRequest::new("text".into());
                queue.push(job, query_purpose());
                assert_eq!(answer.blocking_recv(), Ok(Ok(vec![])));
                assert_eq!(resting(queue, 2), first);
            }
        },
    );
}

#[test]
fn second_thread_wakes_for_a_query_or_a_long_queue() {
    let long = "long ".repeat(SHORT_WORK_BYTES);
    for (text, purpose) in [("query", query_purpose()), (&*long, Purpose::Passage)] {
        let gate = Mutex::new(());
        let closed = gate.lock().expect("no one has panicked");
        let pass = |text: &str| {
            if text == "held up" {
                drop(gate.lock());
            }
        };
        with_two_threads(pass, |queue| {
            resting(queue, 2);
            let (held_up, first) = EmbedRequest::new("held up".into());
            queue.push(held_up, Purpose::Passage);
            resting(queue, 1);
            let (short, second) = EmbedRequest::new("short".into());
            queue.push(short, Purpose::Passage);
            assert_eq!(queue.lock().idle.len(), 1, "a short text waits for the first thread");
            let (urgent, third) = EmbedRequest::new(text.into());
            queue.push(urgent, purpose);
            // The first one is still held up: the second has run it.
            assert!(third.blocking_recv().is_ok());
            drop(closed);
            assert!(first.blocking_recv().is_ok() && second.blocking_recv().is_ok());
        });
    }
}

#[test]
fn processor_time_of_a_text_counts_for_its_request() {
    const TIME: Duration = Duration::from_millis(20);
    let charged = Arc::new(Mutex::new(Duration::ZERO));
    let sum = Arc::clone(&charged);
    let meter = Meter::new(move |time| *sum.lock().expect("no panic") += time);
    let (request, answer) = measure_blocking(Some(meter), || EmbedRequest::new("text".into()));
    let before = *charged.lock().expect("no panic");
    let thread = thread::spawn(move || {
        request.run(|_| {
            mc_processor_time::add_helper_time(TIME);
            Ok(Vec::new())
        });
    });
    assert_eq!(answer.blocking_recv(), Ok(Ok(Vec::new())));
    // It is charged before the response.
    assert!(*charged.lock().expect("no panic") >= before + TIME);
    thread.join().expect("no panic");
}

#[test]
fn panic_fails_its_request_and_close_ends_the_wait() {
    let (job, mut answer) = EmbedRequest::new("text".into());
    job.run(|_| panic!("in the runtime"));
    assert!(answer.try_recv().expect("it was answered").is_err());

    let queue = PriorityQueue::new(1);
    let (job, mut answer) = EmbedRequest::new("text".into());
    queue.push(job, Purpose::Passage);
    queue.close();
    assert!(queue.next().is_none());
    assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}
