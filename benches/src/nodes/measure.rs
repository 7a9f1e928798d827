//! One run: nodes, clients, kills, and a final check.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mc_store::testing;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{self, Counts, Nodes, What};
use super::probe;
use crate::harness::cluster::Cluster;
use crate::harness::service::{Service, Setup, free_address};
use crate::harness::{Common, say};

/// The project of all requests.
pub const PROJECT: &str = "bench";
const IDS: &str =
    "select coalesce(json_agg(id), '[]')::text from memory_records where state = 'active'";

/// The results of a run.
pub struct Run {
    /// Of the requests.
    pub results: Counts,
    /// Ids of acknowledged saves that do not exist.
    pub lost: Vec<String>,
    /// Time until a save at one node was found at the other.
    pub seen: Vec<Duration>,
    /// Number of kills of the second node.
    pub kills: usize,
    /// Duration of each of its starts.
    pub ready: Vec<Duration>,
}

/// Runs the clients for the given time, and kills the second node in the given interval.
pub async fn run(
    common: &Common,
    binary: PathBuf,
    clients: usize,
    whole: Duration,
    every: Duration,
) -> Result<Run> {
    let cluster = Cluster::start(common, binary, "nodes").await?;
    let [first, second] = [cluster.setup("first")?, cluster.setup("second")?];
    let listen = free_address()?;
    let (steady, killed) =
        tokio::try_join!(Service::start(&first), Service::start_at(&second, listen))?;
    steady.api.post("/projects", &json!({ "key": PROJECT })).await?;
    let (steady_api, killed_api) = (steady.api.clone(), killed.api.clone());
    let nodes =
        Arc::new(Nodes { steady: steady_api, killed: killed_api, outages: Mutex::default() });

    let stop = CancellationToken::new();
    let mut asking = JoinSet::new();
    for number in 0..clients {
        for what in [What::Save, What::Recall] {
            asking.spawn(client::ask(Arc::clone(&nodes), number, what, stop.clone()));
        }
    }
    let probing = tokio::spawn(probe::probe(Arc::clone(&nodes), stop.clone()));
    let (killed, ready) = kill_repeatedly(&nodes, killed, &second, listen, whole, every).await?;
    stop.cancel();
    let mut results = Counts::default();
    while let Some(of_one) = asking.join_next().await {
        results = results.and(of_one?);
    }
    let seen = probing.await?;
    ensure!(!seen.is_empty(), "nothing was saved at one node and looked for at the other");
    killed.stop()?;
    steady.stop()?;

    let store = cluster.store().await?;
    let there: HashSet<String> = serde_json::from_str(&testing::text(&store, IDS).await?)?;
    store.close().await;
    cluster.stop().await;
    let lost = results.saved.iter().filter(|id| !there.contains(*id)).cloned().collect();
    Ok(Run { results, lost, seen, kills: ready.len(), ready })
}

/// Returns the final node and the duration of each of its starts.
async fn kill_repeatedly(
    nodes: &Nodes,
    mut node: Service,
    setup: &Setup,
    listen: SocketAddr,
    whole: Duration,
    every: Duration,
) -> Result<(Service, Vec<Duration>)> {
    let (began, mut ready, mut due) = (Instant::now(), Vec::new(), every);
    while due < whole {
        tokio::time::sleep_until((began + due).into()).await;
        nodes.away();
        node.kill()?;
        node = Service::start_at(setup, listen).await?;
        nodes.back();
        ready.push(node.ready_after);
        say(&format!("killed {} times, ready again after {:?}", ready.len(), node.ready_after));
        due += every;
    }
    tokio::time::sleep(whole.saturating_sub(began.elapsed())).await;
    Ok((node, ready))
}
