//! A load for the service of any commit, over HTTP: notes written to one project by one client and
//! by several, and queries about them.

mod writes;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::harness::service::Api;
use crate::harness::stats::Times;
use crate::text::decisions;

pub use writes::{Args, run, start};

/// The size of a load.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Notes of the single client.
    pub sequential: usize,
    /// Concurrent clients that write and query.
    pub clients: usize,
    /// Notes of each of them.
    pub each: usize,
    /// Queries of the single client, and of all together.
    pub questions: usize,
}

impl Size {
    /// The size for `make bench`.
    pub const FULL: Self = Self { sequential: 500, clients: 8, each: 25, questions: 200 };
    /// The size to detect a loss.
    pub const QUICK: Self = Self { sequential: 100, clients: 8, each: 25, questions: 100 };
    /// The size to check that it works.
    pub const TINY: Self = Self { sequential: 5, clients: 4, each: 3, questions: 5 };

    fn check(self) -> Result<Self> {
        let notes = self.sequential + 2 * self.clients * self.each;
        ensure!(notes <= decisions::DISTINCT, "at most {} notes a round", decisions::DISTINCT);
        ensure!(self.clients * self.each * self.sequential * self.questions > 0, "nothing to do");
        Ok(self)
    }
}

/// The figures of a round.
#[derive(Debug)]
pub struct Round {
    /// Saves of the single client.
    pub write: Times,
    /// Saves of all clients.
    pub parallel: Times,
    /// Saves of all clients per second.
    pub writes_a_second: f64,
    /// Recalls of the single client.
    pub recall: Times,
    /// Recalls of all clients per second.
    pub recalls_a_second: f64,
    /// Acknowledged notes that a search right after the acknowledgment did not find.
    pub unseen: usize,
    /// Acknowledged notes that do not exist in the end.
    pub lost: usize,
}

/// Runs the load in a new project.
pub async fn round(api: &Api, project: &str, size: Size) -> Result<Round> {
    let size = size.check()?;
    api.post("/projects", &json!({ "key": project })).await?;
    let (writes, _) =
        each(0..size.sequential, 1, async |number| save(api, project, number).await.map(drop))
            .await?;
    let asked = |at: usize| decisions::question(at * size.sequential / size.questions);
    let ask = async |at| recall(api, project, &asked(at)).await;
    let (recalls, _) = each(0..size.questions, 1, ask).await?;
    let together = size.clients * size.each;
    let from = size.sequential;
    let (parallel, took) = each(from..from + together, size.clients, async |number| {
        save(api, project, number).await.map(drop)
    })
    .await?;
    let (_, asking) = each(0..size.questions, size.clients, ask).await?;
    let unseen = Mutex::new(0);
    let from = from + together;
    each(from..from + together, size.clients, async |number| {
        let id = save(api, project, number).await?;
        if !is_found(api, project, number, &id).await? {
            *unseen.lock().expect("nobody panics") += 1;
        }
        Ok(())
    })
    .await?;
    let held = api.get(&format!("/projects/{project}")).await?["records"].as_u64().unwrap_or(0);
    let saved = size.sequential + 2 * together;
    Ok(Round {
        write: Times::of(writes),
        parallel: Times::of(parallel),
        writes_a_second: together as f64 / took.as_secs_f64(),
        recall: Times::of(recalls),
        recalls_a_second: size.questions as f64 / asking.as_secs_f64(),
        unseen: unseen.into_inner().expect("nobody panics"),
        lost: saved.saturating_sub(usize::try_from(held)?),
    })
}

/// Runs an operation for each number with concurrent clients; returns the time of each and the
/// total.
async fn each(
    numbers: std::ops::Range<usize>,
    clients: usize,
    work: impl AsyncFn(usize) -> Result<()>,
) -> Result<(Vec<Duration>, Duration)> {
    let left = Mutex::new(numbers);
    let next = || left.lock().expect("nobody panics").next();
    let client = async || {
        let mut times = Vec::new();
        while let Some(number) = next() {
            let began = Instant::now();
            work(number).await?;
            times.push(began.elapsed());
        }
        anyhow::Ok(times)
    };
    let began = Instant::now();
    let times = try_join_all((0..clients).map(|_| client())).await?;
    Ok((times.into_iter().flatten().collect(), began.elapsed()))
}

/// Saves a note, which must become a record of its own; returns its id.
pub async fn save(api: &Api, project: &str, number: usize) -> Result<Value> {
    let body =
        json!({ "project_key": project, "kind": "fact", "content": decisions::note(number) });
    let mut answer = api.post("/save", &body).await?;
    ensure!(answer["outcome"] == "created", "/save answered {answer}");
    Ok(answer["id"].take())
}

/// Asks a question.
pub async fn recall(api: &Api, project: &str, question: &str) -> Result<()> {
    api.post("/recall", &json!({ "project_key": project, "query": question })).await.map(drop)
}

async fn is_found(api: &Api, project: &str, number: usize, id: &Value) -> Result<bool> {
    let body = json!({
        "project_key": project, "query": decisions::note(number), "limit": 10,
        "time_budget_ms": 20_000
    });
    let found = api.post("/search", &body).await?;
    let hits = found["results"].as_array();
    Ok(hits.is_some_and(|hits| hits.iter().any(|hit| hit["record_id"] == *id)))
}
