//! Clients that know both nodes: each uses its own one, and the other one while that is down.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::measure::PROJECT;
use crate::harness::service::Api;

/// Interval between two saves of a client.
pub const SAVE_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two recalls of a client.
pub const RECALL_INTERVAL: Duration = Duration::from_millis(250);

/// One of the two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// Runs all the time.
    Steady,
    /// Is killed and started again.
    Killed,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// `/recall`.
    Recall,
    /// `/save`.
    Save,
}

/// The two nodes, and the outages of the second.
pub struct Nodes {
    /// The node that keeps running.
    pub steady: Api,
    /// The node that is killed.
    pub killed: Api,
    /// The times of kills and of readiness.
    pub outages: Mutex<Vec<(Instant, Option<Instant>)>>,
}

/// The results of all requests.
#[derive(Debug, Default)]
pub struct Counts {
    /// Response times.
    pub times: BTreeMap<(Node, What), Vec<Duration>>,
    /// Ids of acknowledged saves.
    pub saved: Vec<String>,
    /// Attempts refused while the node was down.
    pub refused: usize,
    /// Attempts whose connection was lost with the node.
    pub cut_off: usize,
    /// All other failures.
    pub wrong: Vec<String>,
}

impl Node {
    /// Returns a name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "never killed",
            Self::Killed => "killed",
        }
    }
}

impl What {
    /// Returns a name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Save => "save",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Recall => "/recall",
            Self::Save => "/save",
        }
    }

    fn every(self) -> Duration {
        match self {
            Self::Recall => RECALL_INTERVAL,
            Self::Save => SAVE_INTERVAL,
        }
    }
}

impl Nodes {
    /// Returns the client of a node.
    pub fn api(&self, node: Node) -> &Api {
        match node {
            Node::Steady => &self.steady,
            Node::Killed => &self.killed,
        }
    }

    /// Records that the node is killed now.
    pub fn away(&self) {
        self.outages().push((Instant::now(), None));
    }

    /// Records that it is ready again.
    pub fn back(&self) {
        if let Some((_, back)) = self.outages().last_mut() {
            *back = Some(Instant::now());
        }
    }

    /// Whether it was down at any moment between the two times.
    fn was_down(&self, began: Instant, ended: Instant) -> bool {
        let is_within = |(from, back): &(Instant, Option<Instant>)| {
            *from <= ended && back.is_none_or(|back| began <= back)
        };
        self.outages().iter().any(is_within)
    }

    fn outages(&self) -> MutexGuard<'_, Vec<(Instant, Option<Instant>)>> {
        self.outages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Adds other results.
    pub fn and(mut self, other: Self) -> Self {
        for (of, times) in other.times {
            self.times.entry(of).or_default().extend(times);
        }
        self.saved.extend(other.saved);
        self.wrong.extend(other.wrong);
        self.refused += other.refused;
        self.cut_off += other.cut_off;
        self
    }

    /// Sends a request to a node; returns whether it succeeded.
    async fn ask(&mut self, nodes: &Nodes, node: Node, what: What, body: &Value) -> bool {
        let began = Instant::now();
        match nodes.api(node).try_post(what.path(), body).await {
            Ok((status, answer)) if status.is_success() => {
                self.times.entry((node, what)).or_default().push(began.elapsed());
                match (what, answer["id"].as_str()) {
                    (What::Save, Some(id)) => self.saved.push(id.to_owned()),
                    (What::Save, None) => self.wrong.push(format!("a save was not kept: {answer}")),
                    (What::Recall, _) => {}
                }
                return true;
            }
            Ok((status, answer)) => {
                self.wrong.push(format!("{node:?} answered {status}: {answer}"));
            }
            Err(error) if node == Node::Killed && error.is_connect() => self.refused += 1,
            Err(_) if node == Node::Killed && nodes.was_down(began, Instant::now()) => {
                self.cut_off += 1;
            }
            Err(error) => self.wrong.push(format!("{node:?}: {error:?}")),
        }
        false
    }
}

/// Sends requests until it is stopped.
pub async fn ask(nodes: Arc<Nodes>, number: usize, what: What, stop: CancellationToken) -> Counts {
    let mut results = Counts::default();
    let home = if number.is_multiple_of(2) { Node::Steady } else { Node::Killed };
    let mut round = 0;
    while !stop.is_cancelled() {
        round += 1;
        let body = match what {
            What::Save => save(number, round),
            What::Recall => recall(number, round),
        };
        let is_done = results.ask(&nodes, home, what, &body).await;
        if !is_done && home == Node::Killed {
            results.ask(&nodes, Node::Steady, what, &body).await;
        }
        tokio::time::sleep(what.every()).await;
    }
    results
}

fn save(client: usize, round: usize) -> Value {
    let content = format!(
        "Queue {client} of the importer holds {round} parcels at most since the incident \
         {client}-{round}; what comes beyond waits at the carrier."
    );
    json!({ "project_key": PROJECT, "kind": "fact", "content": content })
}

/// Builds a query about a saved or future note.
fn recall(client: usize, round: usize) -> Value {
    let query = format!(
        "how many parcels does queue {client} of the importer hold, incident {client}-{round}?"
    );
    json!({ "project_key": PROJECT, "query": query })
}
