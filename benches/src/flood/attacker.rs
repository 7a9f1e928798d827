//! The attacker: a thread that uses a limited share of a core.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::future::join_all;
use reqwest::{Client, RequestBuilder};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::attack::Attack;
use super::target::Target;
use crate::growth::measure::thread_seconds;

/// The share of a core that the attacker may use, over the time since its start.
pub const CORES: f64 = 0.5;
/// Open files that an attack needs.
const FILES: u64 = 4_096;
/// Timeout of its requests, above those of the service.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A running attack, shared by its workers, which are tasks of one thread.
pub struct Attacker {
    /// What it attacks.
    pub target: Target,
    /// Client for requests that are well formed.
    pub http: Client,
    start: Instant,
    start_seconds: f64,
    totals: RefCell<Totals>,
}

/// What an attacker has done.
#[derive(Debug, Default)]
pub struct Totals {
    /// Requests, streams or connections that it has sent or opened.
    pub sent: u64,
    /// Number of responses by status, as far as it reads them.
    pub responses: BTreeMap<u16, u64>,
    /// Processor seconds per second.
    pub cores: f64,
}

/// Attacks for the given time, in the current thread.
pub fn run(attack: Attack, target: Target, time: Duration) -> Result<Totals> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let attacker = Attacker::new(target)?;
        let workers = join_all((0..attack.workers()).map(|worker| attacker.work(attack, worker)));
        // Workers never end by themselves.
        drop(tokio::time::timeout(time, workers).await);
        anyhow::Ok(attacker.into_totals())
    })
}

impl Attacker {
    fn new(target: Target) -> Result<Self> {
        let http = Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        let (start, start_seconds) = (Instant::now(), thread_seconds());
        Ok(Self { target, http, start, start_seconds, totals: RefCell::default() })
    }

    async fn work(&self, attack: Attack, worker: usize) {
        loop {
            // The service rejects most of it, and closes connections.
            drop(attack.step(self, worker).await);
            self.rest().await;
        }
    }

    /// Counts requests as sent. Returns how many were sent before.
    pub fn count(&self, sent: u64) -> u64 {
        let mut totals = self.totals.borrow_mut();
        totals.sent += sent;
        totals.sent - sent
    }

    /// Sends a request and counts its response.
    pub async fn send(&self, request: RequestBuilder) -> Result<()> {
        let response = request.send().await?;
        let status = response.status().as_u16();
        response.bytes().await?;
        *self.totals.borrow_mut().responses.entry(status).or_default() += 1;
        Ok(())
    }

    /// Sleeps until the thread is within its share of a core.
    pub async fn rest(&self) {
        let due = Duration::from_secs_f64(self.used_seconds() / CORES);
        let ahead = due.saturating_sub(self.start.elapsed());
        if ahead.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(ahead).await;
        }
    }

    fn used_seconds(&self) -> f64 {
        (thread_seconds() - self.start_seconds).max(0.0)
    }

    fn into_totals(self) -> Totals {
        let cores = self.used_seconds() / self.start.elapsed().as_secs_f64();
        Totals { cores, ..self.totals.into_inner() }
    }
}

/// Raises the limit of open files of this process, within the system's maximum: an attack has more
/// connections than the usual 1,024.
pub fn raise_file_limit() -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= FILES) {
        return Ok(());
    }
    let possible = maximum.map_or(FILES, |maximum| maximum.min(FILES));
    let raised = Rlimit { current: Some(possible), maximum };
    setrlimit(Resource::Nofile, raised).context("the limit of open files can't be raised")
}
