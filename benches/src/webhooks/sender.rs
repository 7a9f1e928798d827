//! A sender as one should be: it sends what is due whatever became of what it sent before, and sends again what
//! was not taken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use reqwest::{Client, StatusCode};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::webhook::{Delivery, Hook};
use crate::harness::say;

/// One in so many is forged.
pub const FORGED_EVERY: u32 = 100;
/// One in so many is sent a second time.
pub const AGAIN_EVERY: u32 = 10;
/// So much later, in turn.
const LATER: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_secs(2),
    Duration::ZERO,
    Duration::from_secs(10),
];

/// Requests under way at once, each on its connection. The service lets one address have 256; what is due beyond
/// these waits, and its time runs.
const CONNECTIONS: usize = 192;
/// The service closes a connection that was quiet for twice as long.
const QUIET: Duration = Duration::from_secs(10);
/// How long an answer is waited for; as long as GitHub does.
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// Milliseconds between the tries. After the last it is given up.
const PAUSES: [u64; 9] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
/// Sendings between two words about the progress.
const STEP: usize = 2_000;

/// Something to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// When, from the begin.
    pub at: Duration,
    /// The number of the issue that it tells of.
    pub number: u32,
    /// What it is.
    pub kind: Kind,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A delivery.
    First,
    /// The same once more.
    Again,
    /// What somebody else sends.
    Forged,
}

/// Something that was sent.
#[derive(Debug)]
pub struct Sent {
    /// What.
    pub slot: Slot,
    /// When it was to be sent.
    pub due: Instant,
    /// When it was answered, or given up.
    pub ended: Instant,
    /// The answer that ended it; absent where it was given up.
    pub answer: Option<StatusCode>,
    /// What became of the tries before.
    pub failures: Vec<String>,
}

/// Sends through one hook.
pub struct Sender {
    hook: Hook,
    client: Client,
    connections: Semaphore,
}

/// What is sent when: `deliveries` of them, `rate` a second, and besides those that are sent again.
pub fn schedule(deliveries: u32, rate: u32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for number in 1..=deliveries {
        let at = Duration::from_secs(u64::from(number - 1)) / rate;
        let is_forged = number.is_multiple_of(FORGED_EVERY);
        let kind = if is_forged { Kind::Forged } else { Kind::First };
        slots.push(Slot { at, number, kind });
        if number % AGAIN_EVERY == AGAIN_EVERY / 2 {
            let later = LATER[(number / AGAIN_EVERY) as usize % LATER.len()];
            slots.push(Slot { at: at + later, number, kind: Kind::Again });
        }
    }
    slots.sort_by_key(|slot| slot.at);
    slots
}

impl Sent {
    /// From when it was due until it was answered, whatever it waited for.
    pub fn took(&self) -> Duration {
        self.ended - self.due
    }

    /// Whether the service said that it keeps it.
    pub fn is_acknowledged(&self) -> bool {
        self.answer.is_some_and(|answer| answer.is_success())
    }
}

impl Sender {
    /// Without connections yet.
    pub fn new(hook: Hook) -> Result<Self> {
        let client = Client::builder().no_proxy().timeout(ANSWERED_WITHIN).pool_idle_timeout(QUIET);
        Ok(Self { hook, client: client.build()?, connections: Semaphore::new(CONNECTIONS) })
    }

    /// Sends everything when it is due, and waits until the last is answered or given up.
    pub async fn send(self: &Arc<Self>, slots: &[Slot], start: Instant) -> Result<Vec<Sent>> {
        let (mut under_way, mut ended) = (JoinSet::new(), Vec::with_capacity(slots.len()));
        for (at, slot) in slots.iter().enumerate() {
            // Made before it is due.
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
        let mut pauses = PAUSES.into_iter();
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
        // All of it, or the connection can't be used again.
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
    fn the_schedule_has_each_delivery_once_a_tenth_again_and_a_hundredth_forged() {
        let slots = schedule(1_000, 200);
        let count = |kind: Kind| slots.iter().filter(|slot| slot.kind == kind).count();
        assert_eq!([Kind::First, Kind::Again, Kind::Forged].map(count), [990, 100, 10]);
        assert!(slots.is_sorted_by_key(|slot| slot.at));
        for again in slots.iter().filter(|slot| slot.kind == Kind::Again) {
            let first = slots.iter().find(|slot| slot.number == again.number).expect("a first");
            assert_eq!(first.kind, Kind::First);
            assert!(LATER.iter().any(|later| first.at + *later == again.at), "{first:?} {again:?}");
        }
        let second = slots.iter().filter(|slot| slot.at < Duration::from_secs(1));
        assert_eq!(second.filter(|slot| slot.kind != Kind::Again).count(), 200);
    }
}
