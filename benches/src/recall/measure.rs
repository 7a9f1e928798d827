//! Requests and their times.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::question;
use crate::harness::service::Api;
use crate::harness::stats::Times;
use crate::text::Note;

/// Queries of one run, for one client and for several; and notes to save.
const QUESTIONS: usize = 400;
const SAVES: usize = 500;
const WARM_UP: usize = 100;
/// In the small variant.
const QUICK: usize = 60;

/// A recall to send.
#[derive(Debug, Clone)]
pub struct Question {
    /// Key of the project.
    pub project: String,
    /// The query.
    pub text: String,
}

/// All requests of a benchmark; no two are equal.
pub struct Workload {
    /// Sent before any measurement.
    pub warm_up: Vec<Question>,
    /// For each run, those of a single client and those of several.
    pub questions: Vec<(Vec<Question>, Vec<Question>)>,
    /// For each run, the notes to save.
    pub saves: Vec<Vec<Note>>,
}

/// The figures of a run.
pub struct Figures {
    /// Of the single requests.
    pub times: Times,
    /// Requests per second.
    pub a_second: f64,
    /// Share of responses without one of the retrievers.
    pub degraded: f64,
    /// Share of empty responses.
    pub empty: f64,
}

impl Workload {
    /// Distributes the notes that were kept back, each to one request, over the projects in turn.
    pub fn new(kept_back: &[Note], runs: usize, quick: bool) -> Self {
        let fitting = kept_back.len() / (2 * runs + 1);
        let a_run = |wanted: usize| if quick { QUICK.min(wanted) } else { wanted }.min(fitting);
        let mut asked = dealt(kept_back, 5).map(question);
        let mut take = |count| asked.by_ref().take(count).collect::<Vec<_>>();
        let warm_up = take(a_run(WARM_UP));
        let questions =
            (0..runs).map(|_| (take(a_run(QUESTIONS)), take(a_run(QUESTIONS)))).collect();
        // A queried note may be saved later: queries store nothing.
        let mut unsaved = dealt(kept_back, 7).cloned();
        let saves = (0..runs).map(|_| unsaved.by_ref().take(a_run(SAVES)).collect()).collect();
        Self { warm_up, questions, saves }
    }
}

/// Returns the notes in an order in which neighbors are far apart.
fn dealt(notes: &[Note], share: usize) -> impl Iterator<Item = &Note> {
    let stride = notes.len() / share + 1;
    (0..stride).flat_map(move |first| notes.iter().skip(first).step_by(stride))
}

/// Sends all queries with concurrent clients, each its part one after the other.
pub async fn ask(api: &Api, questions: &[Question], clients: usize) -> Result<Figures> {
    let taken = Mutex::new(questions.iter());
    let next = || taken.lock().expect("nobody panics").next();
    let client = async || {
        let mut answers = Vec::new();
        while let Some(question) = next() {
            answers.push(ask_one(api, question).await?);
        }
        anyhow::Ok(answers)
    };
    let began = Instant::now();
    let answers = try_join_all((0..clients).map(|_| client())).await?;
    let took = began.elapsed().as_secs_f64();
    let answers: Vec<_> = answers.into_iter().flatten().collect();
    let count = answers.len() as f64;
    let share =
        |has: fn(&Value) -> bool| answers.iter().filter(|(_, a)| has(a)).count() as f64 / count;
    Ok(Figures {
        a_second: count / took,
        degraded: share(|answer| {
            answer["degraded"].as_array().is_some_and(|notes| !notes.is_empty())
        }),
        empty: share(|answer| answer["reason"].is_string()),
        times: Times::of(answers.iter().map(|(time, _)| *time)),
    })
}

async fn ask_one(api: &Api, question: &Question) -> Result<(Duration, Value)> {
    let body = json!({ "project_key": question.project, "query": question.text });
    let began = Instant::now();
    let answer = api.post("/recall", &body).await?;
    Ok((began.elapsed(), answer))
}

/// Filters for searches of each note's words, in turn.
const FILTERS: [&str; 5] = ["none", "scope", "tags", "kinds", "sources"];

/// Searches for the first words of each note, under one filter after the other.
pub async fn search(api: &Api, notes: &[Note]) -> Result<Times> {
    let mut times = Vec::new();
    for (note, filter) in notes.iter().zip(FILTERS.iter().cycle()) {
        let Question { project, text } = question(note);
        let mut body = json!({ "project_key": project, "query": text, "time_budget_ms": 20_000 });
        match *filter {
            "scope" => body["scope"] = json!([note.scope]),
            "tags" => body["tags"] = json!([note.tag]),
            "kinds" => body["kinds"] = json!(["gotcha", "rule"]),
            "sources" => body["sources"] = json!(["memory"]),
            _ => {}
        }
        let began = Instant::now();
        let answer = api.post("/search", &body).await?;
        times.push(began.elapsed());
        let degraded = &answer["degraded"];
        ensure!(degraded.as_array().is_none_or(Vec::is_empty), "/search left out {degraded}");
    }
    Ok(Times::of(times))
}

/// Saves the notes one after the other; returns the ids of new records, too.
pub async fn save(api: &Api, notes: &[Note]) -> Result<(Times, Vec<String>)> {
    let (mut times, mut created) = (Vec::new(), Vec::new());
    for note in notes {
        let body = json!({
            "project_key": super::seed::key(note.project),
            "kind": "fact",
            "content": note.text,
            "scope": [note.scope],
            "tags": [note.tag],
        });
        let began = Instant::now();
        let answer = api.post("/save", &body).await?;
        times.push(began.elapsed());
        ensure!(answer["outcome"].is_string(), "/save answered {answer}");
        if answer["outcome"] == "created" {
            created.extend(answer["id"].as_str().map(str::to_owned));
        }
    }
    Ok((Times::of(times), created))
}
