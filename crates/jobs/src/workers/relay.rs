//! Tells Redis of jobs that are due. It holds nothing: their rows go on waiting, and who gets to know of one by Redis
//! claims it as whoever looks for it would.

use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{TaskBuilder, TaskId};
use apalis_redis::queries::push_tasks;
use mc_shared::{Connection, Shared};
use mc_store::jobs::{self, Relayed};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::carried::{in_time, queue};
use super::node::Node;

/// So many ids of a kind are in Redis at most, as far as each relay sees: enough for all nodes until the next look,
/// while the library's script, which moves all that came since it was last asked, stops at some eight thousand, which
/// dozens of relays that look at the same moment don't reach.
const WINDOW: i32 = 100;
/// More may wait than there was room for; this is how soon there is some again.
const SOON: Duration = Duration::from_millis(10);

/// Tells of jobs of these kinds until `stop`, and rings for those who look into PostgreSQL while Redis is away.
pub(super) async fn relay(node: Arc<Node>, kinds: Vec<&'static str>, stop: CancellationToken) {
    let Some(redis) = &node.redis else { return };
    while !stop.is_cancelled() {
        let told = tell(&node, redis, &kinds).await;
        note(&node, &told);
        let pause = if told.is_ok_and(|told| told > 0) { SOON } else { node.timing.look };
        let woken = tokio::time::timeout(pause, node.relay.notified());
        let _ = stop.run_until_cancelled(woken).await;
    }
}

/// Sees to it that somebody knows of what is due, and says who when that changes.
fn note(node: &Node, told: &Result<usize, String>) {
    let is_news = node.set_carried(told.is_ok());
    match told {
        Ok(_) if is_news => tracing::info!("redis hands out background work"),
        Ok(_) => {}
        Err(error) => {
            if is_news {
                tracing::warn!(error, "redis hands out no work; it is looked for in postgresql");
            }
            node.bells.ring(None);
        }
    }
}

/// Tells of what is due and was not told of, as far as there is room; answers how many jobs that were.
async fn tell(node: &Node, redis: &Shared, kinds: &[&'static str]) -> Result<usize, String> {
    let Some(mut connection) = redis.connection() else {
        return Err("there is no connection to it".to_owned());
    };
    let rooms = in_time(rooms(redis, &mut connection, kinds)).await?;
    for (kind, _) in kinds.iter().zip(&rooms).filter(|(_, room)| **room == 0) {
        // Perhaps nobody takes them there.
        node.bells.ring(Some(*kind));
    }
    let names: Vec<_> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let due = jobs::relay(&node.store, &names, &rooms).await.map_err(|error| error.to_string())?;
    for kind in kinds {
        let tasks: Vec<_> = due.iter().filter(|job| job.kind == *kind).map(task).collect();
        if tasks.is_empty() {
            continue;
        }
        in_time(push_tasks(&mut connection, &queue(redis, kind), &tasks)).await?;
        node.carried.ring(Some(*kind));
    }
    Ok(due.len())
}

/// How many more ids of each kind Redis may hold.
async fn rooms(
    redis: &Shared,
    connection: &mut Connection,
    kinds: &[&'static str],
) -> Result<Vec<i32>, redis::RedisError> {
    let mut lengths = redis::pipe();
    for kind in kinds {
        let queue = queue(redis, kind);
        lengths.cmd("LLEN").arg(queue.active_jobs_list());
        lengths.cmd("ZCARD").arg(queue.scheduled_jobs_set());
    }
    let lengths: Vec<i32> = lengths.query_async(connection).await?;
    Ok(lengths.chunks(2).map(|of| (WINDOW - of.iter().sum::<i32>()).max(0)).collect())
}

/// A job as Redis knows it: by its id, so that one that is there is not there twice.
fn task(job: &Relayed) -> apalis_redis::RedisTask {
    let told = Value::from(job.id.as_str()).to_string().into_bytes();
    TaskBuilder::new(told).task_id(TaskId::from_string(job.id.as_str())).build()
}
