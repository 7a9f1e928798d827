//! Index runs and vectors, as reported by the service's API.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mc_domain::{ProjectKey, UserId};
use mc_store::{Store, files, projects, repositories};
use serde_json::{Value, json};

use crate::harness::service::Api;

const PROJECT: &str = "bench";
/// Interval of polling a long operation; the service counts its queue for each response.
const SLOW_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Interval of polling a short operation.
const FAST_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Warm-up of the embedder before the window.
const WARM_UP: Duration = Duration::from_secs(5);

/// Returns the paths of the indexed files.
pub async fn indexed_paths(store: &Store) -> Result<Vec<String>> {
    let key = ProjectKey::parse(PROJECT)?;
    let project =
        projects::find(store, UserId::LOCAL, &key).await?.context("the project is gone")?;
    let mut paths = Vec::new();
    for repository in repositories::list(store, project.id).await? {
        paths.extend(files::known(store, repository.id).await?.into_keys());
    }
    Ok(paths)
}

/// A completed run.
pub struct Indexed {
    /// Seconds from the request to the end of the run.
    pub stored: f64,
    /// Seconds until the keyword index is complete, too.
    pub searchable: f64,
    /// Files written.
    pub changed: u64,
    run: Value,
}

impl Indexed {
    /// The counts that the service reports.
    pub fn counts(&self) -> String {
        let run = &self.run;
        format!(
            "the service indexed {} of {} files as {} chunks of code, and skipped {}",
            run["files_changed"], run["files_total"], run["chunks_written"], run["files_skipped"]
        )
    }
}

/// Indexes a repository for the first time and waits until it is searchable.
pub async fn index(api: &Api, location: &Path) -> Result<Indexed> {
    api.post("/projects", &json!({ "key": PROJECT })).await?;
    follow(api, location, SLOW_POLL_INTERVAL).await
}

/// Indexes it again after a small change.
pub async fn index_again(api: &Api, location: &Path) -> Result<Indexed> {
    follow(api, location, FAST_POLL_INTERVAL).await
}

async fn follow(api: &Api, location: &Path, every: Duration) -> Result<Indexed> {
    let began = Instant::now();
    let request = json!({ "project_key": PROJECT, "location": location });
    let queued = api.post("/ingest/git", &request).await?;
    let path = format!("/ingest/runs/{}", queued["ingest_id"].as_str().unwrap_or_default());
    let run = api
        .until(&path, every, |run| run["status"] == "SUCCEEDED" || run["status"] == "FAILED")
        .await?;
    let stored = began.elapsed().as_secs_f64();
    ensure!(run["status"] == "SUCCEEDED", "the run failed: {run}");
    // A search first brings the keyword index up to date with the stored passages.
    let query = json!({
        "project_key": PROJECT, "query": "buffer", "limit": 1, "time_budget_ms": 20_000,
    });
    let mut answer = api.post("/search", &query).await?;
    while answer["degraded"].to_string().contains("keyword") {
        answer = api.post("/search", &query).await?;
    }
    let searchable = began.elapsed().as_secs_f64();
    let changed = run["files_changed"].as_u64().unwrap_or_default();
    Ok(Indexed { stored, searchable, changed, run })
}

/// A period of the embedder's work, in slices.
pub struct Window {
    /// From the end of the index run to the start of the window.
    pub before: Duration,
    /// Vectors at its start.
    pub first: u64,
    /// The slices, in order.
    pub slices: Vec<Slice>,
}

/// A slice of a window.
#[derive(Clone, Copy)]
pub struct Slice {
    /// Vectors computed in it.
    pub made: u64,
    /// Its duration.
    pub took: Duration,
}

impl Slice {
    /// Returns vectors per second.
    pub fn a_second(&self) -> f64 {
        self.made as f64 / self.took.as_secs_f64()
    }
}

impl Window {
    /// Returns the total duration.
    pub fn took(&self) -> Duration {
        self.slices.iter().map(|slice| slice.took).sum()
    }

    /// Describes the measurement.
    pub fn describe(&self) -> String {
        format!(
            "vectors: {} passages embedded within {:.0} s after the index run, in {} parts, and \
             the same texts by the model alone",
            self.slices.iter().map(|slice| slice.made).sum::<u64>(),
            self.took().as_secs_f64(),
            self.slices.len()
        )
    }
}

/// Watches the embedder in the given number of slices, or until it is done.
pub async fn watch_vectors(api: &Api, within: Duration, slices: u32) -> Result<Window> {
    let ended = Instant::now();
    tokio::time::sleep(WARM_UP).await;
    let (total, pending) = (passages(api).await?, pending_vectors(api).await?);
    ensure!(pending > 0, "every vector was there before the window began; take more lines");
    let before = ended.elapsed();
    let mut window = Window { before, first: total - pending, slices: Vec::new() };
    let mut left = pending;
    while left > 0 && window.slices.len() < slices as usize {
        let (began, at_first) = (Instant::now(), left);
        while left > 0 && began.elapsed() < within / slices {
            tokio::time::sleep(SLOW_POLL_INTERVAL).await;
            left = pending_vectors(api).await?;
        }
        window.slices.push(Slice { made: at_first - left, took: began.elapsed() });
    }
    Ok(window)
}

/// Waits for the last vector.
pub async fn until_all_vectors(api: &Api) -> Result<Duration> {
    let began = Instant::now();
    api.until("/status", SLOW_POLL_INTERVAL, |status| status["pending_vectors"] == 0).await?;
    Ok(began.elapsed())
}

/// Returns the number of passages without a vector.
pub async fn pending_vectors(api: &Api) -> Result<u64> {
    Ok(api.get("/status").await?["pending_vectors"].as_u64().unwrap_or_default())
}

async fn passages(api: &Api) -> Result<u64> {
    Ok(api.get("/status").await?["index"]["passages"].as_u64().unwrap_or_default())
}
