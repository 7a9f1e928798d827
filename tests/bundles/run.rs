//! Runs a set on a service: saves its notes and asks its questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use super::set::{Note, Set};

/// Timeout of an index with its vectors.
const TIMEOUT: Duration = Duration::from_mins(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Requested hits: several may belong to one note.
const HITS: usize = 20;
/// Time budget of a request, in milliseconds: on a busy machine, a late retriever must not count as
/// a bad one.
const TIME_BUDGET_MS: u64 = 5_000;
/// Characters of the text with which a note is searched.
const PROBE_CHARS: usize = 200;

/// A client of a service. A response other than 2xx is an error.
pub trait Rest {
    /// Sends `POST` and returns the body.
    async fn post(&self, path: &str, body: &Value) -> Result<Value>;
    /// Sends `GET` and returns the body.
    async fn get(&self, path: &str) -> Result<Value>;
}

/// The outcomes of the notes and questions of a set.
#[derive(Debug)]
pub struct Outcome {
    /// By the note's id.
    pub saved: Saved,
    /// In the order of the questions.
    pub answers: Vec<Answer>,
}

/// The outcome of each note, by its id.
pub type Saved = BTreeMap<String, Fate>;

/// The outcome of a note.
#[derive(Debug, Clone, Serialize)]
pub struct Fate {
    /// The record with the note; `None` if it was rejected.
    pub record: Option<String>,
    /// The outcome as `save` reports it.
    pub outcome: String,
    /// The reason.
    pub reason: String,
    /// Cited files whose code does not support the note.
    pub doubtful: Vec<String>,
}

/// The response to a question.
#[derive(Debug)]
pub struct Answer {
    /// The body of `POST /recall`.
    pub bundle: Value,
    /// The request time.
    pub took: Duration,
    /// Records that `POST /search` finds in memory alone, best first.
    pub hits: Vec<String>,
}

/// Indexes the repository, saves the notes and asks every question. The project must not exist yet.
pub async fn run(
    rest: &impl Rest,
    project: &str,
    set: &Set,
    repository: (&Path, Option<&str>),
) -> Result<Outcome> {
    rest.post("/projects", &json!({ "key": project })).await?;
    index(rest, project, repository).await?;
    let saved = save(rest, project, &set.notes).await?;
    let mut answers = Vec::new();
    for question in &set.questions {
        let answer = ask(rest, project, question.asked()?, &question.as_text()).await;
        answers.push(answer.with_context(|| format!("{}: {}", set.name, question.id))?);
    }
    Ok(Outcome { saved, answers })
}

async fn index(
    rest: &impl Rest,
    project: &str,
    (location, commit): (&Path, Option<&str>),
) -> Result<()> {
    let mut wanted = json!({ "project_key": project, "location": location });
    if let Some(commit) = commit {
        wanted["ref"] = commit.into();
    }
    let begun = rest.post("/ingest/git", &wanted).await?;
    let id = begun["ingest_id"].as_str().context("an index run has an id")?;
    let path = format!("/ingest/runs/{id}");
    until(async || {
        let run = rest.get(&path).await?;
        ensure!(run["status"] != "FAILED", "{project}: indexing failed: {run}");
        Ok(run["status"] == "SUCCEEDED" && run["pending_vectors"] == 0)
    })
    .await
}

async fn save(rest: &impl Rest, project: &str, notes: &[Note]) -> Result<Saved> {
    let mut saved = Saved::new();
    for note in notes {
        let mut body = note.fields.clone();
        body.insert("project_key".to_owned(), project.into());
        if let Some(earlier) = &note.supersedes {
            let earlier = saved.get(earlier).and_then(|fate: &Fate| fate.record.clone());
            body.insert("supersedes".to_owned(), earlier.into());
        }
        let answer = rest.post("/save", &Value::Object(body)).await;
        let answer = answer.with_context(|| note.id.clone())?;
        saved.insert(note.id.clone(), Fate::of(&answer));
    }
    until_findable(rest, project, notes, &saved).await?;
    Ok(saved)
}

/// Waits until all vectors exist and the newest note is found by its words.
async fn until_findable(
    rest: &impl Rest,
    project: &str,
    notes: &[Note],
    saved: &Saved,
) -> Result<()> {
    let path = format!("/projects/{project}");
    until(async || Ok(rest.get(&path).await?["pending_vectors"] == 0)).await?;
    let is_new = |note: &&Note| saved[&note.id].outcome == "created";
    let newest = notes.iter().rfind(is_new).context("no note was taken")?;
    let words: String = newest.text("content").chars().take(PROBE_CHARS).collect();
    let record = saved[&newest.id].record.as_ref().context("a note that was taken has an id")?;
    until(async || Ok(search(rest, project, &words).await?.contains(record))).await
}

async fn ask(rest: &impl Rest, project: &str, mut asked: Value, text: &str) -> Result<Answer> {
    asked["project_key"] = project.into();
    asked["time_budget_ms"] = TIME_BUDGET_MS.into();
    let began = Instant::now();
    let bundle = rest.post("/recall", &asked).await?;
    let took = began.elapsed();
    Ok(Answer { bundle, took, hits: search(rest, project, text).await? })
}

/// Returns the records that are found in memory alone, best first, without duplicates.
async fn search(rest: &impl Rest, project: &str, query: &str) -> Result<Vec<String>> {
    let wanted = json!({ "project_key": project, "query": query, "sources": ["memory"],
        "limit": HITS,
        "time_budget_ms": TIME_BUDGET_MS });
    let found = rest.post("/search", &wanted).await?;
    let hits = found["results"].as_array().context("a search has results")?;
    let mut seen = BTreeSet::new();
    let records = hits.iter().filter_map(|hit| hit["record_id"].as_str());
    Ok(records.filter(|record| seen.insert(*record)).map(str::to_owned).collect())
}

async fn until(holds: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !holds().await? {
        ensure!(began.elapsed() < TIMEOUT, "it did not come about within {TIMEOUT:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

impl Fate {
    fn of(answer: &Value) -> Self {
        let text = |field: &str| answer[field].as_str().map(str::to_owned);
        let cited = answer["citations"].as_array().into_iter().flatten();
        let is_doubtful = |one: &&Value| {
            ["drifted", "orphaned"].contains(&one["verdict"].as_str().unwrap_or_default())
        };
        let doubtful = cited.filter(is_doubtful).filter_map(|one| one["file"].as_str());
        Self {
            record: text("id"),
            outcome: text("outcome").unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
            doubtful: doubtful.map(str::to_owned).collect(),
        }
    }
}
