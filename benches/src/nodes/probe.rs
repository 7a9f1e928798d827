//! Time until a save at one node is found at the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::client::{Node, Nodes};
use super::measure::PROJECT;

/// Interval between two probes.
const EVERY: Duration = Duration::from_millis(700);
/// Timeout of a probe.
const WITHIN: Duration = Duration::from_secs(20);

/// Saves at each node in turn and searches at the other; returns the times. Probes interrupted by a
/// kill are left out.
pub async fn probe(nodes: Arc<Nodes>, stop: CancellationToken) -> Vec<Duration> {
    let mut seen = Vec::new();
    let mut round = 0_usize;
    while !stop.is_cancelled() {
        round += 1;
        let (saved_at, searched_at) = if round.is_multiple_of(2) {
            (Node::Steady, Node::Killed)
        } else {
            (Node::Killed, Node::Steady)
        };
        seen.extend(once(&nodes, round, saved_at, searched_at).await);
        tokio::time::sleep(EVERY).await;
    }
    seen
}

async fn once(nodes: &Nodes, round: usize, saved_at: Node, searched_at: Node) -> Option<Duration> {
    let content =
        format!("Beacon {round} stands at the harbour, and its lamp turns {round} times an hour.");
    let body = json!({ "project_key": PROJECT, "kind": "fact", "content": content });
    let (status, answer) = nodes.api(saved_at).try_post("/save", &body).await.ok()?;
    let id = answer["id"].as_str().filter(|_| status.is_success())?;
    let query =
        json!({ "project_key": PROJECT, "query": content, "limit": 5, "sources": ["memory"] });
    let began = Instant::now();
    while began.elapsed() < WITHIN {
        let (_, answer) = nodes.api(searched_at).try_post("/search", &query).await.ok()?;
        if answer.to_string().contains(id) {
            break;
        }
    }
    Some(began.elapsed())
}
