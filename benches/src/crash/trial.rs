//! Index runs, undisturbed and disturbed.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mc_store::Store;
use serde_json::{Value, json};

use super::image::{self, Image, Record};
use super::saver::{Saved, Saver};
use crate::harness::Common;
use crate::harness::cluster::{Cluster, Worker};
use crate::harness::service::{Api, Service, free_address};

/// Timeout of a run.
const RUN_TIMEOUT: Duration = Duration::from_mins(5);
/// Interval of polling for the end of a run.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The process to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// `memory-copilot serve`.
    Service,
    /// `memory-copilot worker`.
    Worker,
    /// The main process of PostgreSQL, and with it all others.
    Postgres,
}

/// The victims, in turn.
pub const VICTIMS: [Victim; 3] = [Victim::Service, Victim::Worker, Victim::Postgres];

/// A service and a worker on one PostgreSQL.
pub struct Site {
    cluster: Cluster,
    store: Store,
    listen: SocketAddr,
    /// Present except while it is killed.
    service: Option<Service>,
    worker: Option<Worker>,
    repository: PathBuf,
    last: String,
}

/// An undisturbed run.
pub struct Clean {
    /// From the request to the end.
    pub took: Duration,
    /// The index at the end.
    pub image: Image,
}

/// A disturbed run.
pub struct Outcome {
    /// The killed process.
    pub victim: Victim,
    /// The time of the kill, after the request.
    pub after: Duration,
    /// Whether the run was still under way.
    pub was_under_way: bool,
    /// From the request to the end.
    pub took: Duration,
    /// Saves acknowledged meanwhile.
    pub acknowledged: usize,
    /// Saves that failed meanwhile.
    pub failed: usize,
    /// The errors found in the end.
    pub complaints: Vec<String>,
}

impl Victim {
    /// Returns a name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Worker => "worker",
            Self::Postgres => "PostgreSQL",
        }
    }
}

impl Outcome {
    /// Describes it in a line.
    pub fn describe(&self) -> String {
        let Self { victim, after, took, acknowledged, failed, complaints, .. } = self;
        format!(
            "{} killed after {:.2} s, done after {:.2} s; {acknowledged} saves, {failed} failed; \
             {}",
            victim.name(),
            after.as_secs_f64(),
            took.as_secs_f64(),
            if complaints.is_empty() { "right".to_owned() } else { complaints.join("; ") }
        )
    }
}

impl Site {
    /// Starts all processes.
    pub async fn start(common: &Common, binary: PathBuf, repository: PathBuf) -> Result<Self> {
        let cluster = Cluster::start(common, binary, "crash").await?;
        let listen = free_address()?;
        let service = Service::start_at(&cluster.setup("service")?, listen).await?;
        let worker = Worker::start(&cluster.setup("worker")?)?;
        let store = cluster.store().await?;
        let (service, worker) = (Some(service), Some(worker));
        Ok(Self { cluster, store, listen, service, worker, repository, last: String::new() })
    }

    fn api(&self) -> Result<Api> {
        Ok(self.service.as_ref().context("the service does not run")?.api.clone())
    }

    /// Runs an undisturbed index. The first one has cold files, so the second one counts.
    pub async fn clean(&mut self) -> Result<Clean> {
        self.undisturbed("warm-up").await?;
        self.undisturbed("clean").await
    }

    async fn undisturbed(&mut self, key: &str) -> Result<Clean> {
        let api = self.api()?;
        let saving = self.project(key).await?;
        let began = Instant::now();
        let run = self.index(key).await?;
        ended(&api, &run).await?;
        let took = began.elapsed();
        let saved = saving.stop().await?;
        let image = Image::read(&self.store, key).await?;
        let complaints = save_complaints(&saved, &image::records(&self.store, key).await?);
        ensure!(complaints.is_empty(), "a run without disturbance: {complaints:?}");
        api.delete(&format!("/projects/{key}")).await?;
        Ok(Clean { took, image })
    }

    /// Runs an index and kills a process on the way.
    pub async fn disturbed(
        &mut self,
        number: u32,
        victim: Victim,
        after: Duration,
        right: &Image,
    ) -> Result<Outcome> {
        let key = format!("run-{number}");
        if !self.last.is_empty() {
            self.api()?.delete(&format!("/projects/{}", self.last)).await?;
        }
        let saving = self.project(&key).await?;
        let began = Instant::now();
        let run = self.index(&key).await?;
        tokio::time::sleep(after.saturating_sub(began.elapsed())).await;
        let was_under_way = state(&self.api()?, &run).await.is_ok_and(|state| !has_ended(&state));
        let after = began.elapsed();
        self.kill(victim).await?;
        ended(&self.api()?, &run).await?;
        let took = began.elapsed();
        let saved = saving.stop().await?;

        let mut complaints = Image::read(&self.store, &key).await?.complaints(right);
        complaints.extend(save_complaints(&saved, &image::records(&self.store, &key).await?));
        if let Some(worker) = &mut self.worker {
            worker.ensure_alive()?;
        }
        self.last = key;
        let (acknowledged, failed) = (saved.acknowledged.len(), saved.failed.len());
        Ok(Outcome { victim, after, was_under_way, took, acknowledged, failed, complaints })
    }

    async fn project(&self, key: &str) -> Result<Saver> {
        let api = self.api()?;
        api.post("/projects", &json!({ "key": key })).await?;
        Ok(Saver::start(&api, key))
    }

    /// Requests a run; returns the path of its status.
    async fn index(&self, key: &str) -> Result<String> {
        let request = json!({ "project_key": key, "location": self.repository });
        let queued = self.api()?.post("/ingest/git", &request).await?;
        Ok(format!("/ingest/runs/{}", queued["ingest_id"].as_str().context("no ingest_id")?))
    }

    /// Kills a process and starts it again.
    async fn kill(&mut self, victim: Victim) -> Result<()> {
        match victim {
            Victim::Service => {
                self.service.take().context("the service does not run")?.kill()?;
                let setup = self.cluster.setup("service")?;
                self.service = Some(Service::start_at(&setup, self.listen).await?);
            }
            Victim::Worker => {
                drop(self.worker.take());
                self.worker = Some(Worker::start(&self.cluster.setup("worker")?)?);
            }
            Victim::Postgres => self.cluster.kill_postgres().await?,
        }
        Ok(())
    }

    /// Waits for the vectors of the last run, and checks them.
    pub async fn until_every_vector(&self) -> Result<String> {
        let now_and_then = Duration::from_millis(500);
        let api = self.api()?;
        api.until("/status", now_and_then, |status| status["pending_vectors"] == 0).await?;
        let missing = image::without_vector(&self.store, &self.last).await?;
        ensure!(missing == 0, "{missing} passages have no vector although none is waited for");
        Ok(format!("after the last run every passage of {} has its vector", self.last))
    }

    /// Stops all processes.
    pub async fn stop(mut self) -> Result<()> {
        drop(self.worker.take());
        if let Some(service) = self.service.take() {
            service.stop()?;
        }
        self.store.close().await;
        self.cluster.stop().await;
        Ok(())
    }
}

/// Returns the errors in the records of the saves.
fn save_complaints(saved: &Saved, records: &[Record]) -> Vec<String> {
    let mut complaints = Vec::new();
    let ids: HashSet<_> = records.iter().map(|record| record.id.as_str()).collect();
    let lost = saved.acknowledged.iter().filter(|id| !ids.contains(id.as_str())).count();
    if lost > 0 {
        complaints.push(format!("{lost} saves were acknowledged and are not there"));
    }
    let odd = records.iter().filter(|record| record.passages != 1).count();
    if odd > 0 {
        complaints.push(format!("{odd} records have no passage, or several"));
    }
    // An unacknowledged record may exist; one that was not sent may not.
    if records.len() > saved.acknowledged.len() + saved.failed.len() {
        complaints.push(format!("{} records are there of fewer saves", records.len()));
    }
    complaints
}

async fn state(api: &Api, run: &str) -> Result<Value> {
    Ok(api.get(run).await?["status"].take())
}

fn has_ended(state: &Value) -> bool {
    matches!(state.as_str(), Some("SUCCEEDED" | "FAILED" | "CANCELLED"))
}

/// Waits until a run has succeeded; retries when the service does not respond.
async fn ended(api: &Api, run: &str) -> Result<()> {
    let began = Instant::now();
    loop {
        match state(api, run).await {
            Ok(state) if state == "SUCCEEDED" => return Ok(()),
            Ok(state) => ensure!(!has_ended(&state), "the run ended as {state}"),
            Err(_) => {}
        }
        ensure!(began.elapsed() < RUN_TIMEOUT, "{run} has not ended after {RUN_TIMEOUT:?}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
