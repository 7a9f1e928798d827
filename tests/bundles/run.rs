//! Saving the notes of a set at a service, and asking its questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use super::set::{Note, Set};

/// An index with its vectors takes time; this is where hope ends.
const PATIENCE: Duration = Duration::from_mins(30);
const LOOK: Duration = Duration::from_millis(100);
/// Hits asked for: several may be of one note.
const HITS: usize = 20;
/// For a request, in milliseconds: on a busy machine a leg that is late must not be taken for one that is bad.
const TIME_BUDGET_MS: u64 = 5_000;
/// Of the text by which a note is looked for.
const PROBE_CHARS: usize = 200;

/// The way to a service; whatever it answers but a 2xx is an error.
pub trait Rest {
    /// `POST`, answering the body.
    async fn post(&self, path: &str, body: &Value) -> Result<Value>;
    /// `GET`, answering the body.
    async fn get(&self, path: &str) -> Result<Value>;
}

/// What became of the notes and questions of a set.
#[derive(Debug)]
pub struct Outcome {
    /// By the note's id.
    pub saved: Saved,
    /// In the order of the questions.
    pub answers: Vec<Answer>,
}

/// What became of each note, by its id.
pub type Saved = BTreeMap<String, Fate>;

/// What became of a note.
#[derive(Debug, Clone, Serialize)]
pub struct Fate {
    /// The record that holds it; none where it was refused.
    pub record: Option<String>,
    /// As `save` says it.
    pub outcome: String,
    /// Why.
    pub reason: String,
    /// Files that it cites, of which the code doesn't bear it out.
    pub doubtful: Vec<String>,
}

/// What a question was answered.
#[derive(Debug)]
pub struct Answer {
    /// The body of `POST /recall`.
    pub bundle: Value,
    /// How long it took.
    pub took: Duration,
    /// Records that `POST /search` finds in memory alone, best first.
    pub hits: Vec<String>,
}

/// Has the repository indexed, saves the notes, asks every question; the project must not exist yet.
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

/// Waits until the vectors are there, and the newest note can be found by its words.
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

/// The records that are found in memory alone, best first, each once.
async fn search(rest: &impl Rest, project: &str, query: &str) -> Result<Vec<String>> {
    let wanted = json!({ "project_key": project, "query": query, "sources": ["memory"], "limit": HITS,
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
        ensure!(began.elapsed() < PATIENCE, "it did not come about within {PATIENCE:?}");
        tokio::time::sleep(LOOK).await;
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
