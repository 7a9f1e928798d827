//! A correct webhook sender: it sends each delivery when it is due, independent of others, and
//! retries failed ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use reqwest::{Client, StatusCode};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::webhook::{Delivery, Webhook};
use crate::harness::say;

/// One in this many is forged.
pub const FORGED_EVERY: u32 = 100;
/// One in this many is sent a second time.
pub const REPEATED_EVERY: u32 = 10;
/// Delays of the second send, in turn.
const REPEAT_DELAYS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_secs(2),
    Duration::ZERO,
    Duration::from_secs(10),
];

/// Concurrent requests, each on its own connection. The service allows 256 per address; further due
/// deliveries wait, which counts in their time.
const CONNECTIONS: usize = 192;
/// Idle timeout of a connection; the service's is twice as long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a response, as GitHub's.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Delays between attempts, in milliseconds. After the last one, the delivery is abandoned.
const RETRY_DELAYS: [u64; 9] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
/// Sends between two progress messages.
const STEP: usize = 2_000;

/// A send to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The time from the start.
    pub at: Duration,
    /// The number of its issue.
    pub number: u32,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A delivery.
    First,
    /// The same delivery again.
    Again,
    /// A delivery of an attacker.
    Forged,
}

/// A completed send.
#[derive(Debug)]
pub struct Sent {
    /// The slot.
    pub slot: Slot,
    /// The time when it was due.
    pub due: Instant,
    /// The time of the response, or when it was abandoned.
    pub ended: Instant,
    /// The final response; `None` if it was abandoned.
    pub answer: Option<StatusCode>,
    /// The errors of earlier attempts.
    pub failures: Vec<String>,
}

/// Sends through one webhook.
pub struct Sender {
    hook: Webhook,
    client: Client,
    connections: Semaphore,
}

/// Schedules `deliveries` sends at `rate` per second, and the repeated ones.
pub fn schedule(deliveries: u32, rate: u32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for number in 1..=deliveries {
        let at = Duration::from_secs(u64::from(number - 1)) / rate;
        let is_forged = number.is_multiple_of(FORGED_EVERY);
        let kind = if is_forged { Kind::Forged } else { Kind::First };
        slots.push(Slot { at, number, kind });
        if number % REPEATED_EVERY == REPEATED_EVERY / 2 {
            let later = REPEAT_DELAYS[(number / REPEATED_EVERY) as usize % REPEAT_DELAYS.len()];
            slots.push(Slot { at: at + later, number, kind: Kind::Again });
        }
    }
    slots.sort_by_key(|slot| slot.at);
    slots
}

impl Sent {
    /// Returns the time from due to the response.
    pub fn took(&self) -> Duration {
        self.ended - self.due
    }

    /// Whether the service acknowledged the delivery.
    pub fn is_acknowledged(&self) -> bool {
        self.answer.is_some_and(|answer| answer.is_success())
    }
}

impl Sender {
    /// Creates a sender without connections.
    pub fn new(hook: Webhook) -> Result<Self> {
        let client =
            Client::builder().no_proxy().timeout(RESPONSE_TIMEOUT).pool_idle_timeout(IDLE_TIMEOUT);
        Ok(Self { hook, client: client.build()?, connections: Semaphore::new(CONNECTIONS) })
    }

    /// Sends everything when it is due, and waits until the last one is done or abandoned.
    pub async fn send(self: &Arc<Self>, slots: &[Slot], start: Instant) -> Result<Vec<Sent>> {
        let (mut under_way, mut ended) = (JoinSet::new(), Vec::with_capacity(slots.len()));
        for (at, slot) in slots.iter().enumerate() {
            // Built before it is due.
            let delivery = match slot.kind {
                Kind::First | Kind::Again => self.hook.genuine(slot.number),
                Kind::Forged => self.hook.forged(slot.number),
            };
            let due = start + slot.at;
            tokio::time::sleep_until(due.into()).await;
            under_way.spawn(Arc::clone(self).deliver(*slot, delivery, due));
            while let Some(sent) = under_way.try_join_next() {
                ended.push(sent?);
            }
            if (at + 1).is_multiple_of(STEP) {
                let waiting = under_way.len();
                say(&format!("{} of {} sent, {waiting} under way", at + 1, slots.len()));
            }
        }
        say(&format!("all are sent, {} under way", under_way.len()));
        while let Some(sent) = under_way.join_next().await {
            ended.push(sent?);
        }
        Ok(ended)
    }

    async fn deliver(self: Arc<Self>, slot: Slot, delivery: Delivery, due: Instant) -> Sent {
        let mut failures = Vec::new();
        let mut pauses = RETRY_DELAYS.into_iter();
        let answer = loop {
            match self.try_once(&delivery).await {
                Ok(answer) if !answer.is_server_error() => break Some(answer),
                Ok(answer) => failures.push(answer.to_string()),
                Err(error) => failures.push(why(&error).to_owned()),
            }
            let Some(pause) = pauses.next() else { break None };
            tokio::time::sleep(Duration::from_millis(pause)).await;
        };
        Sent { slot, due, ended: Instant::now(), answer, failures }
    }

    async fn try_once(&self, delivery: &Delivery) -> reqwest::Result<StatusCode> {
        let _connection = self.connections.acquire().await.expect("it is never closed");
        let request = self
            .client
            .post(&self.hook.url)
            .header("Content-Type", "application/json")
            .header("X-GitHub-Event", "issues")
            .header("X-GitHub-Delivery", delivery.id.as_str())
            .header("X-Hub-Signature-256", delivery.signature.as_str())
            .body(delivery.body.clone());
        let answer = request.send().await?;
        let status = answer.status();
        // The body must be read completely, or the connection cannot be reused.
        answer.bytes().await?;
        Ok(status)
    }
}

fn why(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "the connection was cut off"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_repeats_a_tenth_and_forges_a_hundredth() {
        let slots = schedule(1_000, 200);
        let count = |kind: Kind| slots.iter().filter(|slot| slot.kind == kind).count();
        assert_eq!([Kind::First, Kind::Again, Kind::Forged].map(count), [990, 100, 10]);
        assert!(slots.is_sorted_by_key(|slot| slot.at));
        for again in slots.iter().filter(|slot| slot.kind == Kind::Again) {
            let first = slots.iter().find(|slot| slot.number == again.number).expect("a first");
            assert_eq!(first.kind, Kind::First);
            assert!(
                REPEAT_DELAYS.iter().any(|later| first.at + *later == again.at),
                "{first:?} {again:?}"
            );
        }
        let second = slots.iter().filter(|slot| slot.at < Duration::from_secs(1));
        assert_eq!(second.filter(|slot| slot.kind != Kind::Again).count(), 200);
    }
}
